"""FetchSnapshot: chunks are requested, served or refused, collected, installed (KIP-630).

A position counts bytes of the file, or keys, as the request says (stories count keys). A chunk of
bytes may cut a record; that one is complete with the chunk in which it ends.
"""

from __future__ import annotations

from msgspec import Struct

from sim.protocol.events import (
    Event,
    LogEmptied,
    SnapshotChunkFetched,
    SnapshotFetchDropped,
    SnapshotFetched,
    SnapshotInstalled,
)
from sim.protocol.log.record import size_of
from sim.protocol.replication.messages import (
    NO_ERROR,
    ErrorCode,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from sim.protocol.replication.replica import Replica, Snapshot, empty_log
from sim.protocol.replication.snapshots import file_bytes, records_within
from sim.protocol.rules.rules import Rules


def snapshot_request(
    follower: Replica,
    *,
    max_entries: int | None = None,
    max_bytes: int | None = None,
    correlation_id: int = 0,
) -> FetchSnapshotRequest | None:
    """The next chunk to ask for; None when no snapshot is being fetched.

    With `max_bytes` positions are in bytes, else in entries. One download counts in one unit.
    """
    download = follower.download
    if download is None:
        return None
    return FetchSnapshotRequest(
        follower.name,
        follower.epoch,
        download.id,
        download.position,
        max_entries,
        max_bytes,
        correlation_id=correlation_id,
    )


def answer_fetch_snapshot(
    leader: Replica,
    request: FetchSnapshotRequest,
    *,
    rules: Rules,
) -> FetchSnapshotResponse:
    """Serves a chunk, or refuses, in the order of KafkaRaftClient.handleFetchSnapshotRequest.

    Args:
        leader: Replica that is asked; it may not lead any more.
        request: Request of the follower.
        rules: Rules; without `fencing` epochs are not compared.
    """
    epoch = leader.epoch if leader.leadership is None else leader.leadership.epoch

    def refuse(error: ErrorCode) -> FetchSnapshotResponse:
        return FetchSnapshotResponse(
            leader.name,
            epoch,
            request.id,
            request.position,
            0,
            (),
            error,
            correlation_id=request.correlation_id,
        )

    if rules.replication.fencing and request.epoch < epoch:
        return refuse(ErrorCode.FENCED_LEADER_EPOCH)
    if rules.replication.fencing and request.epoch > epoch:
        return refuse(ErrorCode.UNKNOWN_LEADER_EPOCH)
    if leader.leadership is None:
        return refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    snapshot = leader.snapshots.get(request.id)
    if snapshot is None:
        return refuse(ErrorCode.SNAPSHOT_NOT_FOUND)
    return _chunk(leader.name, epoch, snapshot, request) or refuse(ErrorCode.POSITION_OUT_OF_RANGE)


def _chunk(
    leader: str, epoch: int, snapshot: Snapshot, request: FetchSnapshotRequest
) -> FetchSnapshotResponse | None:
    """The chunk at the position of the request; None when nothing lies there."""
    records = snapshot.records
    position = request.position
    in_bytes = request.max_bytes is not None
    size = file_bytes(records) if in_bytes else len(records)
    if position < 0 or position > size or (position == size and size > 0):
        return None
    limit = request.max_bytes if in_bytes else request.max_entries
    end = size if limit is None else min(size, position + limit)
    held = records_within(records, position, end) if in_bytes else records[position:end]
    return FetchSnapshotResponse(
        leader,
        epoch,
        request.id,
        position,
        size,
        held,
        NO_ERROR,
        end,
        in_bytes,
        snapshot.timestamp_ms,
        request.correlation_id,
    )


class ChunkResult(Struct, frozen=True, gc=False):
    """The effect of an answer to FetchSnapshot.

    Attributes:
        events: Events at the follower; empty = it retries the request later.
        complete: True when the whole snapshot has arrived.
        installed: True when it replaced the log.
    """

    events: list[Event]
    complete: bool = False
    installed: bool = False


def receive_snapshot_chunk(
    follower: Replica,
    response: FetchSnapshotResponse,
    *,
    rules: Rules,
    crash_before_install: bool = False,
) -> ChunkResult:
    """Takes a chunk; the last one installs the snapshot.

    With `crash_before_install` the snapshot has its name on disk then, and the log is as it was:
    the follower is to crash at once (FileRawSnapshotWriter.freeze comes before
    KafkaMetadataLog.truncateToLatestSnapshot). A missing snapshot or a new epoch drops what was
    fetched; after other errors the follower asks again
    (KafkaRaftClient.handleFetchSnapshotResponse).
    """
    if rules.replication.fencing:
        if rules.replication.response_fencing and response.epoch < follower.epoch:
            return ChunkResult([])
        follower.sees(response.epoch)
    download, error = follower.download, response.error
    if download is None or error in (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ):
        return ChunkResult([])
    if response.leader != download.leader or response.epoch != download.leader_epoch:
        return ChunkResult(drop_download(follower, reason="a new epoch"))
    if response.id != download.id or response.position != download.position:
        return ChunkResult([])
    if error is ErrorCode.SNAPSHOT_NOT_FOUND:
        return ChunkResult(drop_download(follower, reason=str(error)))
    if error is not NO_ERROR:
        return ChunkResult([])
    events: list[Event] = []
    if rules.snapshots.snapshot_install == "at_first_chunk" and download.position == 0:
        events.append(_empty_log(follower))
    download.received += response.records
    download.position = response.end
    in_bytes = response.in_bytes
    events.append(
        SnapshotChunkFetched(
            follower.name,
            response.leader,
            *response.id,
            response.position,
            len(response.records),
            response.end - response.position if in_bytes else size_of(response.records),
            in_bytes,
        )
    )
    if download.position < response.size:
        return ChunkResult(events)
    whole = Snapshot(download.id, tuple(download.received), response.timestamp_ms)
    if crash_before_install:
        follower.download = None
        follower.snapshots[whole.id] = whole
        events.append(SnapshotFetched(follower.name, *whole.id, whole.records))
        return ChunkResult(events, complete=True)
    events += install(follower, whole, rules=rules)
    return ChunkResult(events, complete=True, installed=follower.snapshots.get(whole.id) is whole)


def drop_download(follower: Replica, *, reason: str) -> list[Event]:
    """Forgets a partly fetched snapshot, if there is one."""
    download = follower.download
    if download is None:
        return []
    follower.download = None
    return [SnapshotFetchDropped(follower.name, *download.id, reason)]


def _empty_log(follower: Replica) -> LogEmptied:
    """Empties the log before the snapshot has arrived."""
    download = follower.download
    assert download is not None
    log = follower.log
    emptied = LogEmptied(follower.name, *download.id, log.log_end_offset, log.high_watermark)
    empty_log(follower)
    follower.download = download
    return emptied


def install(follower: Replica, snapshot: Snapshot, *, rules: Rules) -> list[Event]:
    """Replaces the log, atomically (KafkaMetadataLog.truncateToLatestSnapshot).

    A log that is ahead of the snapshot stays: it reaches beyond the end, in no older epoch, or has
    the same end and epoch. One that ends below it, or there, is replaced even if its last epoch is
    later, as after an unclean election; Kafka throws there.
    """
    log, id_ = follower.log, snapshot.id
    follower.download = None
    end, epoch = log.log_end_offset, follower.last_fetched_epoch
    same = id_ == (end, epoch)
    ahead = same or (id_.epoch <= epoch and id_.end_offset < end)
    if ahead and rules.snapshots.snapshot_install != "whatever_arrives":
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
