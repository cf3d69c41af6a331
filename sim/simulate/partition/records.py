"""Record batches from their bytes, each checked by its CRC.

The formats are read by kafka-python. Kafka describes them in DefaultRecordBatch, DefaultRecord and
AbstractLegacyRecordBatch; that a base timestamp may be a delete horizon is KIP-534
(DefaultRecordBatch.deleteHorizonMs, bit 6 of the attributes).
"""

from __future__ import annotations

import gzip
import warnings
from contextlib import suppress
from enum import Enum
from functools import cache
from io import BytesIO
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.formats import old_batch
from sim.protocol.log.record import STRAY_BYTES

MAGIC: Final = 2
_MAGIC_AT: Final = 16
"""Where the magic byte of a batch stands in each format, in bytes."""
UNPACKED_BYTES_MAX: Final = 1 << 27
"""Most bytes of a batch's records; a producer's `batch.size` is 16 KiB by default."""
_HORIZON_BIT: Final = 0x40
"""Attribute of a batch whose base timestamp is its delete horizon (KIP-534)."""
_RECORDS_AT: Final = {0: 26, 1: 34, MAGIC: 61}
"""Where the records of a batch begin; those of an older format are its value if compressed."""
_CODECS: Final = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_CONTROLS: Final = {0: Control.ABORT, 1: Control.COMMIT}
"""What a control record's type says of a transaction (ControlRecordType); others say nothing."""
_CHUNK: Final = 1 << 16
_XERIAL: Final = b"\x82SNAPPY\0"
"""First bytes of snappy blocks by xerial's library, which Kafka uses; each has its size before."""
_XERIAL_HEADER_BYTES: Final = 16


class Detail(Enum):
    """How much of each record is kept in memory."""

    HEADERS = "no records but markers, the headers of batches alone"
    SIZES = "records whose values have the right size and no content"
    WHOLE = "records as they are"


class Stored(NamedTuple):
    """A batch as a file holds it.

    Attributes:
        position: Where it begins in the file, in bytes.
        batch: The batch; `size_bytes` is its size in the file, compressed or not.
        codec: Its compression: `none`, `gzip`, `snappy`, `lz4` or `zstd`.
        record_count: Number of its records, kept in memory or not.
    """

    position: int
    batch: Batch
    codec: str
    record_count: int


def stored_in(packed: bytes, position: int, detail: Detail, aborts: frozenset[int]) -> Stored:
    """The batch in its bytes.

    Args:
        packed: The bytes of the batch, from its base offset on.
        position: Where they stand in the file, in bytes.
        detail: How much of each record is kept.
        aborts: Offsets of the ABORT markers that an index lists. An emptied marker has lost its
            record, so that only an index knows it; what stands in none is a COMMIT.

    Raises:
        ValueError: The magic is unknown, the CRC is wrong, or the records unpack to too many bytes.
        Exception: Errors of kafka-python, and of the library of a codec.
    """
    if packed[_MAGIC_AT] > MAGIC:
        raise ValueError(f"magic {packed[_MAGIC_AT]}; known: 0 to {MAGIC}")
    found = kafka_python()(packed).next_batch()
    if not found.validate_crc():
        raise ValueError(f"a wrong CRC of the batch at offset {found.base_offset}")
    codec = _CODECS.get(found.compression_type, "unknown")
    is_control = found.magic == MAGIC and found.is_control_batch
    records: list[Record] = []
    if is_control or found.magic < MAGIC or detail is not Detail.HEADERS:
        _check_unpacked(codec, packed[_RECORDS_AT[found.magic] :])
        read = list(found)
        records = [_record(one, detail) for one in read]
    if found.magic < MAGIC:
        old = old_batch(found.magic, tuple([replace(one, flagged=None) for one in records]))
        batch: Batch = replace(old, records=() if detail is Detail.HEADERS else old.records)
    elif is_control:
        markers = [replace(one, key=None, value=None, flagged=False) for one in records]
        control = Control.ABORT if found.last_offset in aborts else Control.COMMIT
        if read:
            control = _CONTROLS.get(read[0].type, Control.LEADER_CHANGE)
        batch = _batch(found, markers, control)
    else:
        batch = _batch(found, records, None)
    count = len(records) if found.magic < MAGIC else found.records_count
    return Stored(position, replace(batch, size_bytes=len(packed)), codec, count)


