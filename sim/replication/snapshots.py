"""Snapshots: take, delete the prefix, serve in chunks, fetch and install (KIP-630)."""

from __future__ import annotations

from sim.compaction import TOMBSTONE_MARKS, fold, strategy_for
from sim.log.record import size_of
from sim.replication.messages import FetchSnapshotRequest, FetchSnapshotResponse
from sim.replication.replica import Replica, Snapshot, SnapshotId
from sim.replication.rules import Rules
from sim.trace import (
    Event,
    PrefixDeleted,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotInstalled,
    SnapshotTaken,
)


def take_snapshot(replica: Replica, end_offset: int, *, rules: Rules) -> list[Event]:
    """Write the state below `end_offset` (exclusive) as a snapshot.

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
    return [SnapshotTaken(replica.name, id_.end_offset, id_.epoch, snapshot.records)]


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


def snapshot_request(
    follower: Replica, *, max_entries: int | None = None
) -> FetchSnapshotRequest | None:
    """The next chunk to ask for; None when no snapshot is being fetched."""
    download = follower.download
    if download is None:
        return None
    return FetchSnapshotRequest(
        follower.name, follower.epoch, download.id, len(download.received), max_entries
    )


def answer_fetch_snapshot(
    leader: Replica, request: FetchSnapshotRequest, *, rules: Rules
) -> FetchSnapshotResponse:
    """Serve a chunk, or say why not (KafkaRaftClient.handleFetchSnapshotRequest)."""
    id_, position = request.id, request.position
    epoch = leader.epoch if leader.leadership is None else leader.leadership.epoch

    def refuse(error: str) -> FetchSnapshotResponse:
        return FetchSnapshotResponse(leader.name, epoch, id_, position, 0, (), error)

    if leader.leadership is None:
        return refuse("not leader")
    if rules.fencing and request.epoch > epoch:
        return refuse("stale leader")
    snapshot = leader.snapshots.get(id_)
    if snapshot is None:
        return refuse("snapshot not found")
    size = len(snapshot.records)
    if position > size or (position == size and size > 0):
        return refuse("position out of range")
    end = size if request.max_entries is None else position + request.max_entries
    return FetchSnapshotResponse(
        leader.name, epoch, id_, position, size, snapshot.records[position:end]
    )


def receive_snapshot_chunk(
    follower: Replica, response: FetchSnapshotResponse, *, rules: Rules
) -> list[Event]:
    """Take a chunk; the last one installs the snapshot.

    A missing snapshot or a new epoch drops what was fetched; other errors change nothing
    (KafkaRaftClient.handleFetchSnapshotResponse).
    """
    if rules.fencing:
        if response.epoch < follower.epoch:
            return []
        follower.sees(response.epoch)
    download = follower.download
    if download is None or response.error in ("not leader", "stale leader"):
        return []
    if response.leader != download.leader or response.epoch != download.leader_epoch:
        return drop_download(follower, reason="a new epoch")
    if response.id != download.id or response.position != len(download.received):
        return []
    if response.error is not None:
        return drop_download(follower, reason=response.error)
    download.received += response.records
    events: list[Event] = [
        SnapshotChunkFetched(
            follower.name,
            response.leader,
            response.id.end_offset,
            response.id.epoch,
            response.position,
            len(response.records),
            size_of(response.records),
        )
    ]
    if len(download.received) >= response.size:
        events += _install(follower, Snapshot(download.id, tuple(download.received)))
    return events


def drop_download(follower: Replica, *, reason: str) -> list[Event]:
    """Forget a partly fetched snapshot, if there is one."""
    download = follower.download
    if download is None:
        return []
    follower.download = None
    return [SnapshotFetchDropped(follower.name, *download.id, reason)]


def _install(follower: Replica, snapshot: Snapshot) -> list[Event]:
    """Replace the log, atomically (KafkaMetadataLog.truncateToLatestSnapshot).

    A snapshot that ends at or below the log's end, and is of no later epoch, is dropped: the log
    got ahead of it while it was fetched. A log that ends below the snapshot is replaced even if its
    last epoch is later, as after an unclean election; Kafka throws there.
    """
    log, id_ = follower.log, snapshot.id
    follower.download = None
    if id_.epoch <= log.epochs.latest and id_.end_offset <= log.log_end_offset:
        return [SnapshotFetchDropped(follower.name, *id_, "the log is ahead of it")]
    installed = SnapshotInstalled(
        follower.name,
        id_.end_offset,
        id_.epoch,
        snapshot.records,
        log.log_end_offset,
        log.high_watermark,
        follower.leadership is not None,
    )
    log.reset_to(id_.end_offset, id_.epoch)
    follower.snapshots = {id_: snapshot}
    follower.first_dirty_offset = follower.cleanly_compacted_offset = id_.end_offset
    return [installed]
