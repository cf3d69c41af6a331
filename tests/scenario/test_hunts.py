"""Scripted hunts for elections and lost disks: what they are made of, and that they are told."""

from collections import Counter

from sim.simulate.faults import Crash, FaultKind, Partition
from sim.simulate.scenario.generate import Mix, generate, targeted_faults_of

CALM = Mix(tail_hunts=0.0, kind_off=1.0)
ELECTIONS = CALM.model_copy(update={"election_hunts": 1.0})
DISKS = CALM.model_copy(update={"disk_hunts": 1.0})
MARKS = CALM.model_copy(update={"mark_hunts": 1.0, "faults": (1, 1)})
SEEDS = range(60)


def test_an_election_hunt_is_one_of_three_scripts() -> None:
    drawn = [generate(seed, ELECTIONS).faults for seed in SEEDS]
    scripts = Counter(tuple(fault.kind for fault in faults) for faults in drawn)

    assert scripts[FaultKind.PARTITION, FaultKind.CRASH] > 3
    assert sum(kinds.count(FaultKind.MIGRATE) >= 3 for kinds in scripts.elements()) > 3
    assert sum(kinds.count(FaultKind.CRASH) == 5 for kinds in scripts.elements()) > 3


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
