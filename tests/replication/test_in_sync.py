"""Who may lead cleanly: the in-sync set, eligible leader replicas, the last leader (KIP-966)."""

from typing import Any

import pytest

from sim.replication.elections import (
    alter_partition,
    clean_choice,
    last_resort,
    led_by,
    with_isr,
)
from sim.replication.leader import expand_isr, record_position
from sim.replication.messages import AlterPartitionRequest, ErrorCode, PartitionState
from sim.rules import Rules
from tests.replication.replicas import batch, leading

CLASSIC = Rules.of(commit="isr", min_isr=2)
ELIGIBLE = Rules.of(commit="isr", min_isr=2, eligible_leaders="elr")


def partition(
    isr: tuple[str, ...] = ("r1", "r2", "r3"),
    elr: tuple[str, ...] = (),
    last: str | None = None,
    *,
    leader: str | None = "r1",
    heard: tuple[str, ...] = ("r1", "r2", "r3"),
) -> PartitionState:
    """Version 7 of a partition in leader epoch 4, whose controller hears from some replicas."""
    return PartitionState(7, 4, leader, isr, heard, elr, last)


def sets(state: PartitionState) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """Who is in sync, who is eligible, and who led last."""
    return state.isr, state.elr, state.last_known_leader


def test_the_last_member_of_the_in_sync_set_stays_without_eligible_replicas() -> None:
    alone = with_isr(partition(), ("r1",), rules=CLASSIC)

    assert sets(alone) == (("r1",), (), None)
    assert with_isr(alone, (), rules=CLASSIC) == alone
    assert clean_choice(alone._replace(eligible=("r2", "r3"))) == ()


def test_who_leaves_a_set_that_is_large_enough_is_not_eligible() -> None:
    assert sets(with_isr(partition(), ("r1", "r2"), rules=ELIGIBLE)) == (("r1", "r2"), (), None)


def test_who_leaves_a_set_that_is_too_small_stays_eligible() -> None:
    two = with_isr(partition(), ("r1", "r2"), rules=ELIGIBLE)
    one = with_isr(two, ("r1",), rules=ELIGIBLE)
    none = with_isr(one, (), rules=ELIGIBLE)

    assert (one.elr, none.elr) == (("r2",), ("r2", "r1"))
    assert clean_choice(one) == ("r1",)
    assert clean_choice(none._replace(eligible=("r3", "r2"))) == ("r2",)
    assert clean_choice(none._replace(eligible=("r3",))) == ()


def test_who_comes_back_from_a_crash_is_not_eligible() -> None:
    one = partition(("r1",), ("r2",))

    assert with_isr(one, ("r1",), unclean=("r2",), rules=ELIGIBLE).elr == ()
    assert with_isr(one, (), unclean=("r1",), rules=ELIGIBLE).elr == ("r2",)


def test_nobody_stays_eligible_once_the_set_is_large_enough_again() -> None:
    one = partition(("r1",), ("r2",))

    assert sets(with_isr(one, ("r1", "r3"), rules=ELIGIBLE)) == (("r1", "r3"), (), None)


def test_the_leader_of_a_set_that_empties_is_remembered_with_eligible_replicas_alone() -> None:
    one = partition(("r1",))

    assert with_isr(one, (), unclean=("r1",), rules=ELIGIBLE).last_known_leader == "r1"
    assert with_isr(one._replace(leader=None), (), rules=ELIGIBLE).last_known_leader is None
    assert with_isr(one, (), rules=CLASSIC).last_known_leader is None


def test_the_last_leader_is_the_last_resort_and_no_clean_choice() -> None:
    nobody = partition((), (), "r1", leader=None)

    assert (clean_choice(nobody), last_resort(nobody)) == ((), "r1")
    assert last_resort(nobody._replace(eligible=("r2",))) is None
    assert last_resort(nobody._replace(last_known_leader=None)) is None
    waiting = partition((), ("r2",), "r1", leader=None, heard=("r1",))
    assert (clean_choice(waiting), last_resort(waiting)) == ((), None)


def test_an_eligible_replica_that_leads_is_alone_in_sync() -> None:
    chosen = led_by(partition((), ("r2", "r1"), "r1", leader=None), "r2", rules=ELIGIBLE)

    assert sets(chosen) == (("r2",), ("r1",), None)
    assert (chosen.leader, chosen.leader_epoch) == ("r2", 5)
    assert sets(led_by(partition(), "r2", rules=ELIGIBLE)) == sets(partition())


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({}, ErrorCode.NONE),
        ({"leader": "r2"}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 6}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"new_isr": ("r1", "r4")}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_only_the_leader_that_knows_the_present_state_changes_the_in_sync_set(
    changes: dict[str, Any], error: ErrorCode
) -> None:
    request = AlterPartitionRequest("r1", 4, 7, ("r1", "r2"))._replace(**changes)
    result = alter_partition(partition(), request, rules=CLASSIC)

    assert result.error is error
    assert result.state.isr == (("r1", "r2") if error is ErrorCode.NONE else partition().isr)


@pytest.mark.parametrize(("confirmed", "high_watermark"), [(None, 1), (1, 0), (2, 1)])
def test_a_member_that_the_controller_has_not_confirmed_does_not_count_for_min_isr(
    confirmed: int | None, high_watermark: int
) -> None:
    made = leading(records=0, isr=("r1",), rules=ELIGIBLE)
    made.log.append(batch(0), now_ms=0)
    assert made.leadership is not None
    made.leadership.confirmed = confirmed
    record_position(made, "r2", 1, rules=ELIGIBLE)
    expand_isr(made, "r2", rules=ELIGIBLE)

    assert made.leadership.isr == ("r1", "r2")
    assert made.log.high_watermark == high_watermark
