"""Scripted hunts for elections and lost disks: what they are made of, and that they are told."""

from collections import Counter

import pytest

from sim.protocol.events import Event, LeaderElected, ReplicaWiped
from sim.protocol.rules import rules_from
from sim.simulate.faults import FaultKind
from sim.simulate.faults.kinds import Crash, Partition
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import Mix, generate
from sim.simulate.scenario.generate.scenario import targeted_faults_of

CALM = Mix(tail_hunts=0.0, kind_off=1.0)
ELECTIONS = CALM.model_copy(update={"election_hunts": 1.0})
DISKS = CALM.model_copy(update={"disk_hunts": 1.0})
MARKS = CALM.model_copy(update={"mark_hunts": 1.0, "faults": (1, 1)})
SEEDS = range(60)


def events_of(mix: Mix, seed: int, preset: str) -> list[tuple[int, Event]]:
    scenario = generate(seed, mix).with_rules(rules_from({"preset": preset}))
    run = run_scenario(scenario, keep_events=True)
    assert run.verdict in {"holds", "violated"}
    return [*run.events]


def test_an_election_hunt_is_one_of_three_scripts() -> None:
    drawn = [generate(seed, ELECTIONS).faults for seed in SEEDS]
    scripts = Counter(tuple(fault.kind for fault in faults) for faults in drawn)

    assert scripts[FaultKind.PARTITION, FaultKind.CRASH] > 3
    assert sum(kinds.count(FaultKind.MIGRATE) >= 3 for kinds in scripts.elements()) > 3
    assert sum(kinds.count(FaultKind.CRASH) == 5 for kinds in scripts.elements()) > 3


@pytest.mark.parametrize("preset", ["kafka-4.0", "kraft"])
def test_leaders_follow_on_each_other_in_election_hunts(preset: str) -> None:
    elected = [
        sum(isinstance(event, LeaderElected) for _, event in events_of(ELECTIONS, seed, preset))
        for seed in range(12)
    ]

    assert sum(leaders >= 2 for leaders in elected) >= 10
    assert max(elected) >= 5


@pytest.mark.parametrize("preset", ["kafka-4.0", "kraft"])
def test_a_disk_is_lost_in_disk_hunts_and_the_leader_goes_right_after(preset: str) -> None:
    wiped = soon = 0
    for seed in range(16):
        trace = events_of(DISKS, seed, preset)
        at = [ms for ms, event in trace if isinstance(event, ReplicaWiped)]
        wiped += bool(at)
        leads = [ms for ms, event in trace if isinstance(event, LeaderElected)]
        soon += any(0 < ms - lost < 2_000 for lost in at for ms in leads)

    assert wiped >= 8
    assert soon >= 4


def test_in_a_mark_hunt_who_restarts_with_an_old_high_watermark_cannot_fetch() -> None:
    faults = generate(3, MARKS).faults
    cut = {(one.at_ms, one.target): one.duration_ms for one in faults if isinstance(one, Partition)}
    crashes = [one for one in faults if isinstance(one, Crash)]

    assert len(crashes) == 8
    assert all(one.high_watermark is not None for one in crashes)
    assert all(one.duration_ms + 800 <= cut[one.at_ms, one.target] for one in crashes)


def test_which_hunts_a_case_has_is_told() -> None:
    every = CALM.model_copy(
        update={"tail_hunts": 1.0, "election_hunts": 1.0, "disk_hunts": 1.0, "idle_phases": (1, 1)}
    )

    assert targeted_faults_of(3, CALM) == ()
    assert targeted_faults_of(3, ELECTIONS) == ("elections",)
    assert targeted_faults_of(3, DISKS) == ("lost_disks",)
    assert targeted_faults_of(3, MARKS) == ("marks",)
    assert ("tail", "elections", "lost_disks") in {
        targeted_faults_of(seed, every) for seed in SEEDS
    }
