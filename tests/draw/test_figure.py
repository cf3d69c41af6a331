"""Pictures for documents and notebooks: SVG, PNG, a piece of HTML."""

import re
import struct
from xml.etree import ElementTree as ET

import pytest

from sim.draw import figure_html, png, svg
from sim.draw.looks import LOOKS
from sim.draw.shown import window
from sim.errors import BadInput
from sim.trace import Appended
from tests.draw.stories import LOST_TAIL, story, violation_of

NAMESPACE = "{http://www.w3.org/2000/svg}"


def texts(document: str) -> list[str]:
    root = ET.fromstring(document.encode())  # noqa: S314 - written by ourselves just now
    return [each.text or "" for each in root.iter(f"{NAMESPACE}text")]


def test_the_violation_and_what_led_to_it() -> None:
    run = story(LOST_TAIL)
    violation = violation_of(run, "no-offset-reuse")

    found = texts(
        svg(
            run.events,
            violation,
            rules=run.story.rules,
            labels=run.labels,
            title="Lost",
            unit="step",
        )
    )

    assert found[0] == "Lost"
    assert f"no-offset-reuse: {violation.sentence}" in found
    assert [each for each in found if each in ("superseded", "by 0")] == ["superseded", "by 0"]
    assert "≠ v1" in found
    assert "r3 appends E=e@3 in epoch 2" in found
    assert "r2 leads epoch" not in " ".join(found)
    assert "reader reads r3 from 4 to 4: nothing" not in found  # after the violation


def test_the_same_run_gives_the_same_bytes() -> None:
    run = story(LOST_TAIL)
    violation = run.violations[0]

    assert svg(run.events, violation) == svg(run.events, violation)
    assert figure_html(run.events, violation) == figure_html(run.events, violation)


def test_chosen_moments_side_by_side() -> None:
    run = story(LOST_TAIL)

    found = texts(svg(run.events, captions={16: "a second time", 9: "committed"}))

    assert "1. a second time" in found
    assert "2. committed" in found
    assert "E=e" in found
    with pytest.raises(BadInput, match="step 99: the story has steps 1 to 20"):
        svg(run.events, captions={99: "never"})


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


def test_a_note_stands_below_the_violation_however_long_it_is() -> None:
    run = story(LOST_TAIL)
    note = " ".join(f"word{number}" for number in range(60))

    found = texts(svg(run.events, run.violations[0], note=note))

    assert "word59" in " ".join(found)
    assert all(len(text) < 160 for text in found)


def test_every_shape_has_a_look_and_no_letter_is_lost_to_xml() -> None:
    run = story(LOST_TAIL)
    first = next(event for _, event in run.events if isinstance(event, Appended))
    (record,) = first.batch.records
    hostile = record._replace(key='<script>"&\x00\ud800', value="]]>")
    events = [
        (at, event._replace(batch=first.batch._replace(records=(hostile,))))
        if event is first
        else (at, event)
        for at, event in run.events
        if isinstance(event, Appended) or event.replica == "r1"
    ][:3]

    document = svg(events)

    assert any("<script>" in text for text in texts(document))
    assert "<script>" not in document
    classes = set(re.findall(r'class="(\w+)"', document))
    assert classes <= set(LOOKS)


def test_a_figure_for_notebooks_has_no_script_and_a_dark_side() -> None:
    run = story(LOST_TAIL)

    figure = figure_html(run.events, run.violations[0], rules=run.story.rules)

    assert figure.startswith('<div class="replog-figure">')
    assert "<script" not in figure
    assert "prefers-color-scheme: dark" in figure
    assert "http" not in figure


def test_a_png_of_twice_the_size() -> None:
    run = story(LOST_TAIL)
    captions = {16: "a second time"}

    picture = png(run.events, captions=captions)

    width, height = struct.unpack(">II", picture[16:24])
    drawn = re.search(r'width="(\d+)" height="(\d+)"', svg(run.events, captions=captions))
    assert drawn is not None
    assert abs(width - 2 * int(drawn[1])) <= 2
    assert abs(height - 2 * int(drawn[2])) <= 2
    assert picture == png(run.events, captions=captions)


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
    def colour(look: str) -> str:
        fill = LOOKS[look].fill
        assert fill is not None
        return str(getattr(fill, side))

    pairs = [("t", "paper"), ("tf", "paper"), ("ta", "paper"), ("tw", "wrong"), ("tws", "wrong")]
    pairs += [("tm", f"k{number}") for number in range(6)]
    pairs += [("tm", "marker"), ("tm", "empty"), ("t", "alarmband"), ("ts", "paper")]

    assert {
        pair: contrast(*map(colour, pair)) for pair in pairs if contrast(*map(colour, pair)) < 4.5
    } == {}
