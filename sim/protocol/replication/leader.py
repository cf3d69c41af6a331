"""Transitions of a leader: append, answer fetches, advance the high watermark, keep the ISR."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from sim.protocol.events import (
    Appended,
    Event,
    HighWatermarkMoved,
    IsrChanged,
    PositionRecorded,
    SnapshotOffered,
)
from sim.protocol.log import Batch
from sim.protocol.replication.cleaning import why_refused
from sim.protocol.replication.messages import RECORDS, Answer, FetchRequest, FetchResponse
from sim.protocol.replication.replica import Leadership, Replica
from sim.protocol.rules import Rules
from sim.protocol.rules.storage import Flush

LEADING: Final = True
"""Marks the high watermark of a leader in `HighWatermarkMoved`."""
_FLUSHES_AT_ONCE: Final[tuple[Flush, ...]] = ("on_append", "before_fetch")
"""With these a leader flushes what it appended at once."""


class AppendResult(Struct, frozen=True, gc=False):
    """The effect of an append at a leader.

    Attributes:
        events: Events of the append or the refusal.
        accepted: False when it refused the batch, for a late or unreadable version.
    """

    events: list[Event]
    accepted: bool = True


class FetchResult(Struct, frozen=True, gc=False):
    """A leader's answer to a follower, and the events of it."""

    response: FetchResponse
    events: list[Event]


def append(leader: Replica, batch: Batch, rules: Rules, now_ms: int) -> AppendResult:
    """Appends a batch at the log end, and commits what that allows.

    With `late_versions: floor` a batch with a record below the floor is refused whole, and so is
    one with an unreadable version.

    Raises:
        ValueError: The batch starts below the log end offset.
    """
    if leader.version_floor is not None:
        refused = why_refused(leader, batch, rules=rules)
        if refused is not None:
            return AppendResult([refused], accepted=False)
    log = leader.log
    log.append(batch, now_ms)
    if rules.storage.flush in _FLUSHES_AT_ONCE:
        log.flush()
    events: list[Event] = [Appended(leader.name, batch)]
    _advance(leader, rules, events)
    return AppendResult(events)


def advance_high_watermark(leader: Replica, *, rules: Rules) -> list[Event]:
    """Raises the leader's high watermark as far as the commit rule allows; it never falls."""
    events: list[Event] = []
    _advance(leader, rules, events)
    return events


def _advance(leader: Replica, rules: Rules, events: list[Event]) -> None:
    """Moves the high watermark if the commit rule allows, and adds that to `events`."""
    leadership = leader.leadership
    if leadership is None:
        return
    log = leader.log
    high_watermark = log.high_watermark
    if rules.replication.commit == "isr":
        # Smallest position in sync or awaited; an unknown one blocks (maybeIncrementLeaderHW).
        own, positions, candidate = leader.name, leadership.positions, log.log_end_offset
        members = leadership.isr
        if leadership.awaited:
            members = (*members, *leadership.awaited)
        for name in members:
            if name != own:
                position = positions.get(name, -1)
                if position < candidate:
                    if position <= high_watermark:
                        return
                    candidate = position
        if leadership.in_sync < rules.topic.min_isr:
            return
    else:
        candidate = _majority_candidate(leader, leadership, rules.replication.epoch_commit_rule)
    if candidate > high_watermark:
        log.high_watermark = candidate
        events.append(HighWatermarkMoved(leader.name, candidate, LEADING))


def _majority_candidate(leader: Replica, leadership: Leadership, rule: str) -> int:
    """Position that a majority has reached (LeaderState.maybeUpdateHighWatermark); -1 = too low."""
    end = leader.log.log_end_offset
    candidate = min(_majority_end(leader, leadership, leadership.voters), end)
    start = leadership.epoch_start_offset
    if rule == "strict" and candidate <= start:
        return -1
    if rule == "off_by_one" and candidate < start:
        return -1
    return candidate


