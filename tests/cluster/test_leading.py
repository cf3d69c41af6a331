"""Leaders come and go: the in-sync set, zombies, and elections by majority."""

import pytest

from sim.rules import Rules
from sim.scenario.model import FaultKind, Workload
from sim.trace import (
    Appended,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
    Quiesced,
    ReplicaCrashed,
    Truncated,
)
from tests.cluster.worlds import fault, log_ends, scenario, sends, tell

MAJORITY = Rules.of(leader_change_record=True)


def test_a_lagging_follower_leaves_the_in_sync_set_and_rejoins() -> None:
    slow = fault(FaultKind.SLOW_FETCHER, 300, "r2", 1_500)
    changes = tell(scenario(slow)).of(IsrChanged)

    assert [(set(e.isr), e.joined) for _, e in changes] == [
        ({"r1", "r3"}, None),
        ({"r1", "r2", "r3"}, "r2"),
    ]
    assert changes[0][0] >= 600  # caught up for the last time after 200 ms


def test_a_slow_follower_stays_in_the_set_while_there_is_nothing_to_fetch() -> None:
    slow = fault(FaultKind.SLOW_FETCHER, 300, "r2", 1_500)
    quiet = Workload(sends=sends(2))

    assert tell(scenario(slow, workload=quiet)).of(IsrChanged) == []


def test_the_high_watermark_waits_for_a_silent_follower_until_it_is_out_of_the_set() -> None:
    away = fault(FaultKind.CRASH, 500, "r3", 2_000)
    story = tell(scenario(away))
    out_ms = next(at for at, e in story.of(IsrChanged) if "r3" not in e.isr)
    moved = [at for at, e in story.of(HighWatermarkMoved) if e.leading and 520 < at < out_ms]

    assert moved == []
    assert any(at >= out_ms for at, e in story.of(HighWatermarkMoved) if e.leading)


def test_a_leader_that_is_cut_off_goes_on_as_a_zombie_and_is_fenced() -> None:
    cut = fault(FaultKind.PARTITION, 500, "r1", 1_500)
    story = tell(scenario(cut))
    elected_ms, elected = story.of(LeaderElected)[1]
    zombie = [at for at, e in story.of(Appended) if e.replica == "r1" and at > elected_ms]
    committed = story.of(HighWatermarkMoved, lambda e: e.replica == "r1" and e.leading)

    assert elected.replica != "r1"
    assert [(e.replica, e.epoch) for _, e in story.of(LeaderResigned)] == [("r1", 1)]
    assert zombie == [] or max(zombie) < story.of(LeaderResigned)[0][0]
    assert all(at <= 510 for at, _ in committed)
    assert {e.replica for _, e in story.of(Truncated)} <= {"r1"}
    assert len(set(log_ends(story).values())) == 1


def test_a_partition_waits_for_its_only_in_sync_replica() -> None:
    story = tell(
        scenario(
            fault(FaultKind.CRASH, 300, "r2", 3_500),
            fault(FaultKind.CRASH, 300, "r3", 3_500),
            fault(FaultKind.CRASH, 1_500, "r1", 500),
        )
    )
    elected = story.of(LeaderElected)

    assert [(e.replica, e.epoch) for _, e in elected] == [("r1", 1), ("r1", 2)]
    assert elected[1][0] >= 2_000
    assert story.outcome.inconclusive is None


def test_a_clean_migration_moves_the_lead_within_the_in_sync_set() -> None:
    story = tell(scenario(fault(FaultKind.MIGRATE, 500, "r3")))

    assert [(e.replica, e.epoch) for _, e in story.of(LeaderElected)] == [("r1", 1), ("r3", 2)]
    assert log_ends(story) == {"r1": 40, "r2": 40, "r3": 40}


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


def test_the_voters_elect_another_leader_after_a_crash() -> None:
    story = tell(scenario(fault(FaultKind.CRASH, 800, "leader", 1_000), rules=MAJORITY))
    elected = story.of(LeaderElected)
    crashed_ms, crashed = story.of(ReplicaCrashed)[0]

    assert elected[1][0] > crashed_ms + 200
    assert elected[1][1].replica != crashed.replica
    assert [e.replica for _, e in story.of(Quiesced)] == [elected[-1][1].replica]
    assert len(set(log_ends(story).values())) == 1


def test_a_leader_without_a_majority_resigns() -> None:
    cut = fault(FaultKind.PARTITION, 800, "leader", 3_000)
    story = tell(scenario(cut, rules=MAJORITY, duration_ms=5_000))
    first = story.of(LeaderElected)[0][1].replica
    resigned_ms = story.of(LeaderResigned, lambda e: e.replica == first)[0][0]

    assert 800 < resigned_ms < 3_800


@pytest.mark.parametrize("rules", [None, MAJORITY], ids=["isr", "majority"])
def test_no_epoch_has_two_leaders(rules: Rules | None) -> None:
    faults = [fault(FaultKind.PARTITION, 300 + 700 * index, "leader", 500) for index in range(10)]
    story = tell(scenario(*faults, rules=rules, duration_ms=9_000))
    epochs = [e.epoch for _, e in story.of(LeaderElected)]

    assert len(epochs) > 4
    assert epochs == sorted(set(epochs))


def test_a_broker_whose_registration_was_lost_registers_again_when_it_can_talk() -> None:
    cut = fault(FaultKind.PARTITION, 400, "r2", 1_500)
    down = fault(FaultKind.CRASH, 500, "r2", 300)
    story = tell(scenario(cut, down))
    joined = [at for at, e in story.of(IsrChanged) if e.joined == "r2"]

    assert [at > 1_900 for at in joined] == [True]
    assert story.outcome.inconclusive is None
