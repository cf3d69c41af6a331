"""Snapshots of a compacted log (KIP-630): taken, deleted, fetched in chunks, installed.

A file has a header, records and a footer. The header says when the last batch that the snapshot
stands for was appended, the footer that nothing is missing; each is a control batch. The records
are one batch, numbered from 0 on. Source: RecordsSnapshotWriter, SnapshotHeaderRecord,
SnapshotFooterRecord.

FetchSnapshot asks for chunks. A position counts bytes of the file, or keys, as the request says
(stories count keys). A chunk of bytes may cut a record; that one is complete with the chunk in
which it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from sim.protocol.compaction import UnreadableVersion, fold
from sim.protocol.compaction.fold import data_below, fold_deltas
from sim.protocol.events import (
    Event,
    LogEmptied,
    PrefixDeleted,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotTaken,
)
from sim.protocol.log import Control, Record, control_batch
from sim.protocol.log.record import BATCH_HEADER_BYTES, size_of
from sim.protocol.replication.cleaning import Retention, order_of, raise_floor
from sim.protocol.replication.leader import append
from sim.protocol.replication.messages import (
    NO_ERROR,
    ErrorCode,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    SnapshotId,
)
from sim.protocol.replication.replica import Replica, Snapshot, begin_anew
from sim.protocol.rules import Rules
from sim.protocol.rules.policy import cleaner_strategy, state_strategy

HEADER_BYTES = BATCH_HEADER_BYTES + 22
"""Size of a header: a control record with a key of 4 bytes and a value of 11 (version, time, no
tagged fields)."""

FOOTER_BYTES = BATCH_HEADER_BYTES + 14
"""Size of a footer: a control record with a key of 4 bytes and a value of 3 (version, no tagged
fields)."""


def record_ends(records: Sequence[Record]) -> list[int]:
    """The position in the file, in bytes, behind the last byte of each record (exclusive)."""
    position = HEADER_BYTES + BATCH_HEADER_BYTES
    ends = []
    for number, record in enumerate(records):
        alone = (replace(record, offset=number),)
        position += size_of(alone, base_timestamp_ms=records[0].timestamp_ms) - BATCH_HEADER_BYTES
        ends.append(position)
    return ends


def file_bytes(records: Sequence[Record]) -> int:
    """Size of the whole file in bytes; one without records has no batch for them."""
    return _file_end(record_ends(records))


def _file_end(ends: Sequence[int]) -> int:
    return (ends[-1] if ends else HEADER_BYTES) + FOOTER_BYTES


def state_below(replica: Replica, below: int, *, rules: Rules) -> dict[str, Record]:
    """Key -> the record with its state below `below` (exclusive), in the log and its snapshot."""
    base = replica.base_snapshot()
    records = () if base is None else base.records
    is_tombstone, batches = rules.cleaner.is_tombstone, replica.log.batches()
    if rules.snapshots.state_machine == "deltas":
        return fold_deltas(batches, below=below, is_tombstone=is_tombstone, base=records)
    strategy = state_strategy(rules)
    return fold(batches, below=below, strategy=strategy, is_tombstone=is_tombstone, base=records)


def take_snapshot(
    replica: Replica, end_offset: int, *, rules: Rules, now_ms: int = 0, uid: int = 0
) -> list[Event]:
    """Writes the state below `end_offset` (exclusive) as a snapshot.

    `now_ms` is the replica's own clock. With `snapshot_placement: in_log` a leader appends it to
    its log, too, as a record with that `uid`.

    Nothing happens if `end_offset` is 0, below the log start or above the log end, or if that
    snapshot exists already (KafkaMetadataLog.createNewSnapshot). Nor does it if only snapshots were
    written to the log since the latest one: each would be the reason of the next. That the end is
    at or below the high watermark is for the caller to choose and for the `snapshot-bound`
    invariant to check.
    """
    log = replica.log
    if not max(log.log_start_offset, 1) <= end_offset <= log.log_end_offset:
        return []
    base = replica.base_snapshot()
    if base is not None and base.id.end_offset == end_offset:
        return []
    latest = replica.latest_snapshot()
    since = log.log_start_offset if latest is None else latest.id.end_offset
    written = log.read_below(since, end_offset)
    if written and all(batch.control is Control.SNAPSHOT for batch in written):
        return []
    records = state_below(replica, end_offset, rules=rules)
    id_ = SnapshotId(end_offset, log.epochs.epoch_at(end_offset - 1))
    if id_ in replica.snapshots:
        return []
    stamped = [batch.timestamp_ms for batch in log.batches() if batch.base_offset < end_offset]
    last_ms = stamped[-1] if stamped else -1 if base is None else base.timestamp_ms
    snapshot = Snapshot(id_, tuple(records[key] for key in sorted(records)), last_ms)
    replica.snapshots[id_] = snapshot
    if rules.cleaner.late_versions == "floor":  # it stands for tombstones, and holds none
        for record in data_below(log.batches(), end_offset):
            if record.key not in records and rules.cleaner.is_tombstone(record):
                with suppress(UnreadableVersion):
                    raise_floor(replica, order_of(record, cleaner_strategy(rules)))
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


def delete_prefix(replica: Replica, to: int) -> list[Event]:
    """Moves the log start to `to`; batches below it and snapshots that end below it go.

    It moves to the log end at most. Nothing happens when the log starts there or above already.
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
        live_ends: The log end offsets of all live replicas (exclusive).
        rules: `local`: it may at once. `all_live`: once every live replica has what is below.
            `all_live_or_timeout`: also once the last batch that the first snapshot covering it
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


