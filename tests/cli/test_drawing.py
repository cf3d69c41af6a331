"""`replog draw`: a story, a timed scenario, a row of a sweep; text, SVG, PNG, HTML."""

from pathlib import Path
from xml.etree import ElementTree as ET

from tests.cli.conftest import PLAN, Replog

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
LOST_TAIL = SCENARIOS / "kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml"
TIMED = SCENARIOS / "kip280/timed_lost_tail.yaml"


def test_without_a_file_to_write_a_text_is_printed(replog: Replog) -> None:
    answer = replog("draw", str(LOST_TAIL), "--invariant", "no-offset-reuse")

    assert (answer.status, answer.err) == (0, "")
    first, *others = answer.out.splitlines()
    assert first == "no-offset-reuse: r3 gave offset 3 to e@3, but it was committed as d@3."
    assert others[4].startswith("» r3 leads 2  A=a v9  B=b v1  C=c v1 ▕E=e v1 !")


def test_a_timed_scenario_is_drawn_like_the_story_of_the_same(replog: Replog) -> None:
    story = replog("draw", str(LOST_TAIL)).out.splitlines()
    timed = replog("draw", str(TIMED)).out.splitlines()

    assert timed[1:6] == story[1:6]


def test_the_other_fix_is_shown_beside_it(replog: Replog, here: Path) -> None:
    answer = replog("draw", str(TIMED), "-o", "x.html", "--against", "fix=empty_batch")

    assert (answer.status, answer.out) == (0, "x.html\n")
    page = (here / "x.html").read_text()
    assert "<h2>fix=none</h2>" in page
    assert "<h2>fix=empty_batch</h2>" in page
    assert "Nothing is violated." in page
    assert "--against=fix=empty_batch" in page


def test_of_a_preset_those_rules_are_named_that_it_changes(replog: Replog, here: Path) -> None:
    answer = replog("draw", str(TIMED), "-o", "x.html", "--against", "preset=kraft")

    assert (answer.status, answer.out) == (0, "x.html\n")
    page = (here / "x.html").read_text()
    assert "commit=isr" in page
    assert "commit=majority" in page
    assert "snapshot_placement=" not in page


def test_a_run_without_a_violation_is_drawn_at_its_end(replog: Replog, here: Path) -> None:
    rule = ("--rule", "fix=empty_batch")
    answer = replog("draw", str(LOST_TAIL), *rule)

    assert answer.status == 0
    assert "▲" not in answer.out
    assert "E=e v1" in answer.out
    assert replog("draw", str(LOST_TAIL), *rule, "-o", "x.txt").status == 0
    assert (here / "x.txt").read_text().splitlines()[0].split()[0] == "offset"


def test_a_row_of_a_sweep(replog: Replog, here: Path) -> None:
    (here / "plan.yaml").write_text(PLAN.replace("count: 6", "count: 1"))
    made = replog("sweep", "plan.yaml", "--out", "d", "--engine", "process")
    assert made.status == 0, made.err

    answer = replog("draw", "d", "0", "-o", "x.html", "--against", "fix=empty_batch")

    assert (answer.status, answer.out) == (0, "x.html\n")
    assert "run 0 of d" in (here / "x.html").read_text()


def test_a_story_is_drawn_as_svg(replog: Replog, here: Path) -> None:
    (here / "s.yaml").write_text(
        "format: replog-story/1\nreplicas: [r1]\nsteps:\n  - elect r1 1\n  - append r1 a A\n"
    )

    answer = replog("draw", "s.yaml", "-o", "s.svg", "--step", "2=a is written")

    assert (answer.status, answer.out) == (0, "s.svg\n")
    root = ET.parse("s.svg").getroot()  # noqa: S314 - written by this very test
    assert root.tag.endswith("svg")
    assert "a is written" in Path("s.svg").read_text()
    assert sorted(path.name for path in here.iterdir()) == ["s.svg", "s.yaml"]
