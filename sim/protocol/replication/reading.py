"""Reads of consumers: the answer of a replica, and the position of the client after it.

The replica's half is UnifiedLog.read with its isolation levels; the client's half is
CompletedFetch.nextFetchedRecord with its set of aborted producers, and the check of a position
against a new leader (KIP-320, SubscriptionState.maybeCompleteValidation).

A reader that stops at the end recognises it by one of three criteria (`WAYS`). Each is right on a
log from which nothing was ever removed. A cleaned log may hold no record, and no batch, at its last
offset, and fewer records than offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

from sim.protocol.compaction.tombstones import (
    HORIZON_HEADER,
    TOMBSTONE_MARKS,
    without_record_horizon,
)
from sim.protocol.compaction.transactions import aborted_in
from sim.protocol.events import Converted, Event, ReadingEnded, Understood
from sim.protocol.events.cluster import ResetCause
from sim.protocol.log import AbortedTransaction, Batch, Control, Log, Record
from sim.protocol.log.formats import MAGIC_FLAG, Versions, serve, speaks
from sim.protocol.replication.messages import (
    NO_ERROR,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ErrorCode,
)
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules

ISOLATIONS = ("read_uncommitted", "read_committed")
"""Kafka's `isolation.level`, its default first."""

WITHOUT_FLAG: Final[tuple[Literal["null_value", "header"], ...]] = ("null_value", "header")
"""Tombstone marks without an attribute, which need no conversion."""


@dataclass(slots=True)
class Position:
    """The position of a consumer.

    Attributes:
        offset: The offset it reads next (inclusive).
        epoch: Leader epoch of the last batch it passed; -1 = none yet.
        source: Name and leader epoch of the replica that it read last, where its position needs no
            check; None before the first read.
    """

    offset: int = 0
    epoch: int = -1
    source: tuple[str, int] | None = None


class ConsumerFetchResult(Struct, frozen=True, gc=False):
    """The answer of a replica to a consumer, and the events of it."""

    response: ConsumerFetchResponse
    events: tuple[Event, ...]


class Fetched(Struct, frozen=True, gc=False):
    """The effect of one fetch on a consumer.

    Attributes:
        start: Position of the read (inclusive): that of the consumer, unless it was reset.
        end: Position after the read (exclusive): behind the last batch, which may have no records.
        batches: Batches for the application, without control batches and aborted data.
        reset: Reason why the replica read at another position; None = it did not.
    """

    start: int
    end: int
    batches: tuple[Batch, ...]
    reset: ResetCause | None = None


def as_read(records: Sequence[Record], *, rules: Rules) -> tuple[Record, ...]:
    """The records as a reader sees them, without the cleaner's header if that is hidden.

    The cleaner's present rule does not matter: it may have changed since the header was written.
    """
    if rules.reading.horizon_header != "visible":
        for record in records:
            for name, _ in record.headers:
                if name == HORIZON_HEADER:
                    return tuple([without_record_horizon(each) for each in records])
    return tuple(records)


def readable_end(log: Log, *, committed: bool) -> int:
    """Up to where a consumer may read (exclusive): the high watermark or the last stable offset."""
    end = log.high_watermark
    unstable = log.producers.first_unstable_offset(end) if committed else None
    return end if unstable is None else min(end, unstable)


def aborted_transactions(
    log: Log, start: int, end: int, *, rules: Rules
) -> list[AbortedTransaction]:
    """The aborted transactions a replica lists for a read of [start, end).

    They touch the range; with `aborted_list: history` their markers may be gone from the log.
    """
    if rules.reading.aborted_list == "index":
        return aborted_in(log.segments, start, end)
    return [t for t in log.aborted_ever if t.last_offset >= start and t.first_offset < end]


def undo_aborted(batches: Iterable[Batch], aborted: Iterable[AbortedTransaction]) -> list[Batch]:
    """The data batches that a client hands on, in order; `aborted` is empty with read_uncommitted.

    A producer counts as aborted from the first offset of a listed transaction on, up to an ABORT
    marker. A marker that the cleaner has emptied does not end it (containsAbortMarker).
    """
    waiting = sorted(aborted, key=lambda entry: entry.first_offset, reverse=True)
    active: set[int] = set()
    handed_on: list[Batch] = []
    for batch in batches:
        producer_id = batch.producer_id
        if producer_id >= 0:
            while waiting and waiting[-1].first_offset <= batch.last_offset:
                active.add(waiting.pop().producer_id)
            if batch.control is Control.ABORT and batch.records:
                active.discard(producer_id)
            elif batch.transactional and producer_id in active:
                continue
        if batch.control is None:
            handed_on.append(batch)
    return handed_on


def handed_on(
    replica: Replica,
    batches: Sequence[Batch],
    start: int,
    end: int,
    *,
    committed: bool,
    rules: Rules,
) -> list[Batch]:
    """The data batches of a read of [start, end) that reach the application."""
    aborted = aborted_transactions(replica.log, start, end, rules=rules) if committed else ()
    return undo_aborted(batches, aborted)