def delete_old_snapshots(
    replica: Replica,
    retention: Retention,
    *,
    now_ms: int,
    may_delete: Callable[[int], bool],
) -> list[Event]:
    """Deletes the oldest snapshots, with the log before the next one, beyond size or age.

    Size is that of the log and of all snapshots (`metadata.max.retention.bytes`); the age of a
    snapshot is that of the last batch it stands for (`metadata.max.retention.ms`). The newest
    snapshot always stays (KafkaMetadataLog.maybeClean). `now_ms` is the replica's own clock;
    `may_delete` says whether the log start may move to an offset.
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
    """Moves the log start to the end of the second snapshot, as long as the oldest has to go."""
    events: list[Event] = []
    for oldest, following in pairwise(sorted(replica.snapshots)):
        to, log = following.end_offset, replica.log
        if not too_old(replica.snapshots[oldest]):
            break
        if not log.log_start_offset < to <= log.high_watermark or not may_delete(to):
            break
        events += delete_prefix(replica, to)
    return events


def snapshot_request(
    follower: Replica,
    *,
    max_entries: int | None = None,
    max_bytes: int | None = None,
    correlation_id: int = 0,
) -> FetchSnapshotRequest | None:
    """The next chunk to ask for; None when no snapshot is being fetched.

    With `max_bytes` positions are in bytes, else in entries; a download keeps to one of them.
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
        leader: Replica that is asked, whether or not it leads.
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
    """The chunk at the position of the request, with the records that end in it.

    None when nothing lies there.
    """
    records = snapshot.records
    position = request.position
    in_bytes = request.max_bytes is not None
    ends = record_ends(records) if in_bytes else range(1, len(records) + 1)
    size = _file_end(ends) if in_bytes else len(records)
    if position < 0 or position > size or (position == size and size > 0):
        return None
    limit = request.max_bytes if in_bytes else request.max_entries
    end = size if limit is None else min(size, position + limit)
    held = tuple(r for r, last in zip(records, ends, strict=True) if position < last <= end)
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

    With `crash_before_install` the last one only gives the snapshot its name on disk, and the log
    stays as it was: the follower is to crash at once (FileRawSnapshotWriter.freeze comes before
    KafkaMetadataLog.truncateToLatestSnapshot). When the snapshot is missing or the epoch is new,
    what was fetched is dropped; after other errors the follower asks again
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
    download, vote, log = follower.download, follower.vote, follower.log
    assert download is not None
    emptied = LogEmptied(follower.name, *download.id, log.log_end_offset, log.high_watermark)
    begin_anew(follower, epoch=follower.epoch)
    follower.download, follower.vote = download, vote  # which is in a file of its own
    return emptied


def install(follower: Replica, snapshot: Snapshot, *, rules: Rules) -> list[Event]:
    """Replaces the log by a snapshot, atomically (KafkaMetadataLog.truncateToLatestSnapshot).

    A log that is ahead of the snapshot stays, unless `snapshot_install: whatever_arrives`: it
    reaches beyond the end, in no older epoch, or has the same end and epoch. One that ends below
    it, or there, is replaced even if its last epoch is later, as after an unclean election; Kafka
    throws there.
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
    follower.begun_offset = min(follower.begun_offset, id_.end_offset)
    follower.last_cleaning = None
    return [installed]
