"""Steps that a story can do and no cluster does are found, and those of a cluster are not."""

import pytest

from sim.diagnose.shrink import target as of
from sim.diagnose.shrink.target import illegal_steps
from sim.protocol.rules import Rules
from sim.simulate.run.stories import run_story
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import BUILT_IN_MIXES, Mix, generate
from sim.simulate.scenario.generate.mix import Weights
from sim.simulate.story.format import story_from

FIRST = "elect r1 1; append r1 a k; sync r2 r1; sync r3 r1; sync r2 r1"
MAJORITY, SNAPSHOT = {"commit": "majority"}, {"cleanup": "snapshot"}
CASES: dict[str, tuple[dict[str, str], str, str]] = {
    of.OUT_OF_SYNC: ({}, "isr r1,r2; elect r3 2", "isr r1,r2; elect r2 2"),
    of.NO_MAJORITY: (MAJORITY, "append r1 b k; sync r2 r1; elect r3 2", "elect r3 2"),
    of.NOT_ADMITTED: ({}, "isr r1,r2; isr r1,r2,r3", "isr r1,r2; expand_isr r3"),
    of.DISK_COUNTED_ON: ({}, "wipe r2", "isr r1,r3; wipe r2"),
    of.ACKNOWLEDGED_LOST: ({}, "crash r2 lose=1", "append r1 b k; crash r1 lose=1"),
    of.NOT_THE_LEADER: ({}, "append r2 b k epoch=1", "append r1 b k epoch=1"),
    of.NO_SNAPSHOT: (SNAPSHOT, "delete_prefix r1 1", "snapshot r1 1; delete_prefix r1 1"),
    of.UNCOMMITTED: (SNAPSHOT, "append r1 b k; snapshot r1 2", "snapshot r1 1"),
}
"""Under which rules which steps are illegal, and nearly the same steps that are not."""


def taken(rules: dict[str, str], steps: str) -> set[str]:
    names = ["r1", "r2", "r3"]
    data = {"format": "replog-story/1", "rules": rules, "replicas": names}
    story = story_from({**data, "steps": f"{FIRST}; {steps}".split("; ")}, where="story")
    return illegal_steps(run_story(story).events, story.rules)


@pytest.mark.parametrize("kind", CASES)
def test_an_illegal_step_is_found_and_what_a_cluster_would_do_is_none(kind: str) -> None:
    rules, steps, near = CASES[kind]

    assert (taken(rules, steps), taken(rules, near)) == ({kind}, set())


NO_WIPES = Mix(weights=Weights(wipe=0.0, crash=4.0))


@pytest.mark.parametrize(
    ("mix", "commit", "seeds", "expected"),
    [
        (BUILT_IN_MIXES["reference"], "isr", 4, set()),
        (NO_WIPES, "majority", 4, set()),
        (BUILT_IN_MIXES["storm"], "isr", 2, {of.OUT_OF_SYNC, of.NOT_ADMITTED}),
    ],
)
def test_a_cluster_does_nothing_illegal_but_by_unclean_elections(
    mix: Mix, commit: str, seeds: int, expected: set[str]
) -> None:
    found: set[str] = set()
    for seed in range(seeds):
        scenario = generate(seed, mix).with_rules(Rules.of(commit=commit))
        events = run_scenario(scenario, keep_events=True).events
        found |= illegal_steps(events, scenario.rules)

    assert found == expected
