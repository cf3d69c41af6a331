"""Batches of a log file as Kafka's bytes, written by Kafka's own `DefaultRecordBatch`.

`MemoryRecordsBuilder` would refuse or recompute what a log file may give: a largest timestamp above
those of the records that are left, a producer without a sequence. Batches of magic 0 and 1, for
which 4.x has no public writer any more, are packed here: a message is its offset, size, CRC-32 of
the rest, magic, attributes, for magic 1 the timestamp, then key and value, each after its length.
Several records are the value of one compressed message, which has the offset of the last one;
inside it they have their own offsets (magic 0) or offsets relative to the first one (magic 1).
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jpype

from sim.errors import BadInput
from tests.conformance.jvm import java_class

NOTHING = -1
"""Kafka's "none" for a timestamp, a producer, an epoch of a producer, a sequence."""
MAGIC = 2
CONTROL_TYPES = range(8)
"""Numbers that Kafka may give to kinds of control records."""
UNCOMPRESSED, GZIP = 0, 1
LOG_APPEND_TIME = 8
"""Bit of the attributes for timestamps set by the broker (KIP-32)."""
_INT = range(-(2**31), 2**31)


class BatchWriter:
    """Writes batches of a log file as the bytes of a segment."""

    def __init__(self) -> None:
        self._batch = java_class(
            "common.record.internal.DefaultRecordBatch", "common.record.DefaultRecordBatch"
        )
        self._record = java_class(
            "common.record.internal.DefaultRecord", "common.record.DefaultRecord"
        )
        self._compressions = java_class(
            "common.record.CompressionType", "common.record.internal.CompressionType"
        )
        self._timestamp_types = java_class("common.record.TimestampType")
        kinds = java_class(
            "common.record.internal.ControlRecordType", "common.record.ControlRecordType"
        )
        self._kinds = {str(kinds.fromTypeId(each).name()): each for each in CONTROL_TYPES}
        self._header = java_class("common.header.internals.RecordHeader")
        self._headers = jpype.JArray(java_class("common.header.Header"))
        self._output = java_class("common.utils.ByteBufferOutputStream")
        self._data_output = java_class("java.io.DataOutputStream")
        self._buffer = java_class("java.nio.ByteBuffer")
        self._overhead = int(self._batch.RECORD_BATCH_OVERHEAD)
        self._has_horizons = _parameters(self._batch, "writeHeader") > 16

    def segment(self, batches: Iterable[Mapping[str, Any]]) -> bytes:
        """Bytes of these batches, one after the other."""
        return b"".join(self.batch(batch) for batch in batches)

    def batch(self, batch: Mapping[str, Any]) -> bytes:
        """Bytes of one batch, with its checksum.

        Raises:
            BadInput: A number does not fit the field that Kafka has for it.
        """
        if batch.get("magic", MAGIC) < MAGIC:
            return _old_bytes(batch)
        records = batch["records"]
        base, horizon = batch["base_offset"], batch.get("delete_horizon_ms")
        base_time = _base_timestamp(records) if horizon is None else horizon
        output = self._output(self._overhead + 64)
        output.position(self._overhead)
        compression = self._compressions.forName(batch.get("compression") or "none")
        data = self._data_output(self._compressing(output, compression))
        for record in records:
            self._write(data, record, base, base_time)
        data.close()
        size = int(output.buffer().position())
        flags = [bool(batch.get("transactional")), batch.get("control") is not None]
        if self._has_horizons:
            flags.append(horizon is not None)
        elif horizon is not None:
            raise BadInput(f"batch at offset {base}: this release of Kafka knows no delete horizon")
        buffer = output.buffer()
        buffer.position(0)
        try:
            self._batch.writeHeader(
                buffer,
                base,
                _delta(batch["last_offset"] - base),
                size,
                MAGIC,
                compression,
                self._timestamp_types.forName(batch.get("timestamp_type") or "CreateTime"),
                base_time,
                _largest_timestamp(batch),
                _number(batch, "producer_id", NOTHING),
                _number(batch, "producer_epoch", NOTHING),
                _number(batch, "base_sequence", NOTHING),
                *flags,
                _number(batch, "epoch", 0),
                len(records),
            )
        except (OverflowError, TypeError) as error:
            raise BadInput(f"batch at offset {base}: Kafka cannot hold it: {error}") from None
        return bytes(buffer.array())[:size]

    def _compressing(self, output: Any, compression: Any) -> Any:
        """A stream into `output` that compresses, unless `compression` is none."""
        if compression == self._compressions.NONE:
            return output
        if hasattr(compression, "wrapForOutput"):  # until 3.7
            return compression.wrapForOutput(output, MAGIC)
        codecs = java_class("common.compress.Compression")
        return codecs.of(compression).build().wrapForOutput(output, MAGIC)

    def _write(self, data: Any, record: Mapping[str, Any], base: int, base_time: int) -> None:
        time = record.get("timestamp_ms")
        headers = record.get("headers") or ()
        self._record.writeTo(
            data,
            _delta(record["offset"] - base),
            (NOTHING if time is None else time) - base_time,
            self._wrapped(self._key(record)),
            self._wrapped(_value(record)),
            self._headers([self._header(name, _bytes(value)) for name, value in headers]),
        )

    def _key(self, record: Mapping[str, Any]) -> bytes | None:
        """Bytes of a key; that of a control record is its version and type (ControlRecordType)."""
        marker = record.get("marker")
        if marker is None:
            return _bytes(record.get("key"))
        return struct.pack(">hh", 0, self._kinds[marker])

    def _wrapped(self, content: bytes | None) -> Any:
        return None if content is None else self._buffer.wrap(content)