def has_right_crc(packed: bytes) -> bool:
    """Checks whether bytes are those of a batch."""
    with suppress(Exception):  # of kafka-python, where they are not
        return bool(kafka_python()(packed).next_batch().validate_crc())
    return False


@cache
def kafka_python() -> Any:
    """kafka-python's reader of batches; its import warns of its own use of importlib.resources."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        from kafka.record import MemoryRecords

    return MemoryRecords


def text_of(content: bytes | None) -> str | None:
    """A key or a value as records have it: text, with a lone surrogate for each stray byte."""
    return None if content is None else content.decode(errors=STRAY_BYTES)


def _batch(found: Any, records: list[Record], control: Control | None) -> Batch:
    """A batch of magic 2."""
    return Batch(
        base_offset=found.base_offset,
        last_offset=found.last_offset,
        epoch=found.leader_epoch,
        records=tuple(records),
        timestamp_ms=found.max_timestamp,
        size_bytes=found.size_in_bytes,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        base_sequence=found.base_sequence,
        transactional=found.is_transactional,
        control=control,
        delete_horizon_ms=found.first_timestamp if found.attributes & _HORIZON_BIT else None,
    )


def _record(one: Any, detail: Detail) -> Record:
    offset, value, headers = one.offset, one.value, one.headers
    return Record(
        offset,
        text_of(one.key),
        text_of(value) if detail is Detail.WHOLE or value is None else _text_of_size(len(value)),
        -1 if one.timestamp is None else one.timestamp,
        tuple([(name, content or b"") for name, content in headers]) if headers else (),
        value is None,
        uid=offset + 1,
    )


@cache
def _text_of_size(count: int) -> str:
    return "x" * count


def _check_unpacked(codec: str, packed: bytes) -> None:
    """Checks that compressed records fit in memory: kilobytes may unpack to gigabytes.

    Raises:
        ValueError: They unpack to more than `UNPACKED_BYTES_MAX`.
        Exception: Errors of the codec's library: they are not so compressed.
    """
    size = 0
    if codec == "snappy":
        size = _snappy_bytes(packed)
    elif codec in ("gzip", "lz4", "zstd"):
        unpacked = _opened(codec, BytesIO(packed))
        while size <= UNPACKED_BYTES_MAX and (chunk := unpacked.read(_CHUNK)):
            size += len(chunk)
    if size > UNPACKED_BYTES_MAX:
        text = f"{len(packed)} bytes of {codec} unpack to more than {UNPACKED_BYTES_MAX}"
        raise ValueError(f"{text}, the most that is read of a batch")


def _opened(codec: str, packed: BytesIO) -> Any:
    """A file of the unpacked bytes."""
    if codec == "gzip":
        return gzip.GzipFile(fileobj=packed)
    if codec == "lz4":
        from lz4.frame import LZ4FrameFile

        return LZ4FrameFile(packed)
    from zstandard import ZstdDecompressor

    return ZstdDecompressor().stream_reader(packed)


def _snappy_bytes(packed: bytes) -> int:
    """The sum of the sizes that blocks begin with."""
    from cramjam import snappy  # what python-snappy is made of

    if not packed.startswith(_XERIAL):
        return int(snappy.decompress_raw_len(packed))
    at, size = _XERIAL_HEADER_BYTES, 0
    while at < len(packed):
        end = at + 4 + int.from_bytes(packed[at : at + 4], "big")
        size += snappy.decompress_raw_len(packed[at + 4 : end])
        at = end
    return size