def consumer_request(
    position: Position,
    client_id: str,
    *,
    read_committed: bool,
    rules: Rules,
    max_batches: int | None = None,
    version: int | None = None,
    leader_only: bool = True,
    max_wait_ms: int = 0,
    correlation_id: int = 0,
) -> ConsumerFetchRequest:
    """The next fetch of a consumer; for the arguments see `ConsumerFetchRequest`.

    With `consumer_validation: epoch` it has its position checked at a replica, or in an epoch, that
    is new to it.
    """
    checks = rules.reading.consumer_validation == "epoch"
    return ConsumerFetchRequest(
        client_id,
        position.offset,
        read_committed=read_committed,
        max_batches=max_batches,
        max_wait_ms=max_wait_ms,
        version=version,
        leader_only=leader_only,
        last_epoch=position.epoch if checks and position.source is not None else -1,
        checked_with=position.source,
        correlation_id=correlation_id,
    )


def answer_consumer_fetch(
    replica: Replica,
    request: ConsumerFetchRequest,
    *,
    rules: Rules,
    versions: Versions | None = None,
    now_ms: int = 0,
) -> ConsumerFetchResult:
    """Reads for a consumer what its isolation level allows, from its position on.

    A position below the log start moves up to it (`auto.offset.reset: earliest`), one above the log
    end moves back to it, and one in a new leader's log moves back to where the consumer's last
    epoch ended there.

    Args:
        replica: Replica that is asked.
        request: Request of the consumer.
        rules: Rules of the list of aborted transactions, and of the mark of deletes.
        versions: Version settings of the broker; None = the scenario does not declare any.
        now_ms: Simulated time of the read; 0 = the scenario is not timed.
    """
    log, number = replica.log, request.correlation_id
    error = _refusal(replica, request, versions)
    if error is not None:
        refused = ConsumerFetchResponse(error, replica.name, replica.epoch, correlation_id=number)
        return ConsumerFetchResult(refused, ())
    wanted, diverging_epoch = _checked_offset(replica, request)
    start = min(max(wanted, log.log_start_offset), log.log_end_offset)
    readable = readable_end(log, committed=request.read_committed)
    batches: Sequence[Batch] = ()
    if start < readable:
        batches = log.read_below(start, readable, max_batches=request.max_batches)
    end = batches[-1].last_offset + 1 if batches else start
    aborted: Sequence[AbortedTransaction] = ()
    if request.read_committed and any(batch.transactional for batch in batches):
        aborted = aborted_transactions(log, start, end, rules=rules)
    served, converted = _served(replica, request, batches, rules)
    response = ConsumerFetchResponse(
        NO_ERROR,
        replica.name,
        replica.epoch,
        start,
        diverging_epoch,
        served,
        end,
        tuple(aborted),
        readable,
        log.log_start_offset,
        number,
        now_ms if batches else 0,
    )
    return ConsumerFetchResult(response, converted)


def _served(
    replica: Replica, request: ConsumerFetchRequest, batches: Sequence[Batch], rules: Rules
) -> tuple[tuple[Batch, ...], tuple[Event, ...]]:
    if request.version is None or not batches:
        return tuple(batches), ()
    return as_served(
        replica.name,
        batches,
        understood=1 if rules.cleaner.tombstone_mark in WITHOUT_FLAG else MAGIC_FLAG,
        reader=request.client_id,
        version=request.version,
    )


def as_served(
    replica: str, batches: Sequence[Batch], *, understood: int, reader: str, version: int
) -> tuple[tuple[Batch, ...], tuple[Event, ...]]:
    """Batches as a consumer or a follower gets them that fetches in a version.

    Args:
        replica: Name of the replica that serves them.
        batches: Stored batches in offset order.
        understood: Highest magic that the replica can read, and so convert.
        reader: Name of the consumer or follower.
        version: Version of its request (KIP-87).

    Returns:
        The batches, and the event of their conversion; no event without one.
    """
    served = serve(batches, understood=understood, client=version)
    if not served.converted_bytes:
        return served.batches, ()
    return served.batches, (Converted(replica, reader, served.converted_bytes, served.values_lost),)


def _refusal(
    replica: Replica, request: ConsumerFetchRequest, versions: Versions | None
) -> ErrorCode | None:
    if request.leader_only and replica.leadership is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return None if speaks(versions, request.version) else ErrorCode.UNSUPPORTED_VERSION


def _checked_offset(replica: Replica, request: ConsumerFetchRequest) -> tuple[int, int]:
    """The offset to read at, and the epoch that ends there; -1 if the position did not move back.

    Source: KIP-320, SubscriptionState.maybeCompleteValidation.
    """
    if request.last_epoch >= 0 and request.checked_with != (replica.name, replica.epoch):
        log = replica.log
        found = log.epochs.end_offset_for(request.last_epoch, log.log_end_offset)
        if found.end_offset < request.offset:
            return found.end_offset, found.epoch
    return request.offset, -1


