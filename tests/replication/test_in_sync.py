"""The in-sync set: whose word the controller takes, and who counts before it has (KIP-497).

Who may lead cleanly then: the law of `tests/cluster/test_controller.py`, the decisions
that `tests/audits` judges, and the timed scenarios of `scenarios/isr`.
"""

from typing import Any

import pytest
from msgspec.structs import replace

from sim.protocol.replication.elections import alone_in_sync, alter_partition, with_isr
from sim.protocol.replication.leader import expand_isr, record_position
from sim.protocol.replication.messages import AlterPartitionRequest, PartitionState
from sim.protocol.rules import Rules
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
    return PartitionState(7, 4, leader, isr, dict.fromkeys(heard, 1), elr, last)


def sets(state: PartitionState) -> tuple[tuple[str, ...], tuple[str, ...], str | None]:
    """Who is in sync, who is eligible, and who led last."""
    return state.isr, state.elr, state.last_known_leader


@pytest.mark.parametrize(
    "changes",
    [{}, {"leader": "r2"}, {"leader_epoch": 3}, {"partition_epoch": 6}, {"new_isr": ("r1", "r4")}],
)
def test_only_the_leader_that_knows_the_present_state_changes_the_in_sync_set(
    changes: dict[str, Any],
) -> None:
    request = replace(AlterPartitionRequest("r1", 4, 7, ("r1", "r2")), **changes)
    changed = alter_partition(partition(), request, rules=CLASSIC)

    assert changed.isr == (partition().isr if changes else ("r1", "r2"))


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


Sets = tuple[tuple[str, ...], tuple[str, ...], str | None]


@pytest.mark.parametrize(
    ("rules", "state", "isr", "unclean", "expected"),
    [
        # Without eligible replicas the last member of the set stays.
        (CLASSIC, partition(), ("r1",), (), (("r1",), (), None)),
        (CLASSIC, partition(("r1",)), (), (), (("r1",), (), None)),
        # Who leaves a set that is large enough is not eligible, of one that is too small it is.
        (ELIGIBLE, partition(), ("r1", "r2"), (), (("r1", "r2"), (), None)),
        (ELIGIBLE, partition(("r1", "r2")), ("r1",), (), (("r1",), ("r2",), None)),
        (ELIGIBLE, partition(("r1",), ("r2",)), (), (), ((), ("r2", "r1"), "r1")),
        # Who comes back from a crash is not.
        (ELIGIBLE, partition(("r1",), ("r2",)), ("r1",), ("r2",), (("r1",), (), None)),
        (ELIGIBLE, partition(("r1",), ("r2",)), (), ("r1",), ((), ("r2",), "r1")),
        # Nobody stays eligible once the set is large enough again.
        (ELIGIBLE, partition(("r1",), ("r2",)), ("r1", "r3"), (), (("r1", "r3"), (), None)),
        # The leader of a set that empties is remembered.
        (ELIGIBLE, partition(("r1",)), (), ("r1",), ((), (), "r1")),
        (ELIGIBLE, partition(("r1",), leader=None), (), ("r1",), ((), (), None)),
    ],
)
def test_who_is_in_sync_who_is_eligible_and_who_led_last(
    rules: Rules,
    state: PartitionState,
    isr: tuple[str, ...],
    unclean: tuple[str, ...],
    expected: Sets,
) -> None:
    assert sets(with_isr(state, isr, unclean=unclean, rules=rules)) == expected


def test_nobody_is_eligible_beside_who_was_elected_uncleanly() -> None:
    assert sets(alone_in_sync(partition(("r1",), ("r2",)), "r3")) == (("r3",), (), None)
