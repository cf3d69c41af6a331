"""Pictures for documents and notebooks: SVG, PNG, a piece of HTML."""

import pathlib
import re
import struct
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.font_manager import FontProperties, findfont, get_font
from rich.cells import cell_len

from sim.diagnose.draw import DrawnCase, figure_html, png, strip, svg
from sim.diagnose.draw.figure import figure, window
from sim.diagnose.draw.scene import Scene
from sim.diagnose.draw.shapes import LOOKS, Path, Picture, Rect, Text
from sim.errors import BadInput
from sim.protocol.events import Appended
from tests.draw.stories import LOST_MARKER, LOST_TAIL, big_run, case, drawn_events, holding, red
from tests.story.running import run_steps

NAMESPACE = "{http://www.w3.org/2000/svg}"
MEANINGS = {look.means for look in LOOKS.values()} - {""}


def texts(document: str, *looks: str) -> list[str]:
    """The texts of a picture, or those of some looks."""
    root = ET.fromstring(document.encode())  # noqa: S314 - written by ourselves just now
    found = root.iter(f"{NAMESPACE}text")
    return [each.text or "" for each in found if not looks or each.get("class") in looks]


def signs(document: str) -> Counter[str]:
    """How often each sign is drawn, by what it means."""
    found = Counter[str]()
    for look, rest in re.findall(r'<(?:rect|path) class="(\w+)"([^>]*)', document):
        found[LOOKS[look].means] += max(rest.count("M"), 1)
    del found[""]
    return found


def versioned(strategy: str) -> DrawnCase:
    """Records whose versions their strategy compares; one has none in a header."""
    steps = "elect 1 1\nappend 1 a A hdr=9 ts=40\nappend 1 b B ts=41"
    run = run_steps(steps, rules={"strategy": strategy})
    return DrawnCase(run)


def test_the_legend_names_each_sign_that_there_is_and_no_other() -> None:
    for path, drawn in red(3, start=1):
        document = svg(drawn)
        there = signs(document)
        assert set(there) == MEANINGS & {*texts(document, "tf")}, path
        assert min(there.values()) >= 2, path  # in the legend, and in the picture


@pytest.mark.parametrize(
    ("drawn", "note"),
    [
        (versioned("header"), "v1: version"),
        (versioned("timestamp"), "t1: timestamp in ms"),
        (case(LOST_MARKER), "tx 1: transaction of producer 1"),
    ],
)
def test_what_is_noted_in_cells_is_said(drawn: DrawnCase, note: str) -> None:
    assert note in texts(svg(drawn))


@pytest.mark.parametrize(
    ("strategy", "noted"),
    [("header", ["v9", "no version"]), ("timestamp", ["t40", "t41"]), ("offset", [])],
)
def test_the_version_in_a_cell_is_the_one_that_decides(strategy: str, noted: list[str]) -> None:
    found = texts(svg(versioned(strategy)))

    assert {one for one in found if re.fullmatch(r"[vt]\d+|no version", one)} == {*noted}


def test_nothing_covers_a_label() -> None:
    for path, drawn in red(3):
        assert covered(figure(drawn, title=path)) == [], path
    assert covered(figure(big_run())) == []
    moments = {16: "a second time, and a caption that is long enough for a second line", 9: ""}
    assert covered(figure(case(LOST_TAIL), captions=moments)) == []


def test_the_violation_and_what_led_to_it() -> None:
    drawn, note = case(LOST_TAIL, "no-offset-reuse"), " ".join(["word"] * 60)
    assert drawn.violation is not None

    found = texts(svg(drawn, title="Lost", note=note))

    assert found[0] == "Lost"
    assert " ".join(found).count("word") == 60
    assert max(map(len, found)) < 160
    assert {
        f"no-offset-reuse: {drawn.violation.sentence}",
        *("superseded", "by 0", "≠ v1", "r3 appends E=e@3 in epoch 2"),
    } <= set(found)
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
    drawn = DrawnCase(run, violation)
    told = drawn.explained(violation)
    fact = told.facts[0]._replace(position=written[decided])
    monkeypatch.setattr(DrawnCase, "explained", lambda *_: replace(told, facts=(fact,)))

    head, *lines = strip(drawn, 80).splitlines()
    assert {"45", str(decided), "…"} <= set(head.split())
    pointed = next(line for line in lines if "▲" in line).index("▲")
    assert head.index("45") == pointed
    assert {"45", str(decided), "…", "…: columns left out"} <= set(texts(svg(drawn)))


