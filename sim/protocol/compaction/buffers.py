"""The write calls of a cleaner: one for each buffer of batches that it has read.

It matters where a call gets one entry of the offset index at most (`index_entries: per_append`).
Source: Cleaner.cleanInto, Cleaner.growBuffersOrFail, MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sim.protocol.log import Batch
from sim.protocol.log.segment import Call

BUFFER_BYTES: Final = 262_144
"""Half of the default of `log.cleaner.io.buffer.size`, with one cleaner thread: the other half is
what it writes from."""


def grown(buffer_bytes: int, batch_bytes: int) -> int:
    """Bytes of a buffer that a batch of that size made grow, if it did not fit."""
    while batch_bytes > buffer_bytes:
        buffer_bytes *= 2
    return buffer_bytes


def calls_written(
    sources: Sequence[Batch], written: Sequence[Batch], *, buffer_bytes: int = BUFFER_BYTES
) -> list[Call]:
    """The calls that wrote `written`, the remaining batches of a segment, in order.

    A buffer holds whole batches; one that is too large for it makes it grow until the segment is
    read. A rewritten batch counts with the last record that it has, any other with its
    last offset.
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