def _majority_end(leader: Replica, leadership: Leadership, voters: Collection[str]) -> int:
    ends = [
        leader.log.log_end_offset if name == leader.name else leadership.positions.get(name, 0)
        for name in voters
    ]
    ends.sort(reverse=True)
    return ends[len(ends) // 2]


def can_do_without(leader: Replica, voter: str, committed: int) -> bool:
    """Decides whether a majority of the other voters has everything below `committed`.

    So the smaller set loses nothing that is committed. In KIP-853 a majority of the smaller set
    commits that set for the same purpose. A leader does not leave.
    """
    leadership = leader.leadership
    if leadership is None or voter == leader.name:
        return False
    rest = [name for name in leadership.voters if name != voter]
    return _majority_end(leader, leadership, rest) >= committed


def answer_fetch(
    leader: Replica,
    request: FetchRequest,
    rules: Rules,
    *,
    snapshots: bool = True,
    has_waited: bool = False,
) -> FetchResult:
    """Answers a follower: fences, offers a snapshot, finds divergence, else records and reads.

    Without `snapshots`, what lies below the log start was deleted for good (`compact,delete`). A
    broker has recorded the position of a fetch that `has_waited` when it came, a voter records it
    again (Partition.fetchRecords, KafkaRaftClient.tryCompleteFetchRequest).
    """
    refused = refuse_fetch(leader, request, rules, snapshots=snapshots)
    if refused is not None:
        return refused
    batches = leader.log.read(request.offset)
    events: list[Event] = []
    if not has_waited or rules.replication.commit == "majority":
        events = acknowledge_fetch(leader, request, rules, has_records=bool(batches))
    return FetchResult(answer_with(leader, request, batches, rules), events)


def refuse_fetch(
    leader: Replica, request: FetchRequest, rules: Rules, *, snapshots: bool
) -> FetchResult | None:
    """The answer to a follower that gets no records; None = it may read.

    An offset above the log end is out of range (KAFKA-2143), unless followers keep their tails.
    For `snapshots` see `answer_fetch`.
    """
    leadership, log = leader.leadership, leader.log
    if leadership is None:
        return _nothing(Answer.NOT_LEADER, leader, leader.epoch, request)
    epoch, offset, replication = leadership.epoch, request.offset, rules.replication
    if request.epoch > epoch and replication.fencing:
        return _nothing(Answer.STALE_LEADER, leader, epoch, request)
    if log.log_start_offset > 0 or leader.snapshots:
        if not snapshots:
            if offset < log.log_start_offset:
                return _out_of_range(leader, epoch, request)
        elif _needs_snapshot(leader, request, rules):
            return _offer_snapshot(leader, request, epoch)
    last_epoch, epochs = request.last_epoch, log.epochs.entries
    if (
        last_epoch >= 0
        and (offset > log.log_end_offset or not epochs or last_epoch != epochs[-1].epoch)
        and replication.truncation == "epoch_diverging"
    ):
        if replication.unknown_epoch == "undefined" and last_epoch > log.epochs.latest:
            return _out_of_range(leader, epoch, request)
        found = log.epochs.end_offset_for(last_epoch, log.log_end_offset)
        if found.epoch < last_epoch or found.end_offset < offset:
            return _nothing(Answer.DIVERGING, leader, epoch, request, diverging=found)
    if offset > log.log_end_offset and replication.truncation != "none":
        return _out_of_range(leader, epoch, request)
    if offset < leader.removed_tombstone_end and replication.lag_guard != "none":
        beginning = 0 if snapshots else log.log_start_offset
        return _rebuild(leader, leadership, request, beginning, rules)
    return None


def _rebuild(
    leader: Replica, leadership: Leadership, request: FetchRequest, beginning: int, rules: Rules
) -> FetchResult | None:
    """The answer to a follower below a removed tombstone; None = it may read.

    One that begins at 0, or at the log start of a topic with retention, copies a log without those
    tombstones, however many fetches it takes; it may have missed only what is removed after that.
    So does one at the end of the snapshot that a fetch at 0 is answered with: rebuilt, it would be
    there again, and it would have what tombstones above the snapshot deleted all the same.
    """
    removed, begun = leader.removed_tombstone_end, leadership.begun_below
    if request.offset <= beginning or _follows_the_snapshot(leader, request, beginning, rules):
        begun[request.follower] = removed
    if begun.get(request.follower, 0) >= removed:
        return None
    return _nothing(Answer.REBUILD, leader, leadership.epoch, request)


def _follows_the_snapshot(
    leader: Replica, request: FetchRequest, beginning: int, rules: Rules
) -> bool:
    """Decides whether a fetch is at the end of the snapshot with which a log begins."""
    latest = leader.latest_snapshot()
    if beginning > 0 or latest is None or request.offset != latest.id.end_offset:
        return False
    return _needs_snapshot(leader, replace(request, offset=0, last_epoch=-1), rules)


def acknowledge_fetch(
    leader: Replica, request: FetchRequest, rules: Rules, *, has_records: bool
) -> list[Event]:
    """Records the position that a fetch acknowledges.

    `has_records` is true when the answer has records. With `follower_position: read_end` a follower
    without new ones has everything, unless the leader has to announce a gap first.
    """
    believed = request.offset
    if (
        not has_records
        and believed != leader.log.log_end_offset
        and rules.replication.follower_position == "read_end"
        and not rules.cleaner.fix_applied.announces_gaps
    ):
        believed = leader.log.log_end_offset
    return record_position(leader, request.follower, believed, rules)


def answer_with(
    leader: Replica, request: FetchRequest, batches: Sequence[Batch], rules: Rules
) -> FetchResponse:
    """The answer with `batches` to a follower that may read."""
    log, leadership = leader.log, leader.leadership
    assert leadership is not None, "a replica that does not lead refuses"
    response = FetchResponse(
        answer=RECORDS,
        leader=leader.name,
        epoch=leadership.epoch,
        fetch_offset=request.offset,
        batches=tuple(_at_most(batches, request)),
        high_watermark=log.high_watermark,
        removed_tombstone_end=leader.removed_tombstone_end,
        log_start_offset=log.log_start_offset,
        version_floor=leader.version_floor,
        epochs=tuple(log.epochs.entries) if rules.replication.epoch_cache == "copied" else (),
        correlation_id=request.correlation_id,
    )
    announces = not batches and rules.cleaner.fix_applied.announces_gaps
    if announces and request.offset < log.log_end_offset:  # nothing is left up to the log end
        later = [entry for entry in log.epochs.entries if entry.start_offset >= request.offset]
        return replace(response, gap_end=log.log_end_offset, gap_epochs=tuple(later))
    return response


def _at_most(batches: Sequence[Batch], request: FetchRequest) -> Sequence[Batch]:
    """Cuts batches to the limits of a request; the first one may have any size (KIP-74)."""
    if request.max_batches is not None:
        batches = batches[: request.max_batches]
    if request.max_bytes is None:
        return batches
    size = 0
    for index, batch in enumerate(batches):
        size += batch.size_bytes
        if size > request.max_bytes:
            return batches[: max(1, index)]
    return batches


def _nothing(
    answer: Answer, leader: Replica, epoch: int, request: FetchRequest, **more: Any
) -> FetchResult:
    """An answer without records, with `more` of its fields."""
    response = FetchResponse(
        answer,
        leader.name,
        epoch,
        request.offset,
        log_start_offset=leader.log.log_start_offset,
        correlation_id=request.correlation_id,
        **more,
    )
    return FetchResult(response, [])


def _out_of_range(leader: Replica, epoch: int, request: FetchRequest) -> FetchResult:
    """OFFSET_OUT_OF_RANGE, with what a broker asks for next: where the log starts, and ends."""
    end = leader.log.log_end_offset
    return _nothing(Answer.OUT_OF_RANGE, leader, epoch, request, log_end_offset=end)


def _needs_snapshot(leader: Replica, request: FetchRequest, rules: Rules) -> bool:
    """Decides whether a follower is answered with a snapshot instead of records.

    Every fetch below the log start is. With `snapshot_offer: by_epoch` so is, while there is a
    snapshot, a fetch at 0 (KAFKA-15078), one at the log start in another epoch than that of the
    snapshot there, and one in an epoch older than the first snapshot's
    (ReplicatedLog.validateOffsetAndEpoch). A bootstrap snapshot 0-0
    is the first one while the log starts at 0; it is never sent (KafkaRaftClient, KIP-853).
    """
    offset, start = request.offset, leader.log.log_start_offset
    if offset < start:
        return True
    if rules.snapshots.snapshot_offer == "below_start" or not leader.snapshots:
        return False
    bootstrap = rules.snapshots.bootstrap_snapshot and leader.disk == 1 and start == 0
    earliest = 0 if bootstrap else min(leader.snapshots).epoch
    other_epoch = start > 0 and offset == start and request.last_epoch != earliest
    return offset == 0 or other_epoch or request.last_epoch < earliest


def _offer_snapshot(leader: Replica, request: FetchRequest, epoch: int) -> FetchResult:
    snapshot = leader.latest_snapshot()
    id_ = None if snapshot is None else snapshot.id
    result = _nothing(Answer.SNAPSHOT, leader, epoch, request, snapshot=id_)
    named = (-1, -1) if id_ is None else id_
    result.events.append(SnapshotOffered(leader.name, request.follower, request.offset, *named))
    return result


def record_position(leader: Replica, follower: str, position: int, rules: Rules) -> list[Event]:
    """Records that `follower` has everything below `position` (updateFollowerFetchState)."""
    leadership = leader.leadership
    if leadership is None or leadership.positions.get(follower) == position:
        return []
    leadership.positions[follower] = position
    events: list[Event] = [PositionRecorded(leader.name, follower, position)]
    _advance(leader, rules, events)
    return events


def set_isr(leader: Replica, isr: tuple[str, ...], *, rules: Rules) -> list[Event]:
    """Sets the in-sync set without a look at positions, as a controller does."""
    if leader.leadership is None:
        return []
    leader.leadership.isr = isr
    events: list[Event] = [IsrChanged(leader.name, isr, None)]
    _advance(leader, rules, events)
    return events


def may_join_isr(leader: Replica, follower: str, *, rules: Rules) -> bool:
    """Decides whether the position of `follower` lets it join (Partition.isFollowerInSync)."""
    leadership = leader.leadership
    position = None if leadership is None else leadership.positions.get(follower)
    if leadership is None or position is None or position < leader.log.high_watermark:
        return False
    return rules.replication.isr_join == "hw_only" or position >= leadership.epoch_start_offset


def expand_isr(leader: Replica, follower: str, *, rules: Rules) -> list[Event]:
    """Admits `follower` if its position allows; no event if not, or for a member."""
    leadership = leader.leadership
    if leadership is None or follower in leadership.isr:
        return []
    if not may_join_isr(leader, follower, rules=rules):
        return []
    leadership.isr = (*leadership.isr, follower)
    events: list[Event] = [IsrChanged(leader.name, leadership.isr, follower)]
    _advance(leader, rules, events)
    return events


def is_of_an_older_session(
    request: FetchRequest, *, newest: int, replica_epoch: int, rules: Rules
) -> bool:
    """Decides whether a late fetch belongs to a fetch session that its follower has replaced.

    Most requests show by themselves that they are out of date: a produce request by its sequence
    number and epoch, a marker by its epoch, a vote by its epoch, OffsetsForLeaderEpoch and
    FetchSnapshot by the leader epoch they were sent in. A fetch shows it by `replica_epoch` and
    `correlation_id`, which matter only here: fetches in order are never older than what the leader
    knows of its follower.

    In Kafka the session epoch of a late fetch is not the next one: the answer is
    INVALID_FETCH_SESSION_EPOCH, or an unknown session (KIP-227, FetchManager.newContext). `newest`
    is the highest number of a fetch that the leader has from the follower with broker epoch
    `replica_epoch`. Voters of a quorum fetch without sessions: their positions count however late
    (LeaderState.updateReplicaState).
    """
    return (
        rules.replication.commit == "isr"
        and request.replica_epoch == replica_epoch
        and request.correlation_id <= newest
    )
