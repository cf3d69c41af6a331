"""Pictures for documents and notebooks: SVG, PNG, a piece of HTML."""

import re
import struct
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from sim.draw import Case, figure_html, png, strip, svg
from sim.draw.figure import figure, window
from sim.draw.looks import LOOKS
from sim.draw.signs import MEANINGS
from sim.errors import BadInput
from sim.trace import Appended
from tests.draw.boxes import covered
from tests.draw.stories import LOST_MARKER, LOST_TAIL, big_run, case, red, story
from tests.story.running import run_steps

NAMESPACE = "{http://www.w3.org/2000/svg}"
SAYS_NOTHING = {"paper", "rule", "lane", "head", "delete"}
"""Looks that are no signs: the paper, thin lines, and what is part of another sign."""


def texts(document: str) -> list[str]:
    root = ET.fromstring(document.encode())  # noqa: S314 - written by ourselves just now
    return [each.text or "" for each in root.iter(f"{NAMESPACE}text")]


def signs(document: str) -> Counter[str]:
    """How often each sign is drawn, by what it means."""
    found = Counter[str]()
    for look, rest in re.findall(r'<(?:rect|path) class="(\w+)"([^>]*)', document):
        found[re.sub(r"^(k|d|band)\d$", r"\g<1>0", look)] += max(rest.count("M"), 1)
    return Counter({look: count for look, count in found.items() if look not in SAYS_NOTHING})


def test_the_legend_names_each_sign_that_there_is_and_no_other() -> None:
    for path, drawn in red():
        document = svg(drawn, unit="step", everything=True)
        there, said = signs(document), texts(document)
        assert {look for look in there if MEANINGS.get(look) not in said} == set(), path
        assert {look for look, text in MEANINGS.items() if text in said} == set(there), path
        assert min(there.values()) >= 2, path  # in the legend, and in the picture


@pytest.mark.parametrize(
    ("strategy", "note"), [("header", "v1: version"), ("timestamp", "t1: timestamp in ms")]
)
def test_what_is_noted_in_cells_is_said(strategy: str, note: str) -> None:
    run = run_steps("elect 1 1\nappend 1 a A hdr=9 ts=40", rules={"strategy": strategy})
    assert note in texts(svg(Case(run.events, None, run.story.rules)))
    assert "tx 1: transaction of producer 1" in texts(svg(case(LOST_MARKER)))


def test_nothing_covers_a_label() -> None:
    for path, drawn in red():
        assert covered(figure(drawn, title=path, unit="step")) == [], path


def test_nothing_covers_a_label_of_a_long_run_or_of_moments() -> None:
    assert covered(figure(big_run(), unit="ms", everything=True)) == []
    moments = {16: "a second time, and a caption that is long enough for a second line", 9: ""}
    assert covered(figure(case(LOST_TAIL), captions=moments)) == []


def test_the_violation_and_what_led_to_it() -> None:
    drawn = case(LOST_TAIL, "no-offset-reuse")
    note = " ".join(f"word{number}" for number in range(60))

    found = texts(svg(drawn, title="Lost", unit="step", note=note))

    assert found[0] == "Lost"
    assert drawn.violation is not None
    assert f"no-offset-reuse: {drawn.violation.sentence}" in found
    assert "word59" in " ".join(found)
    assert max(map(len, found)) < 160
    assert [each for each in found if each in ("superseded", "by 0")] == ["superseded", "by 0"]
    assert "≠ v1" in found
    assert "r3 appends E=e@3 in epoch 2" in found
    assert "reader reads r3 from 4 to 4: nothing" not in found  # after the violation


