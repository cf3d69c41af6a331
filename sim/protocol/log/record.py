"""Records and record batches: the immutable things a log is made of.

A batch keeps its first and last offset in its header, so both survive when cleaning takes some or
all of its records away (DefaultRecordBatch, MemoryRecords.filterTo).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

BATCH_HEADER_BYTES: Final = 61
"""Size of a version 2 batch header (DefaultRecordBatch.RECORD_BATCH_OVERHEAD)."""

CONTROL_RECORD_BYTES: Final = 17
"""Size of a transaction marker: a key of 4 bytes, a value of 6, and a byte for each other field.

A delete horizon makes it larger: its timestamp is then stored as the distance to the horizon.
"""


STRAY_BYTES: Final = "surrogateescape"
"""Encoding of bytes in a key or a value that are no UTF-8: lone surrogates (PEP 383)."""


class Control(StrEnum):
    """The kinds of control batches, which take an offset but hold no record for consumers."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"
    LEADER_CHANGE = "LEADER_CHANGE"
    SNAPSHOT = "SNAPSHOT"
    """A snapshot within the log, which KIP-630 rejected (`snapshot_placement: in_log`)."""


class Record(Struct, frozen=True, gc=False, array_like=True):
    """A record at its offset.

    Attributes:
        offset: Position in the log; cleaning leaves it as it is.
        key: The key it is compacted by; None for an unkeyed record and for control records.
        value: The value; None is a tombstone under `tombstone_mark: null_value`.
        timestamp_ms: Create time in ms; -1 when there is none.
        headers: Name and raw value of each header, in order; names may repeat.
        flagged: The explicit tombstone attribute of KIP-87; None where the record's format has none
            (magic 0 and 1, see `sim.protocol.log.formats`).
        uid: Identity of the append that made it; equal on every replica that copied it. It exists
            for the checks alone: no protocol rule reads it.
    """

    offset: int
    key: str | None
    value: str | None
    timestamp_ms: int = -1
    headers: tuple[tuple[str, bytes], ...] = ()
    flagged: bool | None = False
    uid: int = 0


class Batch(Struct, frozen=True, gc=False, array_like=True):
    """A record batch: the unit of appending, replicating and retaining.

    Attributes:
        base_offset: First offset the batch stands for (inclusive).
        last_offset: Last offset the batch stands for (inclusive), its records gone or not.
        epoch: Leader epoch of the append; -1 before magic 2.
        records: The surviving records in offset order; empty when only the header was kept.
        timestamp_ms: Largest timestamp of its records in ms; -1 when there is none.
        size_bytes: Size on disk and on the wire, uncompressed.
        producer_id: Idempotent or transactional producer; -1 when there is none.
        producer_epoch: Epoch of that producer; -1 when there is none.
        base_sequence: Sequence number of the first record; -1 when there is none.
        transactional: True for data and markers of a transaction.
        control: Kind of a control batch; None for data.
        delete_horizon_ms: Time in ms from which on its tombstones, or its marker, may go (KIP-534);
            None without one.
    """

    base_offset: int
    last_offset: int
    epoch: int
    records: tuple[Record, ...]
    timestamp_ms: int
    size_bytes: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: Control | None = None
    delete_horizon_ms: int | None = None

    def emptied(self) -> Batch:
        """The header alone: offsets, epoch, producer and old maximum timestamp are kept.

        Source: DefaultRecordBatch.writeEmptyHeader, which clears the delete horizon flag.
        """
        return replace(self, records=(), size_bytes=BATCH_HEADER_BYTES, delete_horizon_ms=None)

    def rebuilt(self, records: tuple[Record, ...], delete_horizon_ms: int | None) -> Batch:
        """The batch with fewer records or another horizon (buildRetainedRecordsInto).

        The horizon takes the place of the base timestamp, and the records' deltas count from it:
        timestamps read back unchanged, but a batch may grow (KIP-534).
        """
        base_ms = records[0].timestamp_ms if delete_horizon_ms is None else delete_horizon_ms
        if self.control is None:
            size_bytes = size_of(records, base_offset=self.base_offset, base_timestamp_ms=base_ms)
        else:
            size_bytes = control_size(records[0].timestamp_ms, base_ms)
        return replace(
            self,
            records=records,
            timestamp_ms=max([record.timestamp_ms for record in records]),
            size_bytes=size_bytes,
            delete_horizon_ms=delete_horizon_ms,
        )


