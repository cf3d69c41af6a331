"""Consumers: what a replica gives a reader, what the client makes of it, where it goes on.

The replica's half is UnifiedLog.read with its isolation levels; the client's half is
CompletedFetch.nextFetchedRecord with its set of aborted producers, and the check of a position
against a new leader (KIP-320, SubscriptionState.maybeCompleteValidation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sim.compaction.tombstones import without_record_horizon
from sim.compaction.transactions import aborted_in
from sim.log import AbortedTransaction, Batch, Control, Log, Record
from sim.replication.replica import Replica
from sim.rules.rules import Rules

ISOLATIONS = ("read_uncommitted", "read_committed")
"""Kafka's `isolation.level`, its default first."""


@dataclass(slots=True)
class Position:
    """Where a consumer goes on.

    Attributes:
        offset: The offset it reads next (inclusive).
        epoch: Leader epoch of the last batch it passed; -1 = none yet.
        source: Name and epoch of the replica it has checked its position with.
    """

    offset: int = 0
    epoch: int = -1
    source: tuple[str, int] | None = None


class Fetched(NamedTuple):
    """What one fetch brought.

    Attributes:
        start: The position it was fetched at.
        end: The position after it: behind the last batch that came, whatever is left of it.
        batches: Those the application is given; control batches and aborted data are passed over.
    """

    start: int
    end: int
    batches: tuple[Batch, ...]


def as_read(records: Sequence[Record], *, rules: Rules) -> tuple[Record, ...]:
    """The records as a reader sees them: the cleaner's own header is taken off, if it is hidden."""
    if (
        rules.cleaner.tombstone_removal != "record_horizon"
        or rules.reading.horizon_header == "visible"
    ):
        return tuple(records)
    return tuple(without_record_horizon(record) for record in records)


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
    """The data batches that a read_committed client hands on, in order.

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
    log = replica.log
    if committed and any(batch.transactional for batch in batches):
        return undo_aborted(batches, aborted_transactions(log, start, end, rules=rules))
    return [batch for batch in batches if batch.control is None]


def check_position(position: Position, replica: Replica, *, rules: Rules) -> bool:
    """At another leader: go back to where the consumer's last epoch ended; True when that is back.

    Without `consumer_validation: epoch` the position is carried over as it is.
    """
    source = (replica.name, replica.epoch)
    if rules.reading.consumer_validation == "none" or position.source == source:
        return False
    first, position.source = position.source is None, source
    if first or position.epoch < 0:
        return False
    log = replica.log
    answer = log.epochs.end_offset_for(position.epoch, log.log_end_offset)
    if answer.end_offset >= position.offset:
        return False
    position.offset, position.epoch = answer.end_offset, answer.epoch
    return True


def fetch(
    position: Position,
    replica: Replica,
    *,
    committed: bool,
    rules: Rules,
    max_batches: int | None = None,
) -> Fetched:
    """One fetch of a consumer, which moves its position.

    A position below the log start moves up to it (`auto.offset.reset: earliest`), one above the log
    end moves back to it. A read that finds no batch leaves the position where it is.

    Args:
        position: Where the consumer is.
        replica: Whom it reads.
        committed: True with `isolation.level: read_committed`.
        rules: Say what is listed as aborted, and whether a new leader is asked first.
        max_batches: Most batches to take; None = all.
    """
    check_position(position, replica, rules=rules)
    log = replica.log
    start = min(max(position.offset, log.log_start_offset), log.log_end_offset)
    position.offset = start
    end = readable_end(log, committed=committed)
    if start >= end:
        return Fetched(start, start, ())
    batches: list[Batch] = []
    for batch in log.read(start, max_batches=max_batches):
        if batch.last_offset >= end:
            break
        batches.append(batch)
    if not batches:
        return Fetched(start, start, ())
    position.offset, position.epoch = batches[-1].last_offset + 1, batches[-1].epoch
    given = handed_on(replica, batches, start, end, committed=committed, rules=rules)
    return Fetched(start, position.offset, tuple(given))
