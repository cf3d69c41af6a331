"""What a story may do and no cluster does is told, and what a cluster does is none of it."""

import pytest

from sim.rules import Rules
from sim.scenario.generate import BUILT_IN_MIXES, Mix, generate
from sim.scenario.generate.mix import Weights
from sim.shrink import liberties as of
from sim.shrink.liberties import liberties
from sim.story import run_story
from sim.story.format import story_from
from sim.timed_run import run_scenario
from sim.trace import Event

THREE = ["elect r1 1", "append r1 a k", "sync r2 r1", "sync r3 r1", "sync r2 r1"]
MAJORITY: dict[str, object] = {"commit": "majority"}
SNAP: dict[str, object] = {"cleanup": "snapshot"}

CASES: dict[str, tuple[dict[str, object], list[str], list[str]]] = {
    of.OUT_OF_SYNC: ({}, [*THREE, "isr r1,r2", "elect r3 2"], [*THREE, "isr r1,r2", "elect r2 2"]),
    of.NO_MAJORITY: (
        MAJORITY,
        ["elect r1 1", "append r1 a k", "sync r2 r1", "elect r3 2"],
        ["elect r1 1", "append r1 a k", "sync r2 r1", "elect r2 2"],
    ),
    of.NOT_ADMITTED: (
        {},
        [*THREE, "isr r1,r2", "isr r1,r2,r3"],
        [*THREE, "isr r1,r2", "expand_isr r3"],
    ),
    of.DISK_COUNTED_ON: ({}, [*THREE, "wipe r2"], [*THREE, "isr r1,r3", "wipe r2"]),
    of.ACKNOWLEDGED_LOST: (
        {},
        [*THREE, "crash r2 lose=1"],
        [*THREE, "append r1 b k", "crash r1 lose=1"],
    ),
    of.NOT_THE_LEADER: ({}, [*THREE, "append r2 b k epoch=1"], [*THREE, "append r1 b k epoch=1"]),
    of.PUSHED: ({}, [*THREE, "push r2 r1 a"], [*THREE, "append r1 b k", "fetch r2 r1"]),
    of.NO_SNAPSHOT: (
        SNAP,
        [*THREE, "delete_prefix r1 1"],
        [*THREE, "snapshot r1 1", "delete_prefix r1 1"],
    ),
    of.UNCOMMITTED: (
        SNAP,
        ["elect r1 1", "append r1 a k", "snapshot r1 1"],
        [*THREE, "snapshot r1 1"],
    ),
}
"""Under which rules which steps take a liberty, and nearly the same steps that take none."""


def taken(rules: dict[str, object], steps: list[str]) -> set[str]:
    data = {
        "format": "replog-story/1",
        "rules": rules,
        "replicas": ["r1", "r2", "r3"],
        "steps": steps,
    }
    story = story_from(data, where="story")
    return liberties(run_story(story).events, story.rules)


@pytest.mark.parametrize("liberty", CASES)
def test_a_liberty_is_told_and_what_a_cluster_would_do_is_none(liberty: str) -> None:
    rules, steps, near = CASES[liberty]

    assert liberty in taken(rules, steps)
    assert taken(rules, near) == set()


def of_runs(mix: Mix, commit: str, seeds: range) -> set[str]:
    found: set[str] = set()
    for seed in seeds:
        scenario = generate(seed, mix).with_rules(Rules.of(commit=commit))
        events: list[tuple[int, Event]] = []
        run_scenario(scenario, trace=events)
        found |= liberties(events, scenario.rules)
    return found


def test_a_cluster_takes_no_liberty() -> None:
    no_wipes = Mix(weights=Weights(wipe=0.0, crash=4.0))

    assert of_runs(BUILT_IN_MIXES["reference"], "isr", range(6)) == set()
    assert of_runs(no_wipes, "majority", range(6)) == set()


def test_an_unclean_election_is_a_liberty_that_a_run_takes_too() -> None:
    assert of_runs(BUILT_IN_MIXES["storm"], "isr", range(2)) == {of.OUT_OF_SYNC, of.NOT_ADMITTED}
