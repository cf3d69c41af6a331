"""Transitions of a follower: fetch, copy, truncate where it diverges, turn to a snapshot."""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sim.protocol.events import (
    REBUILT,
    Copied,
    EpochCacheChanged,
    Event,
    FetchingFailed,
    GapLearned,
    HighWatermarkMoved,
    Pushed,
    ReplicaWiped,
)
from sim.protocol.log import Batch, LeaderEpochCache, Log
from sim.protocol.replication.cleaning import raise_floor, start_afresh
from sim.protocol.replication.messages import RECORDS, Answer, FetchRequest, FetchResponse
from sim.protocol.replication.replica import Replica, SnapshotDownload, begin_anew, truncate
from sim.protocol.replication.snapshots import drop_download
from sim.protocol.rules import Rules

FOLLOWING: Final = False
"""Marks the high watermark of a follower in `HighWatermarkMoved`."""
NOT_FROM_A_LEADER: Final = (Answer.NOT_LEADER, Answer.STALE_LEADER)
"""Answers without information on the log."""


def fetch_request(
    follower: Replica,
    max_batches: int | None = None,
    max_bytes: int | None = None,
    replica_epoch: int = 1,
    version: int | None = None,
    correlation_id: int = 0,
) -> FetchRequest:
    """The next fetch of a follower: its log end offset and its newest epoch.

    It acknowledges what is below that offset. For the arguments see `FetchRequest`.
    """
    log = follower.log
    end, entries = log.log_end_offset, log.epochs.entries
    log.acknowledged_end = end
    last_epoch = entries[-1].epoch if entries else follower.last_fetched_epoch
    return FetchRequest(
        follower=follower.name,
        epoch=follower.epoch,
        offset=end,
        last_epoch=last_epoch,
        max_batches=max_batches,
        max_bytes=max_bytes,
        high_watermark=log.high_watermark,
        replica_epoch=replica_epoch,
        version=version,
        correlation_id=correlation_id,
    )


class ReceiveResult(Struct, frozen=True, gc=False):
    """The effect of an answer to a fetch.

    Attributes:
        events: Events at the follower.
        committed: True when the follower's high watermark has moved with the copied records.
        rebuilt: True when the follower has thrown its log away, as after the loss of its disk.
        retry_later: True when the answer changed nothing, and an immediate retry would not either.
    """

    events: list[Event]
    committed: bool = False
    rebuilt: bool = False
    retry_later: bool = False


def receive_fetch(
    follower: Replica, response: FetchResponse, rules: Rules, now_ms: int
) -> ReceiveResult:
    """Handles a leader's answer; a stale one changes nothing.

    Stale is an answer from an epoch below the follower's, or to a fetch at another offset than the
    follower's present log end. Without `response_fencing` only one with records at another offset
    is: the log refuses them.
    """
    answer, replication = response.answer, rules.replication
    if answer is not RECORDS and answer in NOT_FROM_A_LEADER:
        return _ignored(follower, answer)
    if replication.fencing and (
        response.epoch != follower.epoch or follower.leadership is not None
    ):
        if response.epoch < follower.epoch and replication.response_fencing:
            return _ignored(follower, answer)
        follower.sees(response.epoch)
    log = follower.log
    elsewhere = response.fetch_offset != log.log_end_offset
    if answer is RECORDS:
        if elsewhere or follower.fetching_failed:
            return _ignored(follower, answer)
        if response.batches and response.batches[0].base_offset < log.log_end_offset:
            follower.fetching_failed = True  # it begins in the middle of a batch: logs diverged
            first, end = response.batches[0].base_offset, log.log_end_offset
            return ReceiveResult([FetchingFailed(follower.name, response.leader, first, end)])
        high_watermark = log.high_watermark
        events = _copy(follower, response, rules, now_ms)
        return ReceiveResult(events, committed=log.high_watermark != high_watermark)
    if elsewhere and replication.response_fencing:
        return _ignored(follower, answer)
    if answer is Answer.REBUILD:
        begin_anew(follower, epoch=follower.epoch)  # unlike with a new disk it keeps the epoch
        return ReceiveResult([ReplicaWiped(follower.name, REBUILT)], rebuilt=True)
    if answer is Answer.DIVERGING and response.diverging is not None:
        before, theirs = log.log_end_offset, response.diverging
        own = log.epochs.end_offset_for(theirs.epoch, before)
        target = min(own.end_offset, theirs.end_offset, before)
        events = truncate(follower, target)
        return ReceiveResult(events, retry_later=target == before and follower.download is None)
    if answer is Answer.OUT_OF_RANGE:
        events = _back_in_range(follower, response)
    else:
        events = _start_download(follower, response, rules=rules)
    return ReceiveResult(events, retry_later=not events and follower.download is None)


def _back_in_range(follower: Replica, response: FetchResponse) -> list[Event]:
    """Truncates to the leader's log end, or starts afresh at its log start; else keeps everything.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate, formerly
    ReplicaFetcherThread.handleOffsetOutOfRange, which knows that the logs may differ then.
    """
    end = follower.log.log_end_offset
    if response.log_end_offset < end:
        return truncate(follower, response.log_end_offset)
    if response.log_start_offset > end:
        return start_afresh(follower, response.log_start_offset)
    return []