def _parameters(of: Any, method: str) -> int:
    return max(
        len(each.getParameterTypes())
        for each in of.class_.getDeclaredMethods()
        if each.getName() == method
    )


def _number(batch: Mapping[str, Any], name: str, default: int) -> int:
    value = batch.get(name)
    return default if value is None else int(value)


def _delta(delta: int) -> int:
    if delta not in _INT:
        raise BadInput(f"offset delta {delta}: Kafka keeps the offsets of a batch in 31 bits")
    return delta


def _base_timestamp(records: Sequence[Mapping[str, Any]]) -> int:
    """Base timestamp that Kafka writes: that of the first record; -1 without records."""
    return _number(records[0], "timestamp_ms", NOTHING) if records else NOTHING


def _largest_timestamp(batch: Mapping[str, Any]) -> int:
    if batch.get("timestamp_ms") is not None:
        return int(batch["timestamp_ms"])
    return max((_number(each, "timestamp_ms", NOTHING) for each in batch["records"]), default=-1)


def _value(record: Mapping[str, Any]) -> bytes | None:
    """Bytes of a value; a marker has version and coordinator epoch (EndTransactionMarker).

    A change of the leader gets the same, as no cleaner reads it (LeaderChangeMessage has more).
    """
    return _bytes(record.get("value")) if record.get("marker") is None else struct.pack(">hi", 0, 0)


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
    magic, records = int(batch["magic"]), batch["records"]
    attributes = LOG_APPEND_TIME if batch.get("timestamp_type") == "LogAppendTime" else 0
    compressed = len(records) > 1 or batch.get("compression") not in (None, "none")
    first, last = int(records[0]["offset"]), int(records[-1]["offset"])
    given = batch.get("timestamp_ms")
    own = [_number(record, "timestamp_ms", NOTHING) for record in records]
    times = own if given is None else [int(given)] * len(records)
    if not compressed:
        only = records[0]
        key, value = _bytes(only.get("key")), _bytes(only.get("value"))
        return _message(last, magic, attributes, times[0], key, value)
    inner = b"".join(
        _message(
            int(record["offset"]) - (first if magic == 1 else 0),
            magic,
            UNCOMPRESSED,
            _number(record, "timestamp_ms", NOTHING),
            _bytes(record.get("key")),
            _bytes(record.get("value")),
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
