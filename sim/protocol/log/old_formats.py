"""Batches of the message formats before magic 2, and their conversion to magic 2.

| magic | since          | has not got                                                          |
|-------|----------------|----------------------------------------------------------------------|
| 0     | 0.8            | timestamps, headers, producers, a leader epoch, room for a horizon   |
| 1     | 0.10 (KIP-32)  | headers, producers, a leader epoch, room for a horizon               |
| 2     | 0.11 (KIP-98)  |                                                                      |

An uncompressed message is a batch of its own. Several records are the content of one compressed
message, whose offset is that of its last record: it has no header in which the offsets of records
that are gone could stay. Sources: AbstractLegacyRecordBatch, LegacyRecord, MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from sim.protocol.log.formats import up_convert
from sim.protocol.log.record import STRAY_BYTES, Batch, Record, size_of

OVERHEAD_BYTES: Final = {0: 12 + 14, 1: 12 + 22}
"""What a message has beside key and value: offset and size, and its header (LegacyRecord)."""


class OldBatch(Batch, frozen=True, gc=False, array_like=True):
    """A batch of magic 0 or 1: data, of no producer, with at least one record.

    Attributes:
        magic: Number of its format, 0 or 1.
    """

    magic: ClassVar[int]

    def rebuilt(self, records: tuple[Record, ...], delete_horizon_ms: int | None) -> Batch:
        """The batch with fewer records in its own format, which has no place for a horizon.

        It begins at the first record and ends at the last one that are left.
        """
        del delete_horizon_ms
        return old_batch(self.magic, records)


class BatchOfMagic0(OldBatch, frozen=True, gc=False, array_like=True):
    """A batch without timestamps."""

    magic: ClassVar[int] = 0


class BatchOfMagic1(OldBatch, frozen=True, gc=False, array_like=True):
    """A batch with timestamps (KIP-32)."""

    magic: ClassVar[int] = 1


def old_batch(magic: int, records: tuple[Record, ...]) -> OldBatch:
    """A batch of magic 0 or 1 that holds `records`: at least one, of magic 0 without a time."""
    kind = BatchOfMagic0 if magic == 0 else BatchOfMagic1
    return kind(
        base_offset=records[0].offset,
        last_offset=records[-1].offset,
        epoch=-1,
        records=records,
        timestamp_ms=max(record.timestamp_ms for record in records),
        size_bytes=size_of_old(records, magic),
    )


def size_of_old(records: Iterable[Record], magic: int) -> int:
    """Bytes of a batch before compression; several records are inside a message of their own."""
    sizes = [
        OVERHEAD_BYTES[magic]
        + sum(
            len(text.encode(errors=STRAY_BYTES))
            for text in (record.key, record.value)
            if text is not None
        )
        for record in records
    ]
    return sum(sizes) + (OVERHEAD_BYTES[magic] if len(sizes) > 1 else 0)


def converted(batch: Batch, records: tuple[Record, ...]) -> Batch:
    """A batch of magic 0 or 1 as one of magic 2, with those of its records that stay.

    It begins at the first record and ends at the last one that are left. Source:
    MemoryRecords.buildRetainedRecordsInto since KAFKA-13093 (KIP-724).
    """
    newer = tuple([up_convert(record) for record in records])
    return Batch(
        base_offset=newer[0].offset,
        last_offset=newer[-1].offset,
        epoch=batch.epoch,
        records=newer,
        timestamp_ms=max([record.timestamp_ms for record in newer]),
        size_bytes=size_of(newer, base_offset=newer[0].offset),
    )
