"""Kafka's record batch of format 2, written byte by byte (KIP-98, KIP-534).

Shares no arithmetic with `sim.protocol.log.record`, so that the two can be compared. Source: the
layouts in DefaultRecordBatch and DefaultRecord.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.record import STRAY_BYTES

HEADER_BYTES: Final = 61
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""Compressions, in the order of their numbers in the attributes."""
_BEFORE_CRC: Final = struct.Struct(">qiibI")
_AFTER_CRC: Final = struct.Struct(">hiqqqhii")
_NOT_IN_LENGTH: Final = 12
"""Bytes at the beginning, the base offset and the length, that the length does not count."""
LOG_APPEND_TIME, TRANSACTIONAL, CONTROL, HAS_HORIZON = 1 << 3, 1 << 4, 1 << 5, 1 << 6
TOMBSTONE: Final = 1
"""KIP-87 takes a bit of the record's attributes for it; Kafka itself leaves them 0."""
CONTROL_TYPES: Final = {
    Control.ABORT: 0,
    Control.COMMIT: 1,
    Control.LEADER_CHANGE: 2,
    Control.SNAPSHOT: 3,
}
MARKER_VALUE: Final = struct.pack(">hi", 0, 0)
"""Value of a marker: version and coordinator epoch (EndTransactionMarker).

A change of the leader gets the same, as no cleaner reads it (LeaderChangeMessage has more).
"""


class PackedRecord(NamedTuple):
    """A record as a batch stores it; a time or an offset is absolute here."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    attributes: int = 0


class Head(NamedTuple):
    """The header of a batch, but for what follows from its records.

    Attributes:
        base_offset: Its first offset.
        last_offset: Its last offset (inclusive).
        epoch: Leader epoch.
        attributes: Bits such as `TRANSACTIONAL`, without the codec.
        base_timestamp_ms: Base timestamp, or the delete horizon in its place.
        max_timestamp_ms: Largest timestamp.
        producer: Producer id, producer epoch and base sequence; -1 for none.
    """

    base_offset: int
    last_offset: int
    epoch: int
    attributes: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer: tuple[int, int, int]


def pack(head: Head, records: Sequence[PackedRecord], codec: str = "none") -> bytes:
    """Bytes of a batch, with its checksum.

    Raises:
        struct.error: A number does not fit the field that Kafka has for it.
    """
    from crc32c import crc32c

    base, base_ms = head.base_offset, head.base_timestamp_ms
    body = _compressor(codec)(b"".join(_record(one, base, base_ms) for one in records))
    covered = _AFTER_CRC.pack(
        head.attributes | CODECS.index(codec),
        head.last_offset - base,
        base_ms,
        head.max_timestamp_ms,
        *head.producer,
        len(records),
    )
    covered += body
    length = _BEFORE_CRC.size + len(covered) - _NOT_IN_LENGTH
    return _BEFORE_CRC.pack(base, length, head.epoch, 2, crc32c(covered)) + covered


def _compressor(codec: str) -> Callable[[bytes], bytes]:
    if codec == "none":
        return bytes
    from kafka import codec as codecs

    found: Callable[[bytes], bytes] = getattr(codecs, f"{codec}_encode")
    return found


def encode(batch: Batch) -> bytes:
    """Bytes of a batch of Replog's; a delete horizon takes the place of the base timestamp."""
    has_horizon = batch.delete_horizon_ms is not None
    base_ms = batch.records[0].timestamp_ms if batch.records else -1
    return pack(
        Head(
            batch.base_offset,
            batch.last_offset,
            batch.epoch,
            TRANSACTIONAL * batch.transactional
            + CONTROL * (batch.control is not None)
            + HAS_HORIZON * has_horizon,
            base_ms if batch.delete_horizon_ms is None else batch.delete_horizon_ms,
            batch.timestamp_ms,
            (batch.producer_id, batch.producer_epoch, batch.base_sequence),
        ),
        [_packed(record, batch.control) for record in batch.records],
    )


def _packed(record: Record, control: Control | None) -> PackedRecord:
    key, value = (
        None if one is None else one.encode(errors=STRAY_BYTES)
        for one in (record.key, record.value)
    )
    if control is not None:
        key, value = marker_key(CONTROL_TYPES[control]), MARKER_VALUE
    attributes = TOMBSTONE * bool(record.flagged)
    return PackedRecord(record.offset, record.timestamp_ms, key, value, record.headers, attributes)


def marker_key(kind: int) -> bytes:
    """Key of a control record: its version and the number of its type (ControlRecordType)."""
    return struct.pack(">hh", 0, kind)


def _record(record: PackedRecord, base: int, base_ms: int) -> bytes:
    body = bytes([record.attributes])
    body += _varint(record.timestamp_ms - base_ms) + _varint(record.offset - base)
    body += _bytes(record.key) + _bytes(record.value) + _varint(len(record.headers))
    for name, content in record.headers:
        body += _bytes(name.encode()) + _bytes(content)
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    rest, out = (number << 1) ^ (number >> 63), []
    while True:
        rest, low = rest >> 7, rest & 0x7F
        out.append(low | (0x80 if rest else 0))
        if not rest:
            return bytes(out)


def _bytes(content: bytes | None) -> bytes:
    return _varint(-1) if content is None else _varint(len(content)) + content
