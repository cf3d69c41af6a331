"""Snapshots of a compacted log (KIP-630), and their bytes: header, records, footer.

The header says when its last record was appended, the footer that nothing is missing; each is a
control batch. The records are one batch, numbered from 0 on. Source: RecordsSnapshotWriter,
SnapshotHeaderRecord, SnapshotFooterRecord.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from sim.protocol.log import Record
from sim.protocol.log.record import BATCH_HEADER_BYTES, size_of

HEADER_BYTES = BATCH_HEADER_BYTES + 22
"""A control record with a key of 4 bytes and a value of 11: version, time, no tagged fields."""

FOOTER_BYTES = BATCH_HEADER_BYTES + 14
"""A control record with a key of 4 bytes and a value of 3: version, no tagged fields."""


def record_ends(records: Sequence[Record]) -> list[int]:
    """For each record the byte, from the beginning of the file, behind its last one."""
    position = HEADER_BYTES + BATCH_HEADER_BYTES
    ends = []
    for number, record in enumerate(records):
        alone = (replace(record, offset=number),)
        position += size_of(alone, base_timestamp_ms=records[0].timestamp_ms) - BATCH_HEADER_BYTES
        ends.append(position)
    return ends


def file_bytes(records: Sequence[Record]) -> int:
    """Size of the whole file in bytes; one without records has no batch for them."""
    ends = record_ends(records)
    return (ends[-1] if ends else HEADER_BYTES) + FOOTER_BYTES


def records_within(records: Sequence[Record], start: int, end: int) -> tuple[Record, ...]:
    """The records whose last byte lies in [start, end): those that a chunk completes."""
    ends = record_ends(records)
    return tuple(record for record, last in zip(records, ends, strict=True) if start < last <= end)
