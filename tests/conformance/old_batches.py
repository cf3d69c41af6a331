"""Batches of magic 0 and 1 as Kafka's bytes; 4.x has no public writer of them any more.

A message: offset, size, CRC-32 of the rest, magic, attributes, for magic 1 the timestamp, then key
and value, each after its length. Several records are the value of one compressed message, with
their own offsets (magic 0) or offsets from the first one's on (magic 1), and it has the last one's.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Mapping
from typing import Any

NO_TIMESTAMP = -1
UNCOMPRESSED, GZIP = 0, 1
LOG_APPEND_TIME = 8
"""The bit of the attributes that tells the type of the timestamp (KIP-32)."""


def old_bytes(batch: Mapping[str, Any]) -> bytes:
    """The bytes of a batch of a log file that says magic 0 or 1; gzip where it is compressed."""
    magic, records = int(batch["magic"]), batch["records"]
    attributes = LOG_APPEND_TIME if batch.get("timestamp_type") == "LogAppendTime" else 0
    compressed = len(records) > 1 or batch.get("compression") not in (None, "none")
    first, last = int(records[0]["offset"]), int(records[-1]["offset"])
    given = batch.get("timestamp_ms")
    times = [_time(record) if given is None else int(given) for record in records]
    if not compressed:
        only = records[0]
        key, value = _bytes(only, "key"), _bytes(only, "value")
        return _message(last, magic, attributes, times[0], key, value)
    inner = b"".join(
        _message(
            int(record["offset"]) - (first if magic == 1 else 0),
            magic,
            UNCOMPRESSED,
            _time(record),
            _bytes(record, "key"),
            _bytes(record, "value"),
        )
        for record in records
    )
    wrapped = gzip.compress(inner, mtime=0)
    return _message(last, magic, attributes | GZIP, max(times), None, wrapped)


def _message(
    offset: int,
    magic: int,
    attributes: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
) -> bytes:
    body = struct.pack(">bb", magic, attributes)
    if magic == 1:
        body += struct.pack(">q", timestamp_ms)
    for part in (key, value):
        body += struct.pack(">i", -1) if part is None else struct.pack(">i", len(part)) + part
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def _time(record: Mapping[str, Any]) -> int:
    given = record.get("timestamp_ms")
    return NO_TIMESTAMP if given is None else int(given)


def _bytes(record: Mapping[str, Any], name: str) -> bytes | None:
    value = record.get(name)
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    return None if value is None else str(value).encode()