def check_position(position: Position, replica: Replica, *, rules: Rules) -> ResetCause | None:
    """Checks a position at a replica that a consumer is about to read, without a fetch.

    Returns the reason why it moved back; None = it did not.
    """
    request = consumer_request(position, "", read_committed=False, rules=rules)
    offset, epoch = _checked_offset(replica, request)
    position.source = (replica.name, replica.epoch)
    if epoch < 0:
        return None
    position.offset, position.epoch = offset, epoch
    return "log_truncated"


def receive_consumer_fetch(position: Position, response: ConsumerFetchResponse) -> Fetched:
    """Moves the position behind an answer, and hands on the batches for the application.

    Without batches the position is where the replica began to read; an error does not move it.
    """
    start, batches = response.start, response.batches
    if response.error is not NO_ERROR:
        return Fetched(start=position.offset, end=position.offset, batches=(), reset=None)
    reset = _reset_by(position.offset, response)
    position.source = (response.replica, response.epoch)
    position.offset = start
    if response.diverging_epoch >= 0:
        position.epoch = response.diverging_epoch
    if not batches:
        return Fetched(start=start, end=start, batches=(), reset=reset)
    position.offset, position.epoch = response.end, batches[-1].epoch
    given = tuple(undo_aborted(batches, response.aborted))
    return Fetched(start=start, end=response.end, batches=given, reset=reset)


def understood(
    consumer: str, replica: str, given: Sequence[Record], *, by_flag: bool, rules: Rules
) -> Understood:
    """The event of the keyed records from `replica` that a consumer takes for data, or for deletes.

    A client that goes by the flag recognises a delete by it in magic 2, and by the null value in
    older formats; where the mark is a header, it asks for the header. Other clients go by the null
    value.
    """
    in_header = rules.cleaner.tombstone_mark == "header"
    mark = ("header" if in_header else "magic") if by_flag else "null_value"
    is_delete = TOMBSTONE_MARKS[mark]
    keyed = [record for record in given if record.key is not None]
    return Understood(
        replica,
        consumer,
        tuple([record for record in keyed if not is_delete(record)]),
        tuple([record for record in keyed if is_delete(record)]),
    )


def _reset_by(offset: int, response: ConsumerFetchResponse) -> ResetCause | None:
    """The reason why an answer begins at another offset than the consumer's; None = it does not."""
    if response.start == offset:
        return None
    if response.start > offset:
        return "below_log_start"
    return "log_truncated" if response.diverging_epoch >= 0 else "above_log_end"


def fetch(
    position: Position,
    replica: Replica,
    *,
    committed: bool,
    rules: Rules,
    max_batches: int | None = None,
) -> Fetched:
    """A fetch of any replica, leader or not, and its answer at once; it moves the position.

    Args:
        position: Position of the consumer.
        replica: Replica that it reads.
        committed: True with `isolation.level: read_committed`.
        rules: Rules of the list of aborted transactions, and of the check at a new leader.
        max_batches: Most batches to take; None = all.
    """
    request = consumer_request(
        position,
        "",
        read_committed=committed,
        rules=rules,
        max_batches=max_batches,
        leader_only=False,
    )
    answer = answer_consumer_fetch(replica, request, rules=rules)
    return receive_consumer_fetch(position, answer.response)


WAYS = ("position", "last_offset", "count")
"""Criteria of the end for a reader, which asks for the end offset first: its position or the offset
after its last record has come there, or it has as many records as there are offsets up to there."""


@dataclass(slots=True)
class ReadingGoal:
    """The progress of a reader that stops at the end.

    Attributes:
        until: One of `WAYS`.
        start: First offset that it could read when it began (inclusive).
        end: Up to where it could read when it began (exclusive), see `readable_end`.
        last_offset: Offset of the last record it was given; -1 = none.
        count: Records it was given.
    """

    until: str
    start: int
    end: int
    last_offset: int = -1
    count: int = 0

    def note(self, records: Sequence[Record]) -> None:
        """Counts the records of a fetch."""
        if records:
            self.last_offset = records[-1].offset
            self.count += len(records)

    def reached(self, position: int) -> bool:
        """Decides whether the reader stops at `position`; from the end it stops at once."""
        if self.start >= self.end:
            return True
        if self.until == "position":
            return position >= self.end
        if self.until == "last_offset":
            return self.last_offset + 1 >= self.end
        return self.count >= self.end - self.start

    def ended(self, replica: str, consumer: str, position: int) -> ReadingEnded:
        """The event of a reader that stops, or for which no more records come."""
        return ReadingEnded(
            replica,
            consumer,
            self.until,
            self.start,
            self.end,
            position,
            self.last_offset,
            self.count,
        )
