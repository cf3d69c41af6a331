"""A segment: a run of batches that is rolled, cleaned and deleted as one."""

from __future__ import annotations

from sim.log.record import Batch


class Segment:
    """Consecutive batches of a log; the last segment of a log is the active one.

    Attributes:
        base_offset: Smallest offset the segment may hold; fixed even when it is empty.
        batches: Its batches in offset order.
        size_bytes: Sum of the batches' sizes.
        last_modified_ms: Time of the last append in ms; after cleaning, that of the last source.
        first_timestamp_ms: Timestamp of the first append in ms, -1 when there is none; rolling by
            time and the maximum compaction lag count from it (LogSegment.getFirstBatchTimestamp).
        largest_timestamp_ms: Largest timestamp in ms, -1 when there is none.
        transactional: True when a batch belongs to a transaction, so the cleaner has to look.
    """

    __slots__ = (
        "base_offset",
        "batches",
        "first_timestamp_ms",
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
        self.first_timestamp_ms = -1
        self.largest_timestamp_ms = -1
        self.transactional = False

    def append(self, batch: Batch, *, now_ms: int) -> None:
        """Add a batch at the end."""
        self.batches.append(batch)
        self.size_bytes += batch.size_bytes
        self.last_modified_ms = now_ms
        timestamp_ms = batch.timestamp_ms
        if self.first_timestamp_ms < 0:
            self.first_timestamp_ms = timestamp_ms
        self.largest_timestamp_ms = max(self.largest_timestamp_ms, timestamp_ms)
        if batch.transactional:
            self.transactional = True

    @classmethod
    def of(cls, base_offset: int, batches: list[Batch], *, last_modified_ms: int) -> Segment:
        """A segment that takes `batches` over as its own."""
        segment = cls(base_offset, last_modified_ms=last_modified_ms)
        segment.batches = batches
        segment.refresh()
        return segment

    def absorb(self, following: Segment) -> None:
        """Take over the batches of the segment that follows, and its modification time."""
        if not self.batches:
            self.first_timestamp_ms = following.first_timestamp_ms
        self.batches += following.batches
        self.size_bytes += following.size_bytes
        self.last_modified_ms = following.last_modified_ms
        self.largest_timestamp_ms = max(self.largest_timestamp_ms, following.largest_timestamp_ms)
        self.transactional = self.transactional or following.transactional

    def refresh(self) -> None:
        """Recompute what is derived from the batches, after some of them went."""
        batches = self.batches
        self.size_bytes = sum([batch.size_bytes for batch in batches])
        self.first_timestamp_ms = batches[0].timestamp_ms if batches else -1
        self.largest_timestamp_ms = max([batch.timestamp_ms for batch in batches], default=-1)
        self.transactional = any(batch.transactional for batch in batches)
