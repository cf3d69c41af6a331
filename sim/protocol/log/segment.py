"""Segments: runs of batches that are rolled, cleaned and deleted together; offset indexes.

The index is sparse. A batch gets an entry (its last offset, and where it begins) if more than
`index.interval.bytes` were written since the batch of the last entry began. Entries depend on the
sizes of the batches alone, so they are computed when they are needed. Only what does not follow
from the batches is kept: where counting restarted, and which batches were written in one call by a
release that adds one entry a call at most (`index_entries: per_append`). A cleaner writes with one
call for each buffer of batches that it has read.

Source: LogSegment.append and .recover, OffsetIndex.lookup. Before KAFKA-806 an append adds at most
one entry, with the largest offset of all its batches; since then (3.9.1, 4.0.1, 4.1.0) one for each
batch. Cleaner.cleanInto, Cleaner.growBuffersOrFail, MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from sim.protocol.log.producers import AbortedTransaction
from sim.protocol.log.record import Batch

INDEX_INTERVAL_BYTES = 4096
"""Default of `index.interval.bytes`."""


class Call(NamedTuple):
    """Batches that were written in one call, which gets one entry at most.

    Attributes:
        first_offset: Base offset of the first of them.
        last_offset: Last offset of the last of them (inclusive).
        entry_offset: The offset in its entry, if it gets one; None = it was truncated away.
    """

    first_offset: int
    last_offset: int
    entry_offset: int | None


class OffsetIndex(Struct, gc=False):
    """The part of a segment's offset index that does not follow from its batches.

    Attributes:
        restarts: Offsets, ascending: the count of written bytes restarted with the first batch at
            or above each.
        calls: What was written in one call, in order; any other batch was a call of its own.
        below_start: (base offset, last offset, bytes) of batches below the log start: they are
            still in the file, in front of all others.
        dangling: (offset of the last entry, bytes of the segment after the cut) where a truncation
            took the batch of that entry and left the entry; None = there is no such entry. It
            points behind the last batch until something is appended.
    """

    restarts: list[int] = []
    calls: list[Call] = []
    below_start: list[tuple[int, int, int]] = []
    dangling: tuple[int, int] | None = None

    def restart(self, offset: int) -> None:
        """Restarts counting at `offset`, where a segment was cut, or ends when it is opened."""
        self.restarts = [*[restart for restart in self.restarts if restart < offset], offset]

    def truncate(self, offset: int) -> None:
        """Drops the entries from `offset` on, and restarts counting (LogSegment.truncateTo)."""
        if self.dangling is not None and self.dangling[0] >= offset:
            self.dangling = None
        self.calls = [call for call in self.calls if call.first_offset < offset]
        if self.calls and self.calls[-1].last_offset >= offset:
            self.calls[-1] = Call(self.calls[-1].first_offset, offset - 1, None)
        self.below_start = [batch for batch in self.below_start if batch[1] < offset]
        self.restart(offset)

    def rebuild(self) -> None:
        """Rebuilds the index, batch by batch (LogSegment.recover)."""
        self.restarts, self.calls, self.dangling = [], [], None

    def left_by_cut(
        self, batches: Sequence[Batch], keep: int, offset: int, *, interval_bytes: int
    ) -> int | None:
        """Offset of an entry that a cut in the middle of a batch leaves; None = it leaves none.

        The batch goes whole. Its entry stays if its offset is below the cut: that of a cleaner's
        call is the offset of the last record that was kept (OffsetIndex.truncateTo).

        Args:
            batches: All batches of the segment, before the cut.
            keep: How many of them stay.
            offset: Where the log is cut.
            interval_bytes: `index.interval.bytes`.
        """
        if not self.calls or keep == len(batches) or batches[keep].base_offset >= offset:
            return None
        for position, entry, _ in self._entries(self._written(batches), interval_bytes):
            if position == keep + len(self.below_start) and entry is not None and entry < offset:
                return entry
        return None

    def read_from(self, batches: Sequence[Batch], offset: int, *, interval_bytes: int) -> int:
        """Position in `batches` of the first one that is read in a search for `offset`.

        It is the position of the last entry at or below `offset`, else 0.

        Args:
            batches: All batches of the segment.
            offset: What is looked for.
            interval_bytes: `index.interval.bytes`.
        """
        written = [*self.below_start]
        for batch in batches:
            if batch.base_offset > offset:
                break
            written.append((batch.base_offset, batch.last_offset, batch.size_bytes))
        found = 0
        for position, entry, _ in self._entries(written, interval_bytes):
            if entry is not None and entry <= offset:
                found = position
        return max(found - len(self.below_start), 0)

    def entry_ends(self, batches: Sequence[Batch], *, interval_bytes: int) -> list[int]:
        """Last offset (inclusive) of the batch or call of each entry, in order."""
        return [end for _, _, end in self._entries(self._written(batches), interval_bytes)]

    def _written(self, batches: Sequence[Batch]) -> list[tuple[int, int, int]]:
        """(base offset, last offset, bytes) of all that is in the file."""
        there = ((b.base_offset, b.last_offset, b.size_bytes) for b in batches)
        return [*self.below_start, *there]

    def _entries(
        self, written: Sequence[tuple[int, int, int]], interval_bytes: int
    ) -> list[tuple[int, int | None, int]]:
        """Entries as (position of the batch or call, offset or None if it was cut, last offset)."""
        entries: list[tuple[int, int | None, int]] = []
        since = restart = call = 0
        call_end = -1
        for position, (base, last, size_bytes) in enumerate(written):
            while restart < len(self.restarts) and self.restarts[restart] <= base:
                restart += 1
                since = 0
            if base > call_end:
                entry: int | None = last
                while call < len(self.calls) and self.calls[call].first_offset <= base:
                    _, call_end, entry = self.calls[call]
                    call += 1
                if since > interval_bytes:
                    since = 0
                    entries.append((position, entry, max(last, call_end)))
            since += size_bytes
        return entries


class Segment(Struct, eq=False, gc=False):
    """Consecutive batches of a log; the last segment of a log is the active one.

    Attributes:
        base_offset: Smallest offset the segment may hold; fixed even when it is empty.
        batches: Its batches in offset order.
        size_bytes: Sum of the batches' sizes.
        last_modified_ms: Time of the last append in ms; after cleaning, that of the last segment
            it was made from.
        first_timestamp_ms: Largest timestamp of the first append in ms, -1 without one; rolling by
            time and the maximum compaction lag count from it (LogSegment.getFirstBatchTimestamp).
        largest_ms: Largest timestamp of its batches in ms; -1 = none, or lost by a truncation.
        largest_in_memory: True after an append or a read of the largest timestamp since the segment
            was opened; else a truncation goes by the time index alone (LogSegment.truncateTo).
        time_entry: Offset in the entry that its time index got when it first stopped being active,
            or was closed; None = neither, or it has no timestamps.
        created_ms: When it was rolled, in ms; rolling by time counts from it without timestamps.
        transactional: True when a batch belongs to a transaction.
        aborted: Its index of aborted transactions: those whose marker was appended to it.
        index: Its offset index, as far as the batches do not tell.
    """

    base_offset: int
    last_modified_ms: int = 0
    batches: list[Batch] = []
    size_bytes: int = 0
    created_ms: int = 0
    first_timestamp_ms: int = -1
    largest_ms: int = -1
    largest_in_memory: bool = True
    time_entry: int | None = None
    transactional: bool = False
    aborted: list[AbortedTransaction] = []
    index: OffsetIndex = field(default_factory=OffsetIndex)

    def append(self, batch: Batch, now_ms: int) -> None:
        """Adds a batch at the end."""
        if not self.batches:
            self.first_timestamp_ms = batch.timestamp_ms
        self.batches.append(batch)
        self.size_bytes += batch.size_bytes
        self.last_modified_ms = now_ms
        self.largest_in_memory = True
        self.largest_ms = max(self.largest_ms, batch.timestamp_ms)
        self.transactional = self.transactional or batch.transactional

    @property
    def largest_timestamp_ms(self) -> int:
        """Largest timestamp in ms, as far as the broker knows; -1 when there is none.

        Reading it takes it into memory (LogSegment.maxTimestampSoFar).
        """
        self.largest_in_memory = True
        return self.largest_ms

    @staticmethod
    def of(base_offset: int, batches: list[Batch], *, last_modified_ms: int) -> Segment:
        """A segment that takes `batches` over as its own; its index of aborted ones is empty."""
        segment = Segment(base_offset, last_modified_ms, batches, created_ms=last_modified_ms)
        segment.refresh()
        segment.reload_first_timestamp()
        return segment

    def waited_ms(self, timestamp_ms: int, now_ms: int) -> int:
        """Age of the segment, in ms, when a batch of that timestamp comes.

        Counted between timestamps if the segment has one, else by the clock since its creation
        (LogSegment.timeWaitedForRoll).
        """
        if self.first_timestamp_ms >= 0:
            return timestamp_ms - self.first_timestamp_ms
        return now_ms - self.created_ms

    def refresh(self) -> None:
        """Recomputes what is derived from the batches, after some of them went."""
        self.size_bytes = sum([batch.size_bytes for batch in self.batches])
        self.largest_ms = max([-1, *[batch.timestamp_ms for batch in self.batches]])
        self.transactional = any(batch.transactional for batch in self.batches)
        if not self.batches:
            self.first_timestamp_ms = -1

    def truncate(self, keep: int, offset: int, *, interval_bytes: int | None) -> None:
        """Drops all but the first `keep` batches: the log ends at `offset` (exclusive) from now on.

        The largest timestamp is determined again only where one is known, in memory or by a
        remaining entry of the time index; else the segment counts as one without timestamps
        (LogSegment.truncateTo). With None for `index.interval.bytes` time indexes are not read.
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
        batch nothing is read, and the base offset counts (LogSegment.readNextOffset). Batches below
        the log start are still in the file.
        """
        dangling = self.index.dangling
        if dangling is not None and dangling[1] == self.size_bytes:
            return self.base_offset
        if self.batches:
            return self.batches[-1].last_offset + 1
        below = self.index.below_start
        return below[-1][1] + 1 if below else self.base_offset

    def close(self) -> None:
        """Writes the last entry of the time index, and forgets what is only in memory."""
        if self.largest_in_memory:
            self.become_inactive()
        self.largest_in_memory = False

    def become_inactive(self) -> None:
        """Writes the last entry of the time index (LogSegment.onBecomeInactiveSegment)."""
        self.largest_in_memory = True
        if self.time_entry is None and self.largest_ms >= 0:
            self.time_entry = self._reached(self.largest_ms)

    def recover_time_index(self) -> None:
        """Rebuilds the time index from the batches (LogSegment.recover)."""
        self.refresh()
        self.time_entry = None
        self.become_inactive()

    def _first_time_entry(self, interval_bytes: int) -> int | None:
        """The lowest offset in the time index; None without an entry.

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
        """Takes the first timestamp from the first batch, as a restart does.

        The largest timestamp of the first append may have been a later one (LogSegment.append,
        .loadFirstBatchTimestamp).
        """
        self.first_timestamp_ms = self.batches[0].timestamp_ms if self.batches else -1


