"""`replog draw`: a story, a timed scenario, a row of a sweep; text, SVG, PNG, HTML."""

from pathlib import Path

from tests.commands import replog

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
LOST_TAIL = SCENARIOS / "kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml"
TIMED = SCENARIOS / "kip280/timed_lost_tail.yaml"


def test_a_timed_scenario_is_drawn_like_the_story_of_the_same() -> None:
    story = replog("draw", str(LOST_TAIL)).out.splitlines()
    timed = replog("draw", str(TIMED)).out.splitlines()

    assert timed[1:6] == story[1:6]