@pytest.mark.parametrize("decided", [0, 30, 61])
def test_the_column_that_decided_is_there_however_far_away(
    decided: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = ["elect 1 1", *[f"append 1 v{number} K{number}" for number in range(62)]]
    run = run_steps("\n".join(steps))
    written = [at for at, (_, event) in enumerate(run.events) if isinstance(event, Appended)]
    known = case(LOST_TAIL, "no-offset-reuse").violation
    assert known is not None
    violation = known._replace(
        replica="r1", offset=45, key=None, position=len(run.events) - 1, evidence=()
    )
    drawn = Case(run.events, violation, run.story.rules)
    told = drawn.explained(violation)
    fact = told.facts[0]._replace(position=written[decided])
    monkeypatch.setattr(Case, "explained", lambda *_: replace(told, facts=(fact,)))

    head, *_ = strip(drawn, 80).splitlines()
    assert {"45", str(decided), "…"} <= set(head.split())
    assert {"45", str(decided), "…", "…: columns left out"} <= set(texts(svg(drawn)))


def test_the_same_run_gives_the_same_bytes() -> None:
    drawn = case(LOST_TAIL)

    assert svg(drawn) == svg(drawn)
    assert figure_html(drawn) == figure_html(drawn)


def test_chosen_moments_side_by_side() -> None:
    drawn = Case(story(LOST_TAIL).events)

    found = texts(svg(drawn, captions={16: "a second time", 9: "committed"}))

    assert {"1. a second time", "2. committed", "E=e"} <= set(found)
    with pytest.raises(BadInput, match="step 99: the story has steps 1 to 20"):
        svg(drawn, captions={99: "never"})


@pytest.mark.parametrize(
    ("count", "focus", "most", "shown"),
    [
        (10, 3, None, range(10)),
        (10, 3, 10, range(10)),
        (100, 99, 60, range(40, 100)),
        (100, 45, 60, range(60)),
        (100, 60, 60, range(15, 75)),
        (100, 2, 60, range(60)),
    ],
)
def test_where_there_is_no_room_for_all_events_the_violation_is_among_those_shown(
    count: int, focus: int, most: int | None, shown: range
) -> None:
    assert window(count, focus, most) == shown
    assert focus in shown


def test_every_shape_has_a_look_and_no_letter_is_lost_to_xml() -> None:
    events = story(LOST_TAIL).events
    at, first = next(each for each in events if isinstance(each[1], Appended))
    hostile = first.batch.records[0]._replace(key='<script>"&\x00\ud800', value="]]>")
    batch = first.batch._replace(records=(hostile,))
    added = [each for each in events if type(each[1]).__name__ == "ReplicaAdded"]

    document = svg(Case([*added, (at, first._replace(batch=batch))]))

    assert any("<script>" in text for text in texts(document))
    assert "<script>" not in document
    assert set(re.findall(r'class="(\w+)"', document)) <= set(LOOKS)


def test_a_figure_for_notebooks_has_no_script_and_a_dark_side() -> None:
    found = figure_html(case(LOST_TAIL))
    assert found.startswith('<div class="replog-figure">')
    assert [text in found for text in ("prefers-color-scheme: dark", "<script", "http")] == [
        1,
        0,
        0,
    ]


def test_a_png_of_twice_the_size() -> None:
    drawn, captions = case(LOST_TAIL), {16: "a second time"}

    picture = png(drawn, captions=captions)

    width, height = struct.unpack(">II", picture[16:24])
    size = re.search(r'width="(\d+)" height="(\d+)"', svg(drawn, captions=captions))
    assert size is not None
    assert abs(width - 2 * int(size[1])) <= 2
    assert abs(height - 2 * int(size[2])) <= 2
    assert picture == png(drawn, captions=captions)


def contrast(one: str, other: str) -> float:
    """WCAG 2: how much lighter the lighter colour is."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("side", ["light", "dark"])
def test_every_text_can_be_read_on_what_it_stands_on(side: str) -> None:
    pairs = [("t", "paper"), ("tf", "paper"), ("ta", "paper"), ("tw", "wrong"), ("tws", "wrong")]
    pairs += [("tm", f"k{number}") for number in range(6)]
    pairs += [("tm", "marker"), ("tm", "empty"), ("t", "alarmband"), ("ts", "paper")]
    for pair in pairs:
        text, ground = (getattr(LOOKS[look].fill, side) for look in pair)
        assert contrast(text, ground) >= 4.5, pair