@given(st.integers(1, 200), st.integers(0, 199), st.integers(1, 100))
def test_where_there_is_no_room_for_all_events_the_last_and_the_violation_are_shown(
    count: int, focus: int, most: int
) -> None:
    focus = min(focus, count - 1)
    shown = window(count, focus, most)
    assert (focus in shown, len(shown)) == (True, min(count, most))
    assert shown.stop == count or focus - shown.start <= len(shown) * 3 // 4


def test_a_figure_for_notebooks_has_no_script_and_two_sides() -> None:
    found = figure_html(case(LOST_TAIL))
    assert found.startswith('<div class="replog-figure">')
    assert "light-dark(" in found
    assert not re.search("<script|http", found)


def test_chosen_moments_as_a_png_of_twice_the_size_whatever_the_settings_of_the_user() -> None:
    drawn, captions = case(LOST_TAIL), {16: "a second time", 9: "committed"}
    document, picture = svg(drawn, captions=captions), png(drawn, captions=captions)

    assert {"1. a second time", "2. committed", "E=e"} <= set(texts(document))
    size = re.search(r'width="(\d+)" height="(\d+)"', document)
    assert size is not None
    for pixels, length in zip(struct.unpack(">II", picture[16:24]), size.groups(), strict=True):
        assert abs(pixels - 2 * int(length)) <= 2
    changed: dict[Any, Any] = {"font.size": 40, "lines.linewidth": 9, "text.usetex": True}
    with mpl.rc_context(changed):
        assert png(drawn, captions=captions) == picture
        assert mpl.rcParams["font.size"] == 40


def test_moments_in_any_order_have_the_columns_of_the_latest() -> None:
    latest_first, in_order = (
        texts(svg(replace(case(LOST_TAIL), violation=None), captions=captions), "tf")
        for captions in ({9: "b", 1: "a"}, {1: "a", 9: "b"})
    )

    assert "3" in latest_first
    assert Counter(latest_first) == Counter(in_order)


@pytest.mark.parametrize(
    ("drawn", "says"),
    [
        (case(LOST_TAIL), "step 0: the story has steps 1 to 20"),
        (big_run(), r"ms 0: the run goes from 1 to \d+"),
    ],
)
def test_a_moment_outside_the_run_is_named_in_its_unit(drawn: DrawnCase, says: str) -> None:
    with pytest.raises(BadInput, match=f"^{says}$"):
        svg(drawn, captions={9: "", 0: ""})


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
    on = {"paper": ("t", "tf", "ta", "ts"), "wrong": ("tw", "tws"), "alarmband": ("t",)}
    on |= {f"k{number}": ("tm",) for number in range(6)} | {"marker": ("tm",), "empty": ("tm",)}
    for ground, letters in on.items():
        for text in letters:
            colours = (getattr(LOOKS[look].fill, side) for look in (text, ground))
            assert contrast(*colours) >= 4.5, (text, ground)


# Where the letters and the marks of a picture are, measured with the font that draws them.


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def within(self, other: "Box") -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom


@cache
def measured(text: str, look_name: str) -> tuple[float, float, float]:
    """Width and height of a text, and how much of it is below its base line."""
    look = LOOKS[look_name]
    family = "DejaVu Sans Mono" if look.mono else "DejaVu Sans"
    weight = "bold" if look.bold else "normal"
    font = get_font(findfont(FontProperties(family=family, weight=weight)))
    font.set_size(look.size, 72)
    font.set_text(text, 0)
    width, height = font.get_width_height()
    return width / 64, height / 64, font.get_descent() / 64