def _ignored(follower: Replica, answer: Answer) -> ReceiveResult:
    """Ignores a stale answer; after one with records the next fetch may go out at once."""
    later = answer is not RECORDS and follower.download is None
    return ReceiveResult([], retry_later=later)


def _copy(follower: Replica, response: FetchResponse, rules: Rules, now_ms: int) -> list[Event]:
    """Appends the batches verbatim, then follows the leader's high watermark (FollowerState)."""
    events: list[Event] = []
    log, batches, replication = follower.log, response.batches, rules.replication
    before = None
    if response.epochs or rules.storage.epoch_recovery == "as_stored":
        before = LeaderEpochCache(log.epochs.entries)
    if batches:
        for batch in batches:
            if response.epochs:
                _learn_epochs(log, response, batch.base_offset)
            log.append(batch, now_ms)
        if len(batches) > 1:
            log.note_call(batches[0].base_offset)
        if rules.storage.flush == "on_append":
            log.flush()
        start, end = response.fetch_offset, log.log_end_offset
        events.append(
            Copied(
                replica=follower.name,
                leader=response.leader,
                fetch_offset=start,
                batches=batches,
                log_end_offset=end,
            )
        )
    elif response.gap_end > log.log_end_offset:
        events.append(_learn_gap(follower, response))
    if response.epochs:
        _learn_epochs(log, response, log.log_end_offset)
    if before is not None:
        events += _changed_epochs(follower, before, response)
    if replication.lag_guard == "reset_propagated":
        follower.removed_tombstone_end = max(
            follower.removed_tombstone_end, response.removed_tombstone_end
        )
    if response.version_floor is not None:
        raise_floor(follower, response.version_floor)
    known, high_watermark = log.high_watermark, response.high_watermark
    if log.log_end_offset < high_watermark:
        high_watermark = log.log_end_offset
    if high_watermark < log.log_start_offset:
        high_watermark = log.log_start_offset
    if high_watermark > known or (
        high_watermark < known and replication.high_watermark_update == "assign"
    ):
        log.high_watermark = high_watermark
        events.append(HighWatermarkMoved(follower.name, high_watermark, FOLLOWING))
    return events


def _learn_gap(follower: Replica, response: FetchResponse) -> GapLearned:
    """Moves the log end over a gap that the leader announced (`fix: gap_fetch`)."""
    log = follower.log
    start = log.log_end_offset
    log.advance_to(response.gap_end)
    for entry in response.gap_epochs:
        log.epochs.assign(entry.epoch, entry.start_offset)
    return GapLearned(follower.name, response.leader, start, response.gap_end, response.gap_epochs)


def _learn_epochs(log: Log, response: FetchResponse, up_to: int) -> None:
    """Takes over the leader's epochs that start at or below `up_to`, with or without batches."""
    for entry in response.epochs:
        if entry.epoch > log.epochs.latest and entry.start_offset <= up_to:
            log.epochs.assign(entry.epoch, entry.start_offset)


def _changed_epochs(
    follower: Replica, before: LeaderEpochCache, response: FetchResponse
) -> list[Event]:
    """Reports the epoch cache, unless batches and gap alone turn the one `before` into it.

    Epochs of `before` that start in the copied range had no record yet, so they do not count.
    """
    if response.batches:
        before.truncate_from(response.fetch_offset)
    for batch in response.batches:
        before.assign(batch.epoch, batch.base_offset)
    for entry in response.gap_epochs:
        before.assign(entry.epoch, entry.start_offset)
    entries = follower.log.epochs.entries
    if entries == before.entries:
        return []
    return [EpochCacheChanged(follower.name, tuple(entries))]


def _start_download(follower: Replica, response: FetchResponse, *, rules: Rules) -> list[Event]:
    """Turns to FetchSnapshot; progress with the same snapshot in the same epoch is kept.

    A snapshot that the follower holds is fetched again, unless its log ends with it or the rule
    `held_snapshot` says that it is ignored.
    """
    id_, download = response.snapshot, follower.download
    if id_ is None:
        return []
    log_end_offset = follower.log.log_end_offset
    if id_ in follower.snapshots and (
        id_.end_offset == log_end_offset or rules.snapshots.held_snapshot == "ignored"
    ):
        return []
    if download is not None:
        if download.id == id_ and download.leader_epoch == response.epoch:
            return []
        events = drop_download(follower, reason="another snapshot was offered")
    else:
        events = []
    follower.download = SnapshotDownload(id_, response.leader, response.epoch)
    return events


def push(follower: Replica, leader: str, batch: Batch, *, now_ms: int) -> list[Event]:
    """Appends a copy of a leader's batch at the follower's own log end.

    The naive design of KIP-280's drawing: followers number records themselves. It moves neither
    high watermark nor recorded position.
    """
    offset = follower.log.log_end_offset
    shift = offset - batch.base_offset
    moved = replace(
        batch,
        base_offset=offset,
        last_offset=batch.last_offset + shift,
        records=tuple(replace(r, offset=r.offset + shift) for r in batch.records),
    )
    follower.log.append(moved, now_ms=now_ms)
    return [Pushed(follower.name, leader, moved)]
