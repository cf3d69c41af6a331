"""A segment: a run of batches that is rolled, cleaned and deleted as one."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.protocol.log.offset_index import OffsetIndex
from sim.protocol.log.producers import AbortedTransaction
from sim.protocol.log.record import Batch


@dataclass(slots=True, eq=False)
class Segment:
    """Consecutive batches of a log; the last segment of a log is the active one.

    Attributes:
        base_offset: Smallest offset the segment may hold; fixed even when it is empty.
        batches: Its batches in offset order.
        size_bytes: Sum of the batches' sizes.
        last_modified_ms: Time of the last append in ms; after cleaning, that of the last source.
        first_timestamp_ms: Largest timestamp of the first append in ms, -1 without one; rolling by
            time and the maximum compaction lag count from it (LogSegment.getFirstBatchTimestamp).
        largest_in_memory: Whether the largest timestamp was asked for since the segment was opened;
            a truncation of one that was not goes by the time index alone (LogSegment.truncateTo).
        time_entry: Offset of the first entry that its time index got when it was no longer active,
            or closed; None = neither, or it has no timestamps.
        created_ms: When it was rolled, in ms; rolling by time counts from it without timestamps.
        transactional: True when a batch belongs to a transaction, so the cleaner has to look.
        aborted: Its index of aborted transactions: those whose marker was appended to it.
        index: Its offset index, as far as the batches do not tell.
    """

    base_offset: int
    last_modified_ms: int = 0
    batches: list[Batch] = field(default_factory=list)
    size_bytes: int = 0
    created_ms: int = field(init=False)
    first_timestamp_ms: int = -1
    largest_ms: int = -1
    largest_in_memory: bool = True
    time_entry: int | None = None
    transactional: bool = False
    aborted: list[AbortedTransaction] = field(default_factory=list)
    index: OffsetIndex = field(default_factory=OffsetIndex)

    def __post_init__(self) -> None:
        self.created_ms = self.last_modified_ms

    def append(self, batch: Batch, now_ms: int) -> None:
        """Add a batch at the end."""
        timestamp_ms = batch.timestamp_ms
        if not self.batches:
            self.first_timestamp_ms = timestamp_ms
        self.batches.append(batch)
        self.size_bytes += batch.size_bytes
        self.last_modified_ms = now_ms
        self.largest_in_memory = True
        if timestamp_ms > self.largest_ms:
            self.largest_ms = timestamp_ms
        if batch.transactional:
            self.transactional = True

    @property
    def largest_timestamp_ms(self) -> int:
        """Largest timestamp in ms, as far as the broker knows; -1 when there is none.

        To ask for it takes it into memory (LogSegment.maxTimestampSoFar).
        """
        self.largest_in_memory = True
        return self.largest_ms

    @staticmethod
    def of(base_offset: int, batches: list[Batch], *, last_modified_ms: int) -> Segment:
        """A segment that takes `batches` over as its own; its index of aborted ones is empty."""
        segment = Segment(base_offset, last_modified_ms=last_modified_ms)
        segment.batches = batches
        segment.refresh()
        segment.reload_first_timestamp()
        return segment

    def waited_ms(self, timestamp_ms: int, now_ms: int) -> int:
        """How long it has been open, in ms, when a batch of that timestamp comes.

        Counted between timestamps if the segment has one, else by the clock since its creation
        (LogSegment.timeWaitedForRoll).
        """
        if self.first_timestamp_ms >= 0:
            return timestamp_ms - self.first_timestamp_ms
        return now_ms - self.created_ms

    def refresh(self) -> None:
        """Recompute what is derived from the batches, after some of them went."""
        size_bytes, largest_ms, transactional = 0, -1, False
        for batch in self.batches:
            size_bytes += batch.size_bytes
            timestamp_ms = batch.timestamp_ms
            if timestamp_ms > largest_ms:
                largest_ms = timestamp_ms
            if batch.transactional:
                transactional = True
        self.size_bytes = size_bytes
        self.largest_ms = largest_ms
        self.transactional = transactional
        if not self.batches:
            self.first_timestamp_ms = -1

    def truncate(self, keep: int, offset: int, *, interval_bytes: int | None) -> None:
        """Lose all but the first `keep` batches: the log ends at `offset` (exclusive) from now on.

        Which timestamp is the largest one now is looked for only where a largest one is known,
        in memory or by an entry of the time index that is left; else the segment is taken to have
        no timestamps, whatever it holds (LogSegment.truncateTo). With None for the
        `index.interval.bytes` of its indexes nobody ever asks.
        """
        known = self.largest_in_memory and self.largest_ms >= 0
        if interval_bytes is not None and not self.largest_in_memory:
            entry = self._first_time_entry(interval_bytes)
            known = entry is not None and entry < offset
        if self.time_entry is not None and self.time_entry >= offset:
            self.time_entry = None
        self.largest_in_memory = True
        del self.batches[keep:]
        self.refresh()
        if not known:
            self.largest_ms = -1

    @property
    def next_offset(self) -> int:
        """Where the log ends if this is its last segment, as a restart reads it.

        It is read from the last entry of the offset index on; where that points behind the last
        batch nothing is read (LogSegment.readNextOffset).
        """
        dangling = self.index.dangling
        if not self.batches or (dangling is not None and dangling[1] == self.size_bytes):
            return self.base_offset
        return self.batches[-1].last_offset + 1

    def close(self) -> None:
        """Write the last entry of the time index, and forget what is in memory alone."""
        if self.largest_in_memory:
            self.become_inactive()
        self.largest_in_memory = False

    def become_inactive(self) -> None:
        """Write the last entry of the time index (LogSegment.onBecomeInactiveSegment)."""
        self.largest_in_memory = True
        if self.time_entry is None and self.largest_ms >= 0:
            self.time_entry = self._reached(self.largest_ms)

    def recover_time_index(self) -> None:
        """Write it anew from the batches (LogSegment.recover)."""
        self.refresh()
        self.time_entry = None
        self.become_inactive()

    def _first_time_entry(self, interval_bytes: int) -> int | None:
        """The lowest offset in its time index; None = it has no entry.

        Each entry of the offset index comes with one that names the last offset of the batch with
        the largest timestamp so far.
        """
        first, largest_ms = self.time_entry, -1
        ends = self.index.entry_ends(self.batches, interval_bytes=interval_bytes)
        at = 0
        for end in ends:
            while at < len(self.batches) and self.batches[at].last_offset <= end:
                largest_ms = max(largest_ms, self.batches[at].timestamp_ms)
                at += 1
            if largest_ms >= 0:
                entry = self._reached(largest_ms)
                return entry if first is None else min(first, entry)
        return first

    def _reached(self, timestamp_ms: int) -> int:
        """Last offset of the first batch that has this timestamp or a later one."""
        return next(b.last_offset for b in self.batches if b.timestamp_ms >= timestamp_ms)

    def reload_first_timestamp(self) -> None:
        """Take the first timestamp from the first batch, as a restart does.

        What was appended first in one call may have had a later one (LogSegment.append,
        .loadFirstBatchTimestamp).
        """
        self.first_timestamp_ms = self.batches[0].timestamp_ms if self.batches else -1
