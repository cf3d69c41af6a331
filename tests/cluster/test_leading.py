"""Leaders come and go: the in-sync set, zombies, and elections by majority."""

from sim.protocol.events import (
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    ReplicaRestarted,
    Truncated,
)
from sim.protocol.rules import Rules
from sim.simulate.faults import FaultKind
from tests.cluster.worlds import THREE, fault, log_ends, scenario, tell


def test_a_leader_alone_in_its_cluster_resumes_with_all_of_its_log_committed() -> None:
    restart = fault(FaultKind.CRASH, 1_000, "r1", 100, high_watermark=2)
    rules = Rules.of(commit="majority", leader_restart="resumes")
    story = tell(scenario(restart, rules=rules, replicas=THREE[:1]))
    [(back_ms, back)] = story.of(ReplicaRestarted)

    assert back.high_watermark == 2 < back.log_end_offset
    assert (back_ms, HighWatermarkMoved("r1", back.log_end_offset, leading=True)) in story.events


def test_a_lagging_follower_leaves_the_in_sync_set_and_rejoins() -> None:
    slow = fault(FaultKind.SLOW_FETCHER, 300, "r2", 1_500)
    changes = tell(scenario(slow)).of(IsrChanged)

    assert [(set(e.isr), e.joined) for _, e in changes] == [
        ({"r1", "r3"}, None),
        ({"r1", "r2", "r3"}, "r2"),
    ]
    assert changes[0][0] >= 600  # caught up for the last time after 200 ms


def test_the_high_watermark_waits_for_a_silent_follower_until_it_is_out_of_the_set() -> None:
    away = fault(FaultKind.CRASH, 500, "r3", 2_000)
    story = tell(scenario(away))
    out_ms = next(at for at, e in story.of(IsrChanged) if "r3" not in e.isr)
    moved = [at for at, e in story.of(HighWatermarkMoved) if e.leading and 520 < at < out_ms]

    assert moved == []
    assert any(at >= out_ms for at, e in story.of(HighWatermarkMoved) if e.leading)


def test_a_clean_migration_does_not_go_to_a_replica_that_is_out_of_sync() -> None:
    slow = fault(FaultKind.SLOW_FETCHER, 300, "r3", 1_600)
    story = tell(scenario(slow, fault(FaultKind.MIGRATE, 1_500, "r3")))

    assert [e.replica for _, e in story.of(LeaderElected)] == ["r1"]


def test_an_unclean_migration_gives_up_what_the_new_leader_lacks() -> None:
    slow = fault(FaultKind.SLOW_FETCHER, 300, "r3", 1_600)
    story = tell(scenario(slow, fault(FaultKind.UNCLEAN_MIGRATE, 1_800, "r3")))
    truncated = story.of(Truncated)

    assert [e.replica for _, e in story.of(LeaderElected)] == ["r1", "r3"]
    assert any(e.target < e.high_watermark for _, e in truncated)
    assert len(set(log_ends(story).values())) == 1


def test_a_broker_whose_registration_was_lost_registers_again_when_it_can_talk() -> None:
    cut = fault(FaultKind.PARTITION, 400, "r2", 1_500)
    down = fault(FaultKind.CRASH, 500, "r2", 300)
    story = tell(scenario(cut, down))
    joined = [at for at, e in story.of(IsrChanged) if e.joined == "r2"]

    assert [at > 1_900 for at in joined] == [True]
    assert story.outcome.inconclusive is None
