"""Snapshots of the own state, and the deletion of the prefix they cover (KIP-630)."""

from __future__ import annotations

from sim.compaction import TOMBSTONE_MARKS, fold, strategy_for
from sim.log import Control, control_batch
from sim.replication.leader import append
from sim.replication.replica import Replica, Snapshot, SnapshotId
from sim.replication.rules import Rules
from sim.replication.snapshot_layout import file_bytes
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
    records = fold(
        log.batches(),
        below=end_offset,
        strategy=strategy_for(rules.strategy, header=rules.strategy_header),
        is_tombstone=TOMBSTONE_MARKS[rules.tombstone_mark],
        base=() if base is None else base.records,
    )
    id_ = SnapshotId(end_offset, log.epochs.epoch_at(end_offset - 1))
    if id_ in replica.snapshots:
        return []
    snapshot = Snapshot(id_, tuple(records[key] for key in sorted(records)))
    replica.snapshots[id_] = snapshot
    events: list[Event] = [SnapshotTaken(replica.name, *id_, snapshot.records)]
    leadership = replica.leadership
    if rules.snapshot_placement == "in_log" and leadership is not None:
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

    That a covering snapshot exists is for the caller to ensure and for the
    `prefix-deletion-safety` invariant to check.
    """
    log = replica.log
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
