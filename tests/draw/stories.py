"""Stories for the tests of pictures, run."""

from functools import cache
from pathlib import Path

from sim.check import Violation
from sim.story import StoryRun, load_story, run_story

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
LOST_TAIL = "kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml"


@cache
def story(path: str) -> StoryRun:
    """A story of `scenarios/`."""
    return run_story(load_story(SCENARIOS / path))


def violation_of(run: StoryRun, invariant: str) -> Violation:
    """The first one of an invariant."""
    return next(each for each in run.violations if each.invariant == invariant)
