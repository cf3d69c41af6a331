"""Whom a leader waits for beside its in-sync set, and for how long."""

import pytest

from sim.protocol.replication import Replica
from sim.protocol.replication.joining import (
    is_caught_up,
    note_fetch,
    trust_the_in_sync,
    wait_for_joining,
)
from sim.protocol.replication.replica import Leadership
from tests.replication.replicas import RULES, leading

ALL = ("r1", "r2", "r3")
LAG_MS = 100


def leader_at_zero() -> Replica:
    """r1 with two records; it was elected at 0 ms, when r1 and r2 were in sync."""
    leader = leading(records=2, isr=("r1", "r2"))
    trust_the_in_sync(leader, now_ms=0)
    return leader


def leadership_of(leader: Replica) -> Leadership:
    assert leader.leadership is not None
    return leader.leadership


@pytest.mark.parametrize(
    ("fetches", "until_ms"),
    [
        ([], None),
        ([(10, 2, 2)], 110),  # it had all there was
        ([(10, 1, 2)], None),
        ([(10, 1, 2), (50, 2, 4)], 110),  # at 50 it shows that it had all there was at 10
        ([(10, 1, 2), (50, 1, 4)], None),
        ([(10, 2, 2), (50, 2, 4)], 110),
        ([(10, 2, 2), (50, 4, 4)], 150),
    ],
)
def test_a_follower_is_caught_up_for_so_long_after_it_had_all(
    fetches: list[tuple[int, int, int]], until_ms: int | None
) -> None:
    leader = leader_at_zero()
    for now_ms, offset, end in fetches:
        note_fetch(leadership_of(leader), "r3", offset, end, now_ms)
    found = [at for at in range(51, 300) if is_caught_up(leader, "r3", now_ms=at, lag_max_ms=100)]

    assert found == ([] if until_ms is None else [*range(51, until_ms + 1)])


@pytest.mark.parametrize(
    ("rule", "eligible", "now_ms", "awaited"),
    [
        ("in_sync_set", ALL, 0, ()),
        ("caught_up", (), LAG_MS, ("r2", "r3")),
        ("caught_up", ALL, LAG_MS + 1, ()),
        ("caught_up_eligible", ("r1", "r3"), LAG_MS, ("r3",)),
        ("caught_up_eligible", ALL, LAG_MS + 1, ()),
    ],
)
def test_whom_the_rule_lets_a_high_watermark_wait_for(
    rule: str, eligible: tuple[str, ...], now_ms: int, awaited: tuple[str, ...]
) -> None:
    leader = leader_at_zero()
    note_fetch(leadership_of(leader), "r3", 2, 2, 0)
    wait_for_joining(
        leader,
        ALL,
        isr=("r1",),
        eligible=eligible,
        now_ms=now_ms,
        lag_max_ms=LAG_MS,
        rules=RULES.with_values({"high_watermark_waits_for": rule}),
    )

    assert leadership_of(leader).awaited == awaited
