"""Stories, and a long random run, for the tests of pictures."""

from functools import cache
from pathlib import Path

from sim.check import Violation
from sim.rules import Rules, settings_from
from sim.scenario.generate import generate
from sim.scenario.generate.mix import Mix
from sim.story import StoryRun, load_story, run_story
from sim.timed_run import run_scenario
from sim.trace import Event

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
LOST_TAIL = "kip280/kip280_15_believed_position_hw_truncation_no_fix.yaml"


@cache
def story(path: str) -> StoryRun:
    """A story of `scenarios/`."""
    return run_story(load_story(SCENARIOS / path))


def violation_of(run: StoryRun, invariant: str) -> Violation:
    """The first one of an invariant."""
    return next(each for each in run.violations if each.invariant == invariant)


@cache
def big_run() -> tuple[tuple[tuple[int, Event], ...], Violation, Rules]:
    """A random run of more than 3,000 events, as a sweep has them, with a violation at its end."""
    values = {"preset": "kafka-4.0", "strategy": "header", "delete_retention_ms": "500"}
    rules = settings_from(values | {"fix": "none", "map_range": "full"}, where="test")
    mix = Mix(duration_ms=25_000, sends=(260, 310), replicas=(4, 4), keys=(10, 20), tail_hunts=1.0)
    scenario = generate(59, mix).with_rules(rules)
    events: list[tuple[int, Event]] = []
    run = run_scenario(scenario, trace=events)
    return tuple(events), run.violations[0], scenario.rules
