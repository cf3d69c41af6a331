"""Snapshots of a replica's own state, which its log stands for (KIP-630)."""

from __future__ import annotations

from msgspec.structs import replace

from sim.protocol.compaction import fold
from sim.protocol.compaction.fold import fold_deltas
from sim.protocol.events import Event, SnapshotTaken
from sim.protocol.log import Control, Record, control_batch
from sim.protocol.replication.leader import append
from sim.protocol.replication.messages import SnapshotId
from sim.protocol.replication.replica import Replica, Snapshot
from sim.protocol.replication.snapshots import file_bytes
from sim.protocol.rules.policy import judging_strategy
from sim.protocol.rules.rules import Rules


def state_below(replica: Replica, below: int, *, rules: Rules) -> dict[str, Record]:
    """Key -> the record that holds its state, from the snapshot at the log start up to `below`."""
    base = replica.base_snapshot()
    records = () if base is None else base.records
    is_tombstone, batches = rules.cleaner.is_tombstone, replica.log.batches()
    if rules.snapshots.state_machine == "deltas":
        return fold_deltas(batches, below=below, is_tombstone=is_tombstone, base=records)
    strategy = judging_strategy(rules)
    return fold(batches, below=below, strategy=strategy, is_tombstone=is_tombstone, base=records)


def take_snapshot(
    replica: Replica, end_offset: int, *, rules: Rules, now_ms: int = 0, uid: int = 0
) -> list[Event]:
    """Writes the state below `end_offset` (exclusive) as a snapshot.

    `now_ms` is the replica's own clock. With `snapshot_placement: in_log` a leader appends it to
    its log, too, as a record with that `uid`.

    Nothing happens below the log start or above the log end, nor at a log start with the snapshot
    that ends there (KafkaMetadataLog.createNewSnapshot), nor where all that was written since the
    latest snapshot is that snapshot, in the log: each would be the reason of the next. That the end
    is at or below the high watermark is for the caller to choose and for the `snapshot-bound`
    invariant to check.
    """
    log = replica.log
    if not max(log.log_start_offset, 1) <= end_offset <= log.log_end_offset:
        return []
    base = replica.base_snapshot()
    if base is not None and base.id.end_offset == end_offset:
        return []
    if _holds_only_snapshots(replica, end_offset):
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
        batch = replace(batch, size_bytes=file_bytes(snapshot.records))
        events += append(replica, batch, rules=rules, now_ms=now_ms).events
    return events


def _holds_only_snapshots(replica: Replica, below: int) -> bool:
    """Decides whether the log has only snapshots from the end of the latest one up to `below`."""
    latest, log = replica.latest_snapshot(), replica.log
    start = log.log_start_offset if latest is None else latest.id.end_offset
    written = log.read_below(start, below)
    return bool(written) and all(batch.control is Control.SNAPSHOT for batch in written)