def of_text(text: Text) -> Box:
    width, height, below = measured(text.text, text.look)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return Box(left, text.y + below - height, left + width, text.y + below)


def dots(path: Path) -> list[tuple[float, float]]:
    """Places all along its lines, half a pixel apart."""
    points = (*path.points, path.points[0]) if path.closed else path.points
    found = []
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = int(2 * max(abs(x1 - x0), abs(y1 - y0))) + 2
        found += list(zip(np.linspace(x0, x1, steps), np.linspace(y0, y1, steps), strict=True))
    return found


def covered(picture: Picture) -> list[tuple[str, str]]:
    """Each text that touches another one or a line, with what it touches.

    A text may stand within a box: then all of it does.
    """
    texts = [(one.text, of_text(one)) for one in picture.shapes if isinstance(one, Text)]
    rects = [one for one in picture.shapes if isinstance(one, Rect) and one.look != "alarmband"]
    boxes = [(r.look, Box(r.x, r.y, r.x + r.width, r.y + r.height)) for r in rects]
    paths = [one for one in picture.shapes if isinstance(one, Path)]
    x, y = np.array([(-9, -9), *[each for path in paths for each in dots(path)]]).T
    sheet = Box(-1, -1, picture.width + 12, picture.height + 12)  # the margin is there, too
    found = [(one, two) for (one, box), (two, its) in combinations(texts, 2) if box.overlaps(its)]
    for text, box in texts:
        found += [(text, "the edge")] * (not box.within(sheet))
        found += [(text, look) for look, its in boxes if box.overlaps(its) and not box.within(its)]
        across = (x > box.left - 1) & (x < box.right + 1)
        down = (y > box.top - 1) & (y < box.bottom + 1)
        found += [(text, "a line")] * bool(np.any(across & down))
    return found


# The text strip: what each replica held at the violation, in a dozen lines.


def test_the_lost_tail_in_ten_lines() -> None:
    told = pathlib.Path(__file__).with_name("lost_tail.txt").read_text(encoding="utf-8")
    assert strip(case(LOST_TAIL, "no-offset-reuse"), 90).splitlines() == told.splitlines()


@pytest.mark.parametrize("width", [40, 60, 100, 160])
@pytest.mark.parametrize(
    "path", [LOST_TAIL, LOST_MARKER, "durability/checkpoint_03_finish_mark_missing.yaml"]
)
def test_no_line_is_wider_than_asked_for(path: str, width: int) -> None:
    for violation in (*case(path).run.seen, None):
        lines = strip(replace(case(path), violation=violation), width).splitlines()
        assert max(map(cell_len, lines)) <= width
        assert 4 <= len(lines) <= 20


def test_every_sign_is_named() -> None:
    for path, drawn in red(3, start=2):
        *lines, legend = strip(drawn, 400).splitlines()
        replicas = len(Scene(drawn).frame.lanes)
        rows = "\n".join([line for line in lines if line[0] in " »"][: replicas + 2])
        named = {entry.split()[0] for entry in legend.split(" · ")}
        assert {sign for sign in "⎡▕╌·!»" if sign in rows} <= named, path
        assert ("led" in named) == bool(re.search(r"led \d+\?", rows)), path
        assert set(re.findall("[╌·]([a-z]+)", rows)) <= named, path  # why there is no record


def test_keys_can_neither_break_the_lines_nor_move_the_cursor() -> None:
    drawn = strip(holding("\x1b[2J\u202e", "two\nlines\r<b>"))

    assert drawn.replace("\n", "").isprintable()
    assert "\\x1b[2J" in drawn
    assert len(drawn.splitlines()) <= 7


def test_what_there_is_least_of() -> None:
    assert strip(drawn_events([])).split() == ["offset"]
