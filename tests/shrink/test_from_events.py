"""From random runs to stories: the same law is broken for the same cause, in a few steps."""

from functools import cache

import pytest

from sim.check import Violation
from sim.explain.signature import signature_of
from sim.rules import Rules, rules_from
from sim.scenario.generate import BUILT_IN_MIXES, Mix, generate
from sim.scenario.model import Scenario
from sim.shrink.from_events import FoundStory, TimedEvents, story_from_events
from sim.shrink.story import ShrunkStory, shrink_story
from sim.story.driver import run_story
from sim.timed_run import run_scenario

KAFKA = rules_from(
    {"preset": "kafka-4.0", "strategy": "header", "map_range": "full", "fix": "none"}
).with_values({"delete_retention_ms": 500})
HUNTED = Mix(
    duration_ms=5000,
    sends=(40, 130),
    tail_hunts=1.0,
    outage_ms=(100, 3000),
    lateness_ms=(1, 2000),
    idle_ms=(600, 2500),
    clock_skew_ms=1000,
)
REUSED = generate(3084049378818361790, HUNTED).with_rules(KAFKA)
"""A random run whose log end falls by cleaning, and with it much else."""
REMOVED = generate(3495160863771154028, HUNTED).with_rules(KAFKA)
AT_ONCE = generate(11, BUILT_IN_MIXES["reference"]).with_rules(
    Rules.of(tombstone_removal="immediate")
)

Case = tuple[Scenario, str, int]
CASES: dict[str, Case] = {
    "an offset is reused": (REUSED, "no-offset-reuse", 8),
    "a leader lacks a record": (REUSED, "leader-completeness", 7),
    "a tombstone goes too early": (REMOVED, "tombstone-safety", 8),
    "a deleted key is back": (AT_ONCE, "no-resurrection", 8),
    "a state differs": (AT_ONCE, "materialized-state-equivalence", 8),
}
"""A run, the law that it breaks, and in how many steps a story does so at most."""


@cache
def failing(scenario: Scenario, invariant: str) -> tuple[TimedEvents, Violation]:
    events: TimedEvents = []
    run = run_scenario(scenario, trace=events)  # type: ignore[arg-type]
    return events, next(one for one in run.violations if one.invariant == invariant)


@cache
def shrunk(scenario: Scenario, invariant: str) -> tuple[FoundStory, ShrunkStory]:
    events, violation = failing(scenario, invariant)
    found = story_from_events(events, violation, scenario.rules)
    assert found is not None
    return found, shrink_story(found.story, found.violation, cause_of=found.cause_of)


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_random_run_becomes_a_story_of_a_few_steps(case: Case) -> None:
    scenario, invariant, steps = case
    events, violation = failing(scenario, invariant)
    found, small = shrunk(scenario, invariant)
    run = run_story(small.story)
    same = next(one for one in run.violations if one.invariant == invariant)

    assert len(events) > 500
    assert small.steps <= steps <= len(found.story.steps)
    assert signature_of(run.events, same, small.story.rules) == signature_of(
        events, violation, scenario.rules
    )


def test_the_same_run_gives_the_same_story() -> None:
    scenario, invariant, _ = CASES["an offset is reused"]
    events, violation = failing(scenario, invariant)

    again = story_from_events(events, violation, scenario.rules)
    assert again is not None
    assert again.story == shrunk(scenario, invariant)[0].story


def test_no_story_is_made_for_a_cause_that_none_shows() -> None:
    scenario, invariant, _ = CASES["an offset is reused"]
    events, violation = failing(scenario, invariant)
    causes = iter(range(1_000_000))

    found = story_from_events(events, violation, scenario.rules, cause_of=lambda *_: next(causes))
    assert found is None
