"""A segment: a run of batches that is rolled, cleaned and deleted as one."""

from __future__ import annotations

from sim.log.offset_index import OffsetIndex
from sim.log.producers import AbortedTransaction
from sim.log.record import Batch


class Segment:
    """Consecutive batches of a log; the last segment of a log is the active one.

    Attributes:
        base_offset: Smallest offset the segment may hold; fixed even when it is empty.
        batches: Its batches in offset order.
        size_bytes: Sum of the batches' sizes.
        last_modified_ms: Time of the last append in ms; after cleaning, that of the last source.
        first_timestamp_ms: Largest timestamp of the first append in ms, -1 without one; rolling by
            time and the maximum compaction lag count from it (LogSegment.getFirstBatchTimestamp).
        largest_timestamp_ms: Largest timestamp in ms, -1 when there is none.
        created_ms: When it was rolled, in ms; rolling by time counts from it without timestamps.
        transactional: True when a batch belongs to a transaction, so the cleaner has to look.
        aborted: Its index of aborted transactions: those whose marker was appended to it.
        index: Its offset index, as far as the batches do not tell.
    """

    __slots__ = (
        "aborted",
        "base_offset",
        "batches",
        "created_ms",
        "first_timestamp_ms",
        "index",
        "largest_timestamp_ms",
        "last_modified_ms",
        "size_bytes",
        "transactional",
    )

    def __init__(self, base_offset: int, *, last_modified_ms: int = 0) -> None:
        """An empty segment that starts at `base_offset`."""
        self.base_offset = base_offset
        self.batches: list[Batch] = []
        self.size_bytes = 0
        self.last_modified_ms = last_modified_ms
        self.created_ms = last_modified_ms
        self.first_timestamp_ms = -1
        self.largest_timestamp_ms = -1
        self.transactional = False
        self.aborted: list[AbortedTransaction] = []
        self.index = OffsetIndex()

    def append(self, batch: Batch, now_ms: int) -> None:
        """Add a batch at the end."""
        timestamp_ms = batch.timestamp_ms
        if not self.batches:
            self.first_timestamp_ms = timestamp_ms
        self.batches.append(batch)
        self.size_bytes += batch.size_bytes
        self.last_modified_ms = now_ms
        if timestamp_ms > self.largest_timestamp_ms:
            self.largest_timestamp_ms = timestamp_ms
        if batch.transactional:
            self.transactional = True

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
        self.largest_timestamp_ms = largest_ms
        self.transactional = transactional
        if not self.batches:
            self.first_timestamp_ms = -1

    def reload_first_timestamp(self) -> None:
        """Take the first timestamp from the first batch, as a restart does.

        What was appended first in one call may have had a later one (LogSegment.append,
        .loadFirstBatchTimestamp).
        """
        self.first_timestamp_ms = self.batches[0].timestamp_ms if self.batches else -1
