"""The offset index of a segment: where in it somebody begins to read who looks for an offset.

The index is sparse. Before a batch is written, it gets an entry if more than `index.interval.bytes`
were written since the last entry began: its last offset, and where it begins. Entries depend on the
sizes of the batches alone, so none are kept: they are worked out when somebody asks. What is kept
is what the batches do not tell: where counting started anew, and which of them were written in one
call by a release that adds one entry a call at most.

Source: LogSegment.append and .recover, OffsetIndex.lookup. Before KAFKA-806 an append adds at most
one entry, with the largest offset of all its batches; since then (3.9.1, 4.0.1, 4.1.0) one for each
batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.protocol.log.record import Batch

INDEX_INTERVAL_BYTES = 4096
"""Default of `index.interval.bytes`."""


class Call(NamedTuple):
    """Batches that were written in one call, which gets one entry at most.

    Attributes:
        first_offset: Base offset of the first of them.
        last_offset: Last offset of the last of them (inclusive).
        entry_offset: The offset its entry has; None = the entry was truncated away.
    """

    first_offset: int
    last_offset: int
    entry_offset: int | None


@dataclass(slots=True)
class OffsetIndex:
    """What the batches of a segment do not tell of its offset index.

    Attributes:
        restarts: Offsets, ascending: nothing counts as written before the first batch from there
            on.
        calls: What was written in one call, in order; any other batch was a call of its own.
        below_start: (base offset, last offset, bytes) of batches below the log start: they are
            still in the file, in front of all others.
        dangling: (offset of the last entry, bytes of the segment) where that entry was left by a
            truncation that took the batch it stands for; None = none was. What is appended takes
            the place of that batch, and the entry stands for it.
    """

    restarts: list[int] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    below_start: list[tuple[int, int, int]] = field(default_factory=list)
    dangling: tuple[int, int] | None = None

    def restart(self, offset: int) -> None:
        """The segment was opened to append to it, and ends at `offset`."""
        self.restarts.append(offset)

    def truncate(self, offset: int) -> None:
        """Entries from `offset` on go, and counting starts anew (LogSegment.truncateTo)."""
        if self.dangling is not None and self.dangling[0] >= offset:
            self.dangling = None
        self.restarts = [restart for restart in self.restarts if restart < offset]
        self.calls = [call for call in self.calls if call.first_offset < offset]
        if self.calls and self.calls[-1].last_offset >= offset:
            self.calls[-1] = Call(self.calls[-1].first_offset, offset - 1, None)
        self.restart(offset)

    def rebuild(self) -> None:
        """The index is written anew, batch by batch (LogSegment.recover)."""
        self.restarts, self.calls, self.dangling = [], [], None

    def left_by_cut(
        self, batches: Sequence[Batch], keep: int, offset: int, *, interval_bytes: int
    ) -> int | None:
        """Offset of an entry that a cut in the middle of a batch leaves; None = it leaves none.

        The batch goes whole. Its entry goes if it is not below the cut, and one that was made for
        a call of a cleaner has the last offset that was kept (OffsetIndex.truncateTo).

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
        """Position in `batches` of the first one that is read by who looks for `offset`.

        It is that of the last entry at or below `offset`, else 0.

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
        """Last offset (inclusive) of what was written up to each entry, in order."""
        return [end for _, _, end in self._entries(self._written(batches), interval_bytes)]

    def _written(self, batches: Sequence[Batch]) -> list[tuple[int, int, int]]:
        """(base offset, last offset, bytes) of all that is in the file."""
        there = ((b.base_offset, b.last_offset, b.size_bytes) for b in batches)
        return [*self.below_start, *there]

    def _entries(
        self, written: Sequence[tuple[int, int, int]], interval_bytes: int
    ) -> list[tuple[int, int | None, int]]:
        """Each entry: position of what it was made for, its offset if it is left, and its end."""
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
