"""Batches of a log file as the bytes of a segment.

Batches of magic 2 are written by `tests.log.wire`. Those of magic 0 and 1 are packed here: a
message is its offset, size, CRC-32 of the rest, magic, attributes, for magic 1 the timestamp, then
key and value, each after its length. Several records are the value of one compressed message, which
has the offset of the last one; inside it they have their own offsets (magic 0) or offsets relative
to the first one (magic 1).
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.conformance.compare import Json
from tests.conformance.jvm import record_class
from tests.log.wire import (
    CODECS,
    CONTROL,
    HAS_HORIZON,
    LOG_APPEND_TIME,
    MARKER_VALUE,
    TRANSACTIONAL,
    Head,
    PackedRecord,
    marker_key,
    pack,
)

NOTHING = -1
"""Kafka's "none" for a timestamp, a producer, an epoch of a producer, a sequence."""
MAGIC = 2


def batches_of(segment: Any) -> list[Json]:
    """Batches of a segment of a log file, which is an object or a list."""
    batches: list[Json] = segment["batches"] if isinstance(segment, dict) else segment
    return batches


def written_batches(document: Json) -> Iterator[Json]:
    """All batches of a log file: those that it begins with and those that it appends."""
    for segment in document["segments"]:
        yield from batches_of(segment)
    for step in document["steps"]:
        yield from step.get("batches", ())


def write_segments(segments: Sequence[Any], folder: Path) -> dict[str, int]:
    """Makes a partition's folder with the segments of a log file; gives the size of each file.

    A segment without batches and without a base offset of its own begins where the last one ended.
    """
    folder.mkdir()
    end = 0
    for segment in segments:
        batches = batches_of(segment)
        base = batches[0]["base_offset"] if batches else end
        if isinstance(segment, dict):
            base = segment["base_offset"]
        (folder / f"{base:020}.log").write_bytes(b"".join(map(batch_bytes, batches)))
        end = batches[-1]["last_offset"] + 1 if batches else base
    return sizes_in(folder)


def sizes_in(folder: Path) -> dict[str, int]:
    """Size of each segment in a partition's folder in bytes, by the name of its file."""
    return {file.name: file.stat().st_size for file in folder.glob("*.log")}


def batch_bytes(batch: Mapping[str, Any]) -> bytes:
    """Bytes of one batch of a log file, with its checksum.

    Raises:
        struct.error: A number does not fit the field that Kafka has for it.
    """
    if batch.get("magic", MAGIC) < MAGIC:
        return _old_bytes(batch)
    records = [_packed(record) for record in batch["records"]]
    times = [record.timestamp_ms for record in records] or [NOTHING]
    head = Head(
        batch["base_offset"],
        batch["last_offset"],
        _number(batch, "epoch", 0),
        LOG_APPEND_TIME * (batch.get("timestamp_type") == "LogAppendTime")
        + TRANSACTIONAL * bool(batch.get("transactional"))
        + CONTROL * (batch.get("control") is not None)
        + HAS_HORIZON * (batch.get("delete_horizon_ms") is not None),
        _number(batch, "delete_horizon_ms", times[0]),
        _number(batch, "timestamp_ms", max(times)),
        (
            _number(batch, "producer_id", NOTHING),
            _number(batch, "producer_epoch", NOTHING),
            _number(batch, "base_sequence", NOTHING),
        ),
    )
    return pack(head, records, batch.get("compression") or "none")


def _packed(record: Mapping[str, Any]) -> PackedRecord:
    key, value = _bytes(record.get("key")), _bytes(record.get("value"))
    if record.get("marker") is not None:
        key, value = marker_key(_control_types()[record["marker"]]), MARKER_VALUE
    headers = [(name, _bytes(content)) for name, content in record.get("headers") or ()]
    time_ms = _number(record, "timestamp_ms", NOTHING)
    return PackedRecord(record["offset"], time_ms, key, value, headers)


@cache
def _control_types() -> dict[str, int]:
    """Number of each type of control record: LEADER_CHANGE is 3 in Kafka 2.8, and 2 since."""
    kinds = record_class("ControlRecordType")
    return {str(kinds.fromTypeId(number).name()): number for number in range(4)}


def _number(of: Mapping[str, Any], name: str, default: int) -> int:
    value = of.get(name)
    return default if value is None else int(value)


def _bytes(value: object) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    if isinstance(value, int):
        return struct.pack(">q", value)
    return str(value).encode()


def _old_bytes(batch: Mapping[str, Any]) -> bytes:
    """Bytes of a batch of magic 0 or 1, compressed by gzip if it is compressed."""
    magic, records = batch["magic"], [_packed(record) for record in batch["records"]]
    attributes = LOG_APPEND_TIME * (batch.get("timestamp_type") == "LogAppendTime")
    first, last = records[0], records[-1]
    time_ms = _number(batch, "timestamp_ms", max(record.timestamp_ms for record in records))
    if len(records) == 1 and batch.get("compression") in (None, "none"):
        return _message(last._replace(timestamp_ms=time_ms), magic, attributes)
    base = first.offset if magic == 1 else 0
    inner = (_message(one._replace(offset=one.offset - base), magic) for one in records)
    wrapped = gzip.compress(b"".join(inner), mtime=0)
    whole = PackedRecord(last.offset, time_ms, None, wrapped)
    return _message(whole, magic, attributes | CODECS.index("gzip"))


def _message(record: PackedRecord, magic: int, attributes: int = 0) -> bytes:
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", record.timestamp_ms)
    for part in (record.key, record.value):
        body += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", record.offset, len(body) + 4, zlib.crc32(body)) + body
