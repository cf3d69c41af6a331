"""The text strip: what each replica held at the violation, in a dozen lines."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from sim.diagnose.draw import Case, strip
from sim.diagnose.draw.scene import Scene
from tests.draw.stories import LOST_MARKER, LOST_TAIL, case, holding, red
from tests.story.running import run_steps


def test_the_lost_tail_in_ten_lines() -> None:
    assert strip(case(LOST_TAIL, "no-offset-reuse"), 90).splitlines() == [
        "  offset      0       1       2       3",
        "  committed   A=a v9  B=b v1  C=c v1  A=d v1",
        "  r1 led 1?   A=a v9  B=b v1  C=c v1  ╌╌>0     ▕  hw 4 end 4",
        "  r2          A=a v9  B=b v1  C=c v1  A=d v1   ▕  hw 4 end 4",
        "» r3 leads 2  A=a v9  B=b v1  C=c v1 ▕E=e v1 !    hw 3 end 4",
        "                                      ▲ no-offset-reuse",
        "offset 3: committed is A=d v1; r1 has a hole (superseded by 0); r2 has A=d v1; r3 has E=e",
        "  v1",
        "» where it is violated · ▕ high watermark · ╌ hole · ! not what was committed · led 1?",
        "  does not know of the newer epoch · >0 superseded by 0",
    ]


@pytest.mark.parametrize("width", [40, 60, 100, 160])
@pytest.mark.parametrize(
    "path", [LOST_TAIL, LOST_MARKER, "durability/checkpoint_03_finish_mark_missing.yaml"]
)
def test_no_line_is_wider_than_asked_for(path: str, width: int) -> None:
    for violation in (*case(path).violations, None):
        lines = strip(replace(case(path), violation=violation), width).splitlines()
        assert max(map(cell_len, lines)) <= width
        assert 4 <= len(lines) <= 20


def test_every_sign_is_named() -> None:
    for path, drawn in red():
        *lines, legend = strip(drawn, 400).splitlines()
        replicas = len(Scene(drawn).frame.lanes)
        rows = "\n".join([line for line in lines if line[0] in " »"][: replicas + 2])
        named = {entry.split()[0] for entry in legend.split(" · ")}
        assert {sign for sign in "⎡▕╌·!»" if sign in rows} <= named, path
        assert ("led" in named) == bool(re.search(r"led \d+\?", rows)), path
        assert set(re.findall("[╌·]([a-z]+)", rows)) <= named, path  # why there is no record


def test_the_violated_offset_is_there_however_long_the_log() -> None:
    appends = "\n".join([f"append 1 v{number} K{number}" for number in range(90)])
    run = run_steps(f"elect 1 1\n{appends}\nsync 2 1")
    violation = case(LOST_TAIL, "no-offset-reuse").violation
    assert violation is not None

    lines = strip(Case(run.events, violation._replace(at=99, offset=17, position=-1))).splitlines()

    assert lines[0].split()[:2] == ["offset", "…"]
    pointed = next(line for line in lines if "▲" in line).index("▲")
    assert lines[0].index("17") == lines[2].index("K17=v17") == pointed


def test_keys_can_neither_break_the_lines_nor_move_the_cursor() -> None:
    drawn = strip(holding("\x1b[2J\u202e", "two\nlines\r<b>"))

    assert drawn.replace("\n", "").isprintable()
    assert "\\x1b[2J" in drawn
    assert len(drawn.splitlines()) <= 7


def test_what_there_is_least_of() -> None:
    assert strip(case(LOST_TAIL), ascii_only=True).isascii()
    assert strip(Case([])).split() == ["offset"]
