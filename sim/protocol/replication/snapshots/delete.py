"""The deletion of snapshots, and of the prefix of the log that they cover (KIP-630)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from operator import attrgetter

from msgspec import Struct

from sim.protocol.events import Event, PrefixDeleted, SnapshotDeleted
from sim.protocol.replication.replica import Replica, Snapshot
from sim.protocol.replication.snapshots import file_bytes
from sim.protocol.rules.rules import Rules


def delete_prefix(replica: Replica, to: int) -> list[Event]:
    """Moves the log start to `to`; batches below it and snapshots that end below it go.

    It moves to the log end at most. Nothing happens when it is there or above already.
    That a covering snapshot exists is for the caller to ensure and for the
    `prefix-deletion-safety` invariant to check.
    """
    log = replica.log
    to = min(to, log.log_end_offset)
    if to <= log.log_start_offset:
        return []
    log.delete_prefix(to)
    replica.first_dirty_offset = max(replica.first_dirty_offset, log.log_start_offset)
    events: list[Event] = [PrefixDeleted(replica.name, log.log_start_offset, log.high_watermark)]
    for id_ in sorted(replica.snapshots):
        if id_.end_offset < log.log_start_offset:
            del replica.snapshots[id_]
            events.append(SnapshotDeleted(replica.name, id_.end_offset, id_.epoch))
    return events


def may_delete_prefix(
    replica: Replica, to: int, *, live_ends: Iterable[int], rules: Rules, now_ms: int
) -> bool:
    """Decides whether `prefix_gate` lets the log start move to `to`.

    Args:
        replica: Replica whose log start would move.
        to: The new log start (inclusive).
        live_ends: The log end offsets of all live replicas.
        rules: Local: always. Otherwise every live replica has to have what is below; with a
            timeout, that is not waited for any more when the last record that the covering snapshot
            stands for is `start_offset_lag_ms` old.
        now_ms: The replica's own clock.
    """
    if rules.snapshots.prefix_gate == "local" or all(end >= to for end in live_ends):
        return True
    if rules.snapshots.prefix_gate == "all_live":
        return False
    covering = [snapshot for id_, snapshot in replica.snapshots.items() if id_.end_offset >= to]
    if not covering:
        return False
    return (
        now_ms - min(covering, key=attrgetter("id")).timestamp_ms
        >= rules.snapshots.start_offset_lag_ms
    )


class SnapshotRetention(Struct, frozen=True, gc=False):
    """The retention of snapshots and log; None = no bound.

    Attributes:
        retention_bytes: `metadata.max.retention.bytes`, of the log and of all snapshots.
        retention_ms: `metadata.max.retention.ms`, since the last record of a snapshot.
    """

    retention_bytes: int | None = None
    retention_ms: int | None = None


def delete_old_snapshots(
    replica: Replica,
    retention: SnapshotRetention,
    *,
    now_ms: int,
    may_delete: Callable[[int], bool],
) -> list[Event]:
    """Deletes the oldest snapshots, with the log before the next one, beyond size or age.

    The last snapshot always stays (KafkaMetadataLog.maybeClean). `now_ms` is the replica's own
    clock; `may_delete` says whether the log start may move to an offset.
    """
    events: list[Event] = []
    limit_bytes, limit_ms = retention.retention_bytes, retention.retention_ms
    if limit_bytes is not None:
        sizes = {id_: file_bytes(snapshot.records) for id_, snapshot in replica.snapshots.items()}
        left = sum(sizes.values())

        def too_much(oldest: Snapshot) -> bool:
            nonlocal left
            if replica.log.size_bytes + left <= limit_bytes:
                return False
            left -= sizes[oldest.id]
            return True

        events += _delete_while(replica, too_much, may_delete)
    if limit_ms is not None:
        events += _delete_while(
            replica, lambda oldest: now_ms - oldest.timestamp_ms > limit_ms, may_delete
        )
    return events


def _delete_while(
    replica: Replica, too_old: Callable[[Snapshot], bool], may_delete: Callable[[int], bool]
) -> list[Event]:
    """Moves the log start to the snapshot after the oldest one, as long as that one has to go."""
    events: list[Event] = []
    for oldest, following in pairwise(sorted(replica.snapshots)):
        to, log = following.end_offset, replica.log
        if not too_old(replica.snapshots[oldest]):
            break
        if not log.log_start_offset < to <= log.high_watermark or not may_delete(to):
            break
        events += delete_prefix(replica, to)
    return events
