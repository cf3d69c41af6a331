"""Snapshots of the own state, and the deletion of the prefix they cover (KIP-630)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from sim.log import Control, control_batch
from sim.replication.leader import append
from sim.replication.messages import SnapshotId
from sim.replication.replica import Replica, Snapshot
from sim.replication.snapshot_layout import file_bytes
from sim.replication.state import state_below
from sim.rules.rules import Rules
from sim.trace import Event, PrefixDeleted, SnapshotDeleted, SnapshotTaken


def take_snapshot(
    replica: Replica, end_offset: int, *, rules: Rules, now_ms: int = 0, uid: int = 0
) -> list[Event]:
    """Write the state below `end_offset` (exclusive) as a snapshot.

    `now_ms` is the replica's own clock. With `snapshot_placement: in_log` a leader appends it to
    its log, too, as a record with that `uid`.

    Nothing happens below the log start or above the log end, nor at a log start with the snapshot
    that ends there (KafkaMetadataLog.createNewSnapshot); that the end is at or below the high
    watermark is for the caller to choose and for the `snapshot-bound` invariant to check.
    """
    log = replica.log
    if not max(log.log_start_offset, 1) <= end_offset <= log.log_end_offset:
        return []
    base = replica.base_snapshot()
    if base is not None and base.id.end_offset == end_offset:
        return []
    records = state_below(replica, end_offset, rules=rules)
    id_ = SnapshotId(end_offset, log.epochs.epoch_at(end_offset - 1))
    if id_ in replica.snapshots:
        return []
    stamped = [batch.timestamp_ms for batch in log.batches() if batch.base_offset < end_offset]
    last_ms = stamped[-1] if stamped else -1 if base is None else base.timestamp_ms
    snapshot = Snapshot(id_, tuple(records[key] for key in sorted(records)), last_ms)
    replica.snapshots[id_] = snapshot
    events: list[Event] = [SnapshotTaken(replica.name, *id_, snapshot.records)]
    leadership = replica.leadership
    if rules.snapshots.snapshot_placement == "in_log" and leadership is not None:
        batch = control_batch(
            log.log_end_offset,
            epoch=leadership.epoch,
            control=Control.SNAPSHOT,
            timestamp_ms=now_ms,
            uid=uid,
        )
        batch = batch._replace(size_bytes=file_bytes(snapshot.records))
        events += append(replica, batch, rules=rules, now_ms=now_ms)
    return events


def delete_prefix(replica: Replica, to: int) -> list[Event]:
    """Move the log start to `to`; batches below it and snapshots that end below it go.

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
    """Whether `prefix_gate` lets the log start move to `to`.

    Args:
        replica: Whose log start.
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
    return now_ms - min(covering).timestamp_ms >= rules.snapshots.start_offset_lag_ms


@dataclass(frozen=True, slots=True)
class SnapshotRetention:
    """How much is kept of snapshots and log; None = no bound.

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
    """Delete the oldest snapshots, with the log before the next one, beyond size or age.

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
    """Move the log start to the snapshot after the oldest one, as long as that one has to go."""
    events: list[Event] = []
    for oldest, following in pairwise(sorted(replica.snapshots)):
        to, log = following.end_offset, replica.log
        if not too_old(replica.snapshots[oldest]):
            break
        if not log.log_start_offset < to <= log.high_watermark or not may_delete(to):
            break
        events += delete_prefix(replica, to)
    return events