BUFFER_BYTES: Final = 262_144
"""Half of the default of `log.cleaner.io.buffer.size`, with one cleaner thread: the other half is
what it writes from."""


def grown(buffer_bytes: int, batch_bytes: int) -> int:
    """Bytes of a buffer after it has grown, if need be, to hold a batch of that size."""
    while batch_bytes > buffer_bytes:
        buffer_bytes *= 2
    return buffer_bytes


def calls_written(
    sources: Sequence[Batch], written: Sequence[Batch], *, buffer_bytes: int = BUFFER_BYTES
) -> list[Call]:
    """The calls that wrote `written`, the remaining batches of a segment, in order.

    A buffer holds whole batches. It grows for a batch that is too large, and stays so until the
    segment is read. An entry has the last offset of the last batch of the call, or that of its last
    record if the batch was rewritten.
    """
    calls: list[Call] = []
    used, position = 0, 0
    first = last = entry = -1
    for source in sources:
        if used and used + source.size_bytes > buffer_bytes:
            if first >= 0:
                calls.append(Call(first, last, entry))
            first, used = -1, 0
        buffer_bytes = grown(buffer_bytes, source.size_bytes)
        used += source.size_bytes
        if position == len(written) or written[position].last_offset > source.last_offset:
            continue
        kept = written[position]
        position += 1
        first, last = kept.base_offset if first < 0 else first, kept.last_offset
        entry = kept.records[-1].offset if kept is not source and kept.records else last
    if first >= 0:
        calls.append(Call(first, last, entry))
    return calls
