"""Records and record batches: the immutable things a log is made of.

A batch keeps its first and last offset in its header, so both survive when cleaning takes some or
all of its records away (DefaultRecordBatch, MemoryRecords.filterTo).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

BATCH_HEADER_BYTES = 61
"""Size of a version 2 batch header (DefaultRecordBatch.RECORD_BATCH_OVERHEAD)."""

RECORD_OVERHEAD_BYTES = 7
"""Length, attributes, two deltas and three lengths of a small version 2 record, one byte each."""


class Control(StrEnum):
    """What a control batch says; it takes an offset but holds nothing a consumer is given."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"
    LEADER_CHANGE = "LEADER_CHANGE"


class Record(NamedTuple):
    """One record at its offset.

    Attributes:
        offset: Its position in the log; never reused and never renumbered.
        key: The key it is compacted by; None for an unkeyed record and for control records.
        value: The value; None is a tombstone under `tombstone_mark: null_value`.
        timestamp_ms: Create time in ms; -1 when there is none.
        headers: Name and raw value of each header, in order; names may repeat.
        flagged: The explicit tombstone attribute of KIP-87.
        uid: Identity of the append that made it; equal on every replica that copied it. It exists
            for the oracle alone: no protocol rule reads it.
    """

    offset: int
    key: str | None
    value: str | None
    timestamp_ms: int = -1
    headers: tuple[tuple[str, bytes], ...] = ()
    flagged: bool = False
    uid: int = 0


class Batch(NamedTuple):
    """A record batch: the unit of appending, replicating and retaining.

    Attributes:
        base_offset: First offset the batch stands for (inclusive).
        last_offset: Last offset the batch stands for (inclusive), its records gone or not.
        epoch: Leader epoch of the append.
        records: The surviving records in offset order; empty after `RETAIN_EMPTY`.
        timestamp_ms: Largest timestamp of its records in ms; -1 when there is none.
        size_bytes: Modelled size on disk and on the wire.
        producer_id: Idempotent or transactional producer; -1 when there is none.
        producer_epoch: Epoch of that producer; -1 when there is none.
        base_sequence: Sequence number of the first record; -1 when there is none.
        transactional: True for data and markers of a transaction.
        control: None for data; otherwise what the control record says.
        delete_horizon_ms: From when on its tombstones, or its marker, may go (KIP-534).
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
        return self._replace(records=(), size_bytes=BATCH_HEADER_BYTES, delete_horizon_ms=None)

    def rebuilt(self, records: tuple[Record, ...], delete_horizon_ms: int | None) -> Batch:
        """The same batch with fewer records or another horizon (buildRetainedRecordsInto)."""
        return self._replace(
            records=records,
            timestamp_ms=max(record.timestamp_ms for record in records),
            size_bytes=size_of(records),
            delete_horizon_ms=delete_horizon_ms,
        )


def size_of(records: Iterable[Record]) -> int:
    """Modelled size in bytes of a batch that holds `records`."""
    total = BATCH_HEADER_BYTES
    for record in records:
        total += RECORD_OVERHEAD_BYTES + len(record.key or "") + len(record.value or "")
        for name, value in record.headers:
            total += 2 + len(name) + len(value)
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
    return Batch(
        records[0].offset,
        records[-1].offset,
        epoch,
        records,
        max(record.timestamp_ms for record in records),
        size_of(records),
        producer_id,
        producer_epoch,
        base_sequence,
        transactional,
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
    """A control batch of one record: a transaction marker or a leader change (KIP-98, KIP-595)."""
    record = Record(offset, None, None, timestamp_ms, uid=uid)
    return Batch(
        offset,
        offset,
        epoch,
        (record,),
        timestamp_ms,
        size_of((record,)),
        producer_id,
        producer_epoch,
        -1,
        control is not Control.LEADER_CHANGE,
        control,
    )
