"""A replica that leaves for good, in simulated time."""

from dataclasses import replace
from random import Random

import pytest

from sim.protocol.events import (
    Appended,
    Copied,
    HighWatermarkMoved,
    IsrChanged,
    ReplicaRemoved,
)
from sim.protocol.replication.messages import FetchRequest
from sim.protocol.rules import rules_from
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.faults import FaultKind, RemoveReplica
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import Mix, Weights
from sim.simulate.scenario.model import ReplicaSpec
from tests.cluster.worlds import fault, scenario, tell

KRAFT = rules_from({"preset": "kraft"})
FIVE = tuple(ReplicaSpec(f"v{number}") for number in range(1, 6))
LEAVES = FaultKind.REMOVE_REPLICA
GONE_AT_1000 = fault(LEAVES, 1_000, "r3")


def test_it_is_in_no_set_and_copies_nothing_from_then_on_and_the_others_go_on() -> None:
    story = tell(scenario(GONE_AT_1000))
    last_isr = story.of(IsrChanged)[-1][1].isr
    commits = [at for at, e in story.of(HighWatermarkMoved) if e.leading]

    assert [(at, e.replica) for at, e in story.of(ReplicaRemoved)] == [(1_000, "r3")]
    assert set(last_isr) == {"r1", "r2"}
    assert not [at for at, e in story.of(Copied) if e.replica == "r3" and at > 1_000]
    assert max(commits) > max(at for at, _ in story.of(Appended)) > 2_000
    assert story.outcome.inconclusive is None


def holding_a_fetch_of_r3() -> tuple[Cluster, LeaderState]:
    cluster = Cluster(scenario(), lambda _at, _event: None)
    cluster.start()
    cluster.context.env.run(until=1_000)
    leader = cluster.nodes["r1"].leader
    assert leader is not None
    leader.fetches.hold("r3", FetchRequest("r3", 1, 0, 1), 500)
    return cluster, leader


def test_a_fetch_that_waits_is_not_answered_once_its_sender_has_left() -> None:
    cluster, leader = holding_a_fetch_of_r3()
    cluster.remove(cluster.nodes["r3"])

    assert "r3" not in leader.fetches.waiting


def test_a_fetch_that_waits_is_not_answered_once_its_sender_has_an_answer_to_another() -> None:
    _, leader = holding_a_fetch_of_r3()

    assert not leader.fetch(FetchRequest("r3", 1, 10**6, 1, correlation_id=10**6))  # out of range
    assert "r3" not in leader.fetches.waiting


@pytest.mark.parametrize("rules", [{"preset": "kafka-4.0"}, {"preset": "kraft"}])
def test_a_leader_does_not_leave(rules: dict[str, str]) -> None:
    story = tell(scenario(fault(LEAVES, 1_000, "r1"), rules=rules_from(rules)))

    assert story.of(ReplicaRemoved) == []


@pytest.mark.parametrize("removed", [(), ("v4", "v5")])
def test_majorities_are_counted_over_the_voters_that_are_left(removed: tuple[str, ...]) -> None:
    down = [fault(FaultKind.CRASH, at, name, 9_000) for at, name in ((400, "v4"), (500, "v5"))]
    third = fault(FaultKind.CRASH, 1_200, "v3", 9_000)
    leave = [fault(LEAVES, 1_000, name) for name in removed]
    story = tell(scenario(*down, *leave, third, rules=KRAFT, replicas=FIVE))
    commits = [at for at, e in story.of(HighWatermarkMoved) if e.leading and 1_300 < at < 4_000]

    assert [e.replica for _, e in story.of(ReplicaRemoved)] == list(removed)
    assert bool(commits) is bool(removed)


def test_a_voter_stays_while_the_others_lack_what_is_committed() -> None:
    """v2 and v3 hear nothing: what is committed is on v1, v4 and v5 alone."""
    deaf = [fault(FaultKind.PARTITION, 500, name, 2_000, peers=("v1",)) for name in ("v2", "v3")]
    leave = [fault(LEAVES, 900, name) for name in ("v4", "v5")]
    story = tell(scenario(*deaf, *leave, rules=KRAFT, replicas=FIVE))

    assert story.of(ReplicaRemoved) == []


@pytest.mark.parametrize("preset", ["kafka-4.0", "kraft"])
def test_storms_in_which_replicas_leave_lose_nothing(preset: str) -> None:
    rules = rules_from({"preset": preset, "tombstone_removal": "never"})
    mix = Mix(mix="storm", replicas=(4, 5), snapshots=1.0, cleaners=0.0, weights=Weights())
    left = 0
    for seed in range(4):
        case, rng = generate(seed, mix), Random(seed)
        leave = [RemoveReplica(rng.randrange(9_000), f"r{number}") for number in range(1, 6)]
        faults = tuple(sorted((*case.faults, *leave), key=lambda one: one.at_ms))
        run = run_scenario(replace(case, faults=faults).with_rules(rules), keep_events=True)
        trace = run.events
        left += sum(isinstance(event, ReplicaRemoved) for _, event in trace)
        assert (run.verdict, run.violated) == ("holds", []), seed

    assert left > 4
