"""`replog draw`: a story, a timed scenario, a row of a sweep; text, SVG, PNG, HTML."""

from pathlib import Path

from tests.cli.conftest import PLAN, Replog

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
LOST_TAIL = SCENARIOS / "kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml"
TIMED = SCENARIOS / "kip280/timed_lost_tail.yaml"


def test_a_timed_scenario_is_drawn_like_the_story_of_the_same(replog: Replog) -> None:
    story = replog("draw", str(LOST_TAIL)).out.splitlines()
    timed = replog("draw", str(TIMED)).out.splitlines()

    assert timed[1:6] == story[1:6]


def test_a_row_of_a_sweep(replog: Replog, here: Path) -> None:
    (here / "plan.yaml").write_text(PLAN.replace("count: 6", "count: 1"))
    made = replog("sweep", "plan.yaml", "--out", "d", "--engine", "process")
    assert made.status == 0, made.err

    answer = replog("draw", "d", "0", "-o", "x.html", "--against", "fix=empty_batch")

    assert (answer.status, answer.out) == (0, "x.html\n")
    assert "run 0: " in (here / "x.html").read_text()
