"""`replog draw`: a story, a timed scenario, a row of a sweep; text, SVG, PNG, HTML."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

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


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((str(LOST_TAIL), "-o", "x.pdf"), "--output x.pdf: expected a name that ends in .html,"),
        ((str(LOST_TAIL), "--against", "fix=none"), "--against: only an HTML page shows two cases"),
        ((str(LOST_TAIL), "--step", "3=here"), "--step: only pictures show chosen steps"),
        ((str(LOST_TAIL), "-o", "x.svg", "--step", "here"), "--step here: expected NUMBER=caption"),
        ((str(LOST_TAIL), "-o", "x.svg", "--step", "77=x"), "step 77: the story has steps 1 to 20"),
        ((str(LOST_TAIL), "7"), "a RUN_ID goes with the folder of a sweep"),
        ((str(SCENARIOS),), "a folder: give RUN_ID"),
        (
            (str(LOST_TAIL), "--invariant", "no-ofset-reuse"),
            "--invariant no-ofset-reuse: not violated here (did you mean 'no-offset-reuse'?)",
        ),
        ((str(SCENARIOS / "sweeps/demo.yaml"),), "allowed: replog-story/1, replog-scenario/1"),
        ((str(SCENARIOS / "kip280/log_what_is_a_version.json"),), "unknown format"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    replog: Replog, here: Path, words: tuple[str, ...], complaint: str
) -> None:
    answer = replog("draw", *words)

    assert (answer.status, answer.out) == (2, "")
    assert complaint in answer.err
    assert len(answer.err.splitlines()) == 1
    assert list(here.iterdir()) == []


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
