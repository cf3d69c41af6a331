"""Which old snapshots go, with how much of the log, and when the prefix may go at all."""

import pytest

from sim.protocol.events import PrefixDeleted, SnapshotDeleted
from sim.protocol.log import Record, data_batch
from sim.protocol.replication import Replica
from sim.protocol.replication.cleaning import Retention
from sim.protocol.replication.snapshots import (
    delete_old_snapshots,
    delete_prefix,
    file_bytes,
    may_delete_prefix,
    take_snapshot,
)
from sim.protocol.rules import Rules
from tests.replication.replicas import RULES, elect

ENDS = (2, 4, 6)


def replica(*, committed: int = 6) -> Replica:
    """Six records, one every 100 ms, and a snapshot after every second one."""
    found = Replica("r1")
    elect(found, epoch=1)
    for offset in range(6):
        one = Record(offset, f"k{offset}", "v", 100 * offset, (), uid=offset + 1)
        found.log.append(data_batch((one,), epoch=1), now_ms=0)
    for end in ENDS:
        take_snapshot(found, end, rules=RULES)
    found.log.high_watermark = committed
    return found


def kept(
    found: Replica, retention: Retention, *, now_ms: int = 0, gate: int = 99
) -> tuple[int, ...]:
    """The ends of the snapshots that stay; the log must start at the first of them, or at 0."""
    before, had = found.log.log_start_offset, [id_.end_offset for id_ in found.snapshots]
    events = delete_old_snapshots(found, retention, now_ms=now_ms, may_delete=lambda to: to <= gate)
    ends = tuple(id_.end_offset for id_ in found.snapshots)
    moved = [event for event in events if isinstance(event, PrefixDeleted)]
    gone = [event.end_offset for event in events if isinstance(event, SnapshotDeleted)]
    assert found.log.log_start_offset == (ends[0] if moved else before)
    assert sorted([*gone, *ends]) == had
    return ends


def size(found: Replica) -> int:
    return found.log.size_bytes + sum(file_bytes(s.records) for s in found.snapshots.values())


@pytest.mark.parametrize(
    ("gate", "ends", "now_ms", "allowed"),
    [
        ("local", (0,), 0, True),
        ("all_live", (4, 6), 0, True),
        ("all_live", (3, 6), 10**9, False),
        ("all_live_or_timeout", (3, 6), 399, False),
        ("all_live_or_timeout", (3, 6), 400, True),
        ("all_live_or_timeout", (4, 6), 0, True),
    ],
)
def test_the_prefix_waits_for_live_replicas_as_the_gate_says(
    gate: str, ends: tuple[int, ...], now_ms: int, allowed: bool
) -> None:
    """The last record below 4 is of 300 ms."""
    rules = Rules.of(prefix_gate=gate, start_offset_lag_ms=100)

    assert may_delete_prefix(replica(), 4, live_ends=ends, rules=rules, now_ms=now_ms) is allowed


def test_without_a_snapshot_there_is_no_end_to_the_wait() -> None:
    found = replica()
    found.snapshots.clear()
    rules = Rules.of(prefix_gate="all_live_or_timeout", start_offset_lag_ms=0)

    assert not may_delete_prefix(found, 4, live_ends=(0,), rules=rules, now_ms=10**9)


def test_an_installed_snapshot_is_as_old_as_the_one_it_was_fetched_from() -> None:
    found = replica()
    delete_prefix(found, 6)
    [taken] = found.snapshots.values()
    assert taken.timestamp_ms == 500

    after = found.log
    after.append(data_batch((Record(6, "k", "v", 5, (), uid=9),), epoch=1), now_ms=0)
    take_snapshot(found, 7, rules=RULES)
    assert [snapshot.timestamp_ms for snapshot in found.snapshots.values()] == [500, 5]


@pytest.mark.parametrize(
    ("excess_bytes", "retention_ms", "now_ms", "committed", "gate", "ends"),
    [
        (None, None, 10**9, 6, 99, (2, 4, 6)),
        # The oldest goes while log and snapshots are too large; the last one stays.
        (0, None, 0, 6, 99, (2, 4, 6)),
        (1, None, 0, 6, 99, (4, 6)),
        (10**6, None, 0, 6, 99, (6,)),
        # A snapshot is as old as the last record it stands for.
        (None, 50, 150, 6, 99, (2, 4, 6)),
        (None, 50, 151, 6, 99, (4, 6)),
        (None, 50, 351, 6, 99, (6,)),
        (None, 0, 10**9, 6, 99, (6,)),
        (0, 50, 151, 6, 99, (4, 6)),  # in a log that is small enough, too
        # Nothing goes above the high watermark or against the gate.
        (10**6, None, 0, 5, 99, (4, 6)),
        (10**6, None, 0, 6, 4, (4, 6)),
        (10**6, None, 0, 6, 3, (2, 4, 6)),
    ],
)
def test_which_old_snapshots_go(
    excess_bytes: int | None,
    retention_ms: int | None,
    now_ms: int,
    committed: int,
    gate: int,
    ends: tuple[int, ...],
) -> None:
    found = replica(committed=committed)
    limit = None if excess_bytes is None else max(0, size(found) - excess_bytes)
    retention = Retention(retention_bytes=limit, retention_ms=retention_ms)

    assert kept(found, retention, now_ms=now_ms, gate=gate) == ends
