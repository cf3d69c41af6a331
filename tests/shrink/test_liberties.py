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

Case = tuple[dict[str, object], list[str]]

TAKEN: dict[str, Case] = {
    of.OUT_OF_SYNC: ({}, [*THREE, "isr r1,r2", "elect r3 2"]),
    of.NO_MAJORITY: (MAJORITY, ["elect r1 1", "append r1 a k", "sync r2 r1", "elect r3 2"]),
    of.NOT_ADMITTED: ({}, [*THREE, "isr r1,r2", "isr r1,r2,r3"]),
    of.DISK_COUNTED_ON: ({}, [*THREE, "wipe r2"]),
    of.ACKNOWLEDGED_LOST: ({}, [*THREE, "crash r2 lose=1"]),
    of.NOT_THE_LEADER: ({}, [*THREE, "append r2 b k epoch=1"]),
    of.PUSHED: ({}, [*THREE, "push r2 r1 a"]),
    of.NO_SNAPSHOT: ({"cleanup": "snapshot"}, [*THREE, "delete_prefix r1 1"]),
    of.UNCOMMITTED: ({"cleanup": "snapshot"}, ["elect r1 1", "append r1 a k", "snapshot r1 1"]),
}
"""Steps that take the liberty."""
NEAR: dict[str, Case] = {
    of.OUT_OF_SYNC: ({}, [*THREE, "isr r1,r2", "elect r2 2"]),
    of.NO_MAJORITY: (MAJORITY, ["elect r1 1", "append r1 a k", "sync r2 r1", "elect r2 2"]),
    of.NOT_ADMITTED: ({}, [*THREE, "isr r1,r2", "expand_isr r3"]),
    of.DISK_COUNTED_ON: ({}, [*THREE, "isr r1,r3", "wipe r2"]),
    of.ACKNOWLEDGED_LOST: ({}, [*THREE, "append r1 b k", "crash r1 lose=1"]),
    of.NOT_THE_LEADER: ({}, [*THREE, "append r1 b k epoch=1"]),
    of.PUSHED: ({}, [*THREE, "append r1 b k", "fetch r2 r1"]),
    of.NO_SNAPSHOT: ({"cleanup": "snapshot"}, [*THREE, "snapshot r1 1", "delete_prefix r1 1"]),
    of.UNCOMMITTED: ({"cleanup": "snapshot"}, [*THREE, "snapshot r1 1"]),
}
"""Nearly the same steps, and no liberty."""


def taken(rules: dict[str, object], steps: list[str]) -> set[str]:
    data = {
        "format": "replog-story/1",
        "rules": rules,
        "replicas": ["r1", "r2", "r3"],
        "steps": steps,
    }
    story = story_from(data, where="story")
    return liberties(run_story(story).events, story.rules)


@pytest.mark.parametrize("liberty", TAKEN)
def test_a_liberty_is_told(liberty: str) -> None:
    assert liberty in taken(*TAKEN[liberty])


@pytest.mark.parametrize("liberty", NEAR)
def test_what_a_cluster_would_do_is_no_liberty(liberty: str) -> None:
    assert taken(*NEAR[liberty]) == set()


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
