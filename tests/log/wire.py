"""Kafka's record batch of format 2, written and read byte by byte (KIP-98, KIP-534).

Shares no arithmetic with `sim.protocol.log.record`, so that the two can be compared. The checksum
is 0, and nothing is compressed. Source: the layouts in DefaultRecordBatch and DefaultRecord.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from msgspec.structs import replace

from sim.protocol.log import Batch, Control, Record

HEADER = struct.Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL, HAS_HORIZON = 1 << 4, 1 << 5, 1 << 6
TOMBSTONE = 1
"""KIP-87 takes a bit of the record's attributes for it; Kafka itself leaves them 0."""

CONTROL_TYPES = {
    Control.ABORT: 0,
    Control.COMMIT: 1,
    Control.LEADER_CHANGE: 2,
    Control.SNAPSHOT: 3,
}


class _Fields(NamedTuple):
    base_offset: int
    length: int
    epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int


def readable(batch: Batch) -> Batch:
    """What can be read back: no uids, and an empty control batch does not say which kind it is."""
    control = Control.COMMIT if batch.control and not batch.records else batch.control
    records = tuple(replace(record, uid=0) for record in batch.records)
    return replace(batch, records=records, control=control)


def encode(batch: Batch) -> bytes:
    """The bytes of a batch; a delete horizon takes the place of the base timestamp."""
    base_ms = batch.records[0].timestamp_ms if batch.records else -1
    if batch.delete_horizon_ms is not None:
        base_ms = batch.delete_horizon_ms
    attributes = (
        TRANSACTIONAL * batch.transactional
        + CONTROL * (batch.control is not None)
        + HAS_HORIZON * (batch.delete_horizon_ms is not None)
    )
    body = b"".join(_record(record, batch, base_ms) for record in batch.records)
    return (
        HEADER.pack(
            batch.base_offset,
            HEADER.size - 12 + len(body),
            batch.epoch,
            2,
            0,
            attributes,
            batch.last_offset - batch.base_offset,
            base_ms,
            batch.timestamp_ms,
            batch.producer_id,
            batch.producer_epoch,
            batch.base_sequence,
            len(batch.records),
        )
        + body
    )


def _record(record: Record, batch: Batch, base_ms: int) -> bytes:
    key = None if record.key is None else record.key.encode()
    value = None if record.value is None else record.value.encode()
    if batch.control is not None:
        key = struct.pack(">hh", 0, CONTROL_TYPES[batch.control])
        value = struct.pack(">hi", 0, 0)
    body = bytes([TOMBSTONE * bool(record.flagged)])
    body += _varint(record.timestamp_ms - base_ms) + _varint(record.offset - batch.base_offset)
    body += _bytes(key) + _bytes(value) + _varint(len(record.headers))
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


def decode(data: bytes) -> Batch:
    """The batch that `data` is; see `readable` for what it cannot say."""
    fields = _Fields._make(HEADER.unpack(data[: HEADER.size]))
    assert (fields.magic, fields.length) == (2, len(data) - 12)
    at = _Reader(data, HEADER.size)
    is_control = bool(fields.attributes & CONTROL)
    control = Control.COMMIT if is_control else None
    records = []
    for _ in range(fields.record_count):
        kind, record = at.record(fields, is_control=is_control)
        control = kind or control
        records.append(record)
    assert at.position == len(data)
    return Batch(
        fields.base_offset,
        fields.base_offset + fields.last_offset_delta,
        fields.epoch,
        tuple(records),
        fields.max_timestamp_ms,
        len(data),
        fields.producer_id,
        fields.producer_epoch,
        fields.base_sequence,
        bool(fields.attributes & TRANSACTIONAL),
        control,
        fields.base_timestamp_ms if fields.attributes & HAS_HORIZON else None,
    )


class _Reader:
    """Reads on from a position in the bytes."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position

    def take(self, count: int) -> bytes:
        found = self.data[self.position : self.position + count]
        self.position += count
        return found

    def varint(self) -> int:
        rest = shift = 0
        while True:
            byte = self.take(1)[0]
            rest |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (rest >> 1) ^ -(rest & 1)

    def content(self) -> bytes | None:
        length = self.varint()
        return None if length < 0 else self.take(length)

    def headers(self) -> Iterator[tuple[str, bytes]]:
        for _ in range(self.varint()):
            yield (self.content() or b"").decode(), self.content() or b""

    def record(self, fields: _Fields, *, is_control: bool) -> tuple[Control | None, Record]:
        end = self.varint() + self.position
        attributes = self.take(1)[0]
        timestamp_ms = fields.base_timestamp_ms + self.varint()
        offset = fields.base_offset + self.varint()
        key, value = self.content(), self.content()
        headers = tuple(self.headers())
        assert self.position == end
        if is_control:
            kinds = {number: control for control, number in CONTROL_TYPES.items()}
            return kinds[struct.unpack(">hh", key or b"")[1]], Record(
                offset, None, None, timestamp_ms, headers
            )
        flagged = bool(attributes & TOMBSTONE)
        return None, Record(offset, _text(key), _text(value), timestamp_ms, headers, flagged)


def _text(content: bytes | None) -> str | None:
    return None if content is None else content.decode()