def control_size(timestamp_ms: int, delete_horizon_ms: int | None) -> int:
    """Size in bytes of a control batch with its record; a horizon is what its time counts from."""
    delta = 0 if delete_horizon_ms is None else timestamp_ms - delete_horizon_ms
    return BATCH_HEADER_BYTES + CONTROL_RECORD_BYTES - 1 + varint_bytes(delta)


def varint_bytes(number: int) -> int:
    """Bytes of a zig-zag variable-length integer (ByteUtils.sizeOfVarint, sizeOfVarlong)."""
    return (number if number >= 0 else ~number).bit_length() // 7 + 1  # the sign is a bit, too


def size_of(
    records: Iterable[Record], *, base_offset: int = 0, base_timestamp_ms: int | None = None
) -> int:
    """Size in bytes of a version 2 batch that holds `records`, uncompressed.

    Offsets and timestamps are stored as differences from the batch's base; without a base timestamp
    the first record's counts. Source: DefaultRecord.sizeInBytes.
    """
    total = BATCH_HEADER_BYTES
    base_ms = base_timestamp_ms
    for record in records:
        key, value, timestamp_ms = record.key, record.value, record.timestamp_ms
        if base_ms is None:
            base_ms = timestamp_ms
        # Attributes, the two deltas, and the lengths of key, value and headers: a byte each as long
        # as they are small.
        body = 6
        delta = timestamp_ms - base_ms
        if not -64 <= delta < 64:
            body += (delta if delta >= 0 else ~delta).bit_length() // 7
        delta = record.offset - base_offset
        if not -64 <= delta < 64:
            body += (delta if delta >= 0 else ~delta).bit_length() // 7
        if key is not None:
            length = len(key) if key.isascii() else len(key.encode(errors=STRAY_BYTES))
            body += length if length < 64 else length + varint_bytes(length) - 1
        if value is not None:
            length = len(value) if value.isascii() else len(value.encode(errors=STRAY_BYTES))
            body += length if length < 64 else length + varint_bytes(length) - 1
        if record.headers:
            body += _header_bytes(record.headers)
        total += body + 1 if body < 64 else body + varint_bytes(body)
    return total


def _header_bytes(headers: tuple[tuple[str, bytes], ...]) -> int:
    """Size of headers in bytes, without the byte that their number takes as long as it is small."""
    total = 0 if len(headers) < 64 else varint_bytes(len(headers)) - 1
    for name, content in headers:
        length = len(name) if name.isascii() else len(name.encode())
        size = len(content)
        total += length + size + 2
        if length >= 64:
            total += varint_bytes(length) - 1
        if size >= 64:
            total += varint_bytes(size) - 1
    return total


def data_batch(
    records: tuple[Record, ...],
    *,
    epoch: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
) -> Batch:
    """A batch of data as a producer sends it; `records` are not empty, offsets ascend."""
    first = records[0]
    base_offset, timestamp_ms = first.offset, first.timestamp_ms
    size_bytes = size_of(records, base_offset=base_offset, base_timestamp_ms=timestamp_ms)
    for record in records:
        if record.timestamp_ms > timestamp_ms:
            timestamp_ms = record.timestamp_ms
    return Batch(
        base_offset=base_offset,
        last_offset=records[-1].offset,
        epoch=epoch,
        records=records,
        timestamp_ms=timestamp_ms,
        size_bytes=size_bytes,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        transactional=transactional,
    )


def control_batch(
    offset: int,
    *,
    epoch: int,
    control: Control,
    timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    uid: int = 0,
) -> Batch:
    """A control batch of one record, such as a transaction marker (KIP-98) or a leader change."""
    record = Record(offset, None, None, timestamp_ms, uid=uid)
    return Batch(
        offset,
        offset,
        epoch,
        (record,),
        timestamp_ms,
        BATCH_HEADER_BYTES + CONTROL_RECORD_BYTES,
        producer_id,
        producer_epoch,
        -1,
        control in (Control.COMMIT, Control.ABORT),
        control,
    )
