"""Segment files: their record batches, each checked by its CRC, and the indexes beside them.

Batches are read by kafka-python. Kafka describes them in DefaultRecordBatch, DefaultRecord and
AbstractLegacyRecordBatch; that a base timestamp may be a delete horizon is KIP-534
(DefaultRecordBatch.deleteHorizonMs, bit 6 of the attributes). Sources of the indexes: AbortedTxn
and TransactionIndex, OffsetIndex.
"""

from __future__ import annotations

import os
import re
import struct
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from itertools import islice
from mmap import mmap
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from sim.errors import BadInput
from sim.files.reading import opened, read_bytes
from sim.files.shipped import check_extra
from sim.protocol.log import AbortedTransaction, Batch, Control, Record
from sim.protocol.log.formats import old_batch
from sim.protocol.log.record import STRAY_BYTES

MAGIC: Final = 2
_MAGIC_AT: Final = 16
"""Where the magic byte of a batch stands in each format, in bytes."""
UNPACKED_BYTES_MAX: Final = 1 << 27
"""Most bytes of a batch's records; a producer's `batch.size` is 16 KiB by default."""
_ROOM: Final = mmap(-1, UNPACKED_BYTES_MAX)
"""Room for the unpacked records of a batch; pages take memory when they are written to."""
_HORIZON_BIT: Final = 0x40
"""Attribute of a batch whose base timestamp is its delete horizon (KIP-534)."""
_RECORDS_AT: Final = {0: 26, 1: 34, MAGIC: 61}
"""Where the records of a batch begin, in bytes, by magic; below 2 its value, if compressed."""
_LIBRARIES: Final = ("kafka", "crc32c", "cramjam", "snappy", "lz4", "zstandard")
"""Modules that read batches, and unpack their records."""
_CODECS: Final = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_CONTROLS: Final = {0: Control.ABORT, 1: Control.COMMIT}
"""What a control record's type says of a transaction (ControlRecordType); others say nothing."""
_XERIAL: Final = b"\x82SNAPPY\0"
"""First bytes of snappy blocks by xerial's library, which Kafka uses; a size precedes each."""
_XERIAL_HEADER_BYTES: Final = 16


class Damaged(BadInput):
    """A file that no broker leaves behind as it is."""

    def __init__(self, file: Path, what: str, *, position: int | None = None) -> None:
        """Names the file, the position in bytes where the damage begins, and what is wrong."""
        where = "" if position is None else f": position {position}"
        super().__init__(f"{file}{where}: {what}")


class Detail(Enum):
    """The parts of each record that are kept in memory."""

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
    read: list[Any] = []
    if is_control or found.magic < MAGIC or detail is not Detail.HEADERS:
        _check_unpacked(codec, packed[_RECORDS_AT[found.magic] :])
        read = list(found)
    records = tuple([_record(one, detail) for one in read])
    if found.magic < MAGIC:
        old = old_batch(found.magic, tuple([replace(one, flagged=None) for one in records]))
        kept = () if detail is Detail.HEADERS else old.records
        batch: Batch = replace(old, records=kept, size_bytes=len(packed))
        return Stored(position, batch, codec, len(records))
    control = None
    if is_control:
        control = Control.ABORT if found.last_offset in aborts else Control.COMMIT
        if read:
            control = _CONTROLS.get(read[0].type, Control.LEADER_CHANGE)
        records = tuple([replace(one, key=None, value=None, flagged=False) for one in records])
    batch = Batch(
        base_offset=found.base_offset,
        last_offset=found.last_offset,
        epoch=found.leader_epoch,
        records=records,
        timestamp_ms=found.max_timestamp,
        size_bytes=len(packed),
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        base_sequence=found.base_sequence,
        transactional=found.is_transactional,
        control=control,
        delete_horizon_ms=found.first_timestamp if found.attributes & _HORIZON_BIT else None,
    )
    return Stored(position, batch, codec, found.records_count)


@cache
def kafka_python() -> Any:
    """kafka-python's reader of batches; its import warns of its own use of importlib.resources."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        from kafka.record import MemoryRecords

    return MemoryRecords


def text_of(content: bytes | None) -> str | None:
    """A key or a value as records have it: text, with a lone surrogate for each stray byte."""
    return None if content is None else content.decode(errors=STRAY_BYTES)


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
        ValueError: They are not so compressed, or unpack to more than `UNPACKED_BYTES_MAX`.
    """
    import cramjam

    fits = True
    if codec == "snappy":
        fits = _snappy_bytes(packed) <= UNPACKED_BYTES_MAX
    elif codec in ("gzip", "lz4", "zstd"):
        try:
            getattr(cramjam, codec).decompress_into(packed, _ROOM)
        except cramjam.DecompressionError:
            fits = False
    if not fits:
        text = f"{len(packed)} bytes of {codec} are damaged, or unpack to more than"
        raise ValueError(f"{text} {UNPACKED_BYTES_MAX}, the most that is read of a batch")


def _snappy_bytes(packed: bytes) -> int:
    """The size of the unpacked blocks in bytes, by the sizes that they begin with."""
    from cramjam import snappy

    if not packed.startswith(_XERIAL):
        return int(snappy.decompress_raw_len(packed))
    at, size = _XERIAL_HEADER_BYTES, 0
    while at < len(packed):
        end = at + 4 + int.from_bytes(packed[at : at + 4], "big")
        size += snappy.decompress_raw_len(packed[at + 4 : end])
        at = end
    return size


SEGMENT: Final = re.compile(r"\d{20}\.log")
_PREFIX_BYTES: Final = 12
"""Bytes of a batch's base offset and of its length, which counts what follows both."""
BATCH_BYTES_MAX: Final = 1 << 27
"""A longer batch is taken for damage of its length: `max.message.bytes` is 1 MiB by default."""
_SEARCHED_BYTES: Final = 1 << 21
"""Bytes that are searched for a batch behind the last whole one."""
_CANDIDATES: Final = 100
"""Places there that are tried at most: few bytes look like the beginning of a batch."""


@dataclass(frozen=True)
class PartitionSegment:
    """A segment of a partition.

    Attributes:
        path: Its file, or the dump of it.
        base_offset: The offset that names it (inclusive).
        size_bytes: Its size on disk in bytes; for a dump the sum of its batches.
        whole_bytes: Where its last whole batch ends, in bytes: what follows was cut off.
        last_modified_ms: When it was last modified, in ms; None if a dump does not say.
        aborted: Entries of its index of aborted transactions; None where there is no index, and
            the batches tell.
        index: Entries of its offset index: offset by position of the batch in bytes.
        dumped: Its batches in order, with all that a dump says of their records; None for a file.
    """

    path: Path
    base_offset: int
    size_bytes: int
    whole_bytes: int
    last_modified_ms: int | None = None
    aborted: tuple[AbortedTransaction, ...] | None = None
    index: Mapping[int, int] = field(default_factory=dict)
    dumped: tuple[Stored, ...] | None = None

    def read(self, detail: Detail) -> Iterator[Stored]:
        """Whole batches in order.

        Raises:
            Damaged: A batch, or the offset index, is not as it was written; those before it were
                given.
        """
        return self._read(detail) if self.dumped is None else iter(self.dumped)

    def _read(self, detail: Detail) -> Iterator[Stored]:
        check_extra("partitions of brokers need", "kafka", *_LIBRARIES)
        position, known = 0, dict(self.index)
        aborts = frozenset(one.last_offset for one in self.aborted or ())
        with opened(self.path) as content:
            while position < self.whole_bytes:
                start = content.read(_PREFIX_BYTES)
                packed = start + content.read(max(0, _length(start)))
                try:
                    stored = stored_in(packed, position, detail, aborts)
                except Exception as error:
                    read = f"{position} of {self.size_bytes} bytes could be read before it"
                    text = f"a batch that cannot be read: {str(error) or repr(error)}; {read}"
                    raise Damaged(self.path, text, position=position) from error
                if known.get(position, -1) >= stored.batch.base_offset:
                    del known[position]
                yield stored
                position += len(packed)
            if position < self.size_bytes:
                self._check_end(os.pread(content.fileno(), _SEARCHED_BYTES, position))
        for position, offset in known.items():
            text = (
                f"offset {offset} is at position {position}; in {self.path.name} no batch with it"
            )
            raise Damaged(self.path.with_suffix(".index"), f"{text} begins there")

    def _check_end(self, rest: bytes) -> None:
        """Checks that a batch is cut off: if only its length were wrong, others would follow.

        Looks for a batch of magic 2 whose offset is near that of the segment.

        Raises:
            Damaged: A batch whose CRC is right follows.
        """
        near = re.escape(self.base_offset.to_bytes(8, "big")[:4])
        beginnings = re.finditer(b"(?s)(?=%s.{12}\x02)" % near, rest)
        for start in (one.start() for one in islice(beginnings, _CANDIDATES)):
            follows = False
            with suppress(Exception):  # of kafka-python, where no batch begins
                follows = kafka_python()(rest[start:]).next_batch().validate_crc()
            if follows:
                text = f"no whole batch, and one follows at {self.whole_bytes + start}"
                raise Damaged(self.path, text, position=self.whole_bytes)


def segment_at(path: Path) -> PartitionSegment:
    """The segment in the file at `path`, whose name is a base offset. Raises BadInput.

    The last whole batch is found by the lengths of batches alone.
    """
    base_offset, whole = int(path.stem), 0
    # The index first: what a broker appends meanwhile then has no entry yet.
    index = index_in(path.with_suffix(".index"), base_offset)
    aborted = aborted_in(path.with_suffix(".txnindex"))
    with opened(path) as content:
        found = os.fstat(content.fileno())
        while True:
            length = _length(os.pread(content.fileno(), _PREFIX_BYTES, whole))
            end = whole + _PREFIX_BYTES + length
            if not 0 < length <= BATCH_BYTES_MAX or end > found.st_size:
                break
            whole = end
    modified_ms = found.st_mtime_ns // 1_000_000
    return PartitionSegment(path, base_offset, found.st_size, whole, modified_ms, aborted, index)


def _length(start: bytes) -> int:
    """The length in bytes that a batch gives itself, without its first twelve.

    If some of these are missing, it means nothing.
    """
    return int.from_bytes(start[8:_PREFIX_BYTES], "big", signed=True)


INDEX_BYTES_MAX: Final = 1 << 27
"""Most bytes that are read of a small file; `segment.index.bytes` is 10 MiB by default."""
_ABORTED: Final = struct.Struct(">hqqqq")
_OFFSET_ENTRY: Final = struct.Struct(">ii")


def content_of(file: Path) -> bytes:
    """The content of a small file beside segments; nothing without a file. Raises BadInput."""
    return read_bytes(file, limit=INDEX_BYTES_MAX) if file.exists() else b""


def _entries(file: Path, form: struct.Struct) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Position and numbers of each entry of an index. Raises Damaged."""
    content = content_of(file)
    if len(content) % form.size:
        raise Damaged(file, f"{len(content)} bytes are no whole entries of {form.size}")
    for number, entry in enumerate(form.iter_unpack(content)):
        yield number * form.size, entry


def aborted_in(file: Path) -> tuple[AbortedTransaction, ...] | None:
    """The aborted transactions in a segment's `.txnindex`; None without a file. Raises Damaged."""
    if not file.exists():
        return None
    found: list[AbortedTransaction] = []
    for position, (version, *numbers) in _entries(file, _ABORTED):
        entry = AbortedTransaction(*numbers)
        ascends = not found or found[-1].last_offset < entry.last_offset
        if version != 0 or not 0 <= entry.first_offset <= entry.last_offset or not ascends:
            raise Damaged(file, "no aborted transaction", position=position)
        found.append(entry)
    return tuple(found)


def index_in(file: Path, base_offset: int) -> dict[int, int]:
    """The entries of an offset index: offset by position of a batch in bytes, if above 0.

    Until a clean shutdown the active segment's index ends in zeroes, and a truncation leaves stale
    entries in it (AbstractIndex.truncateToEntries), so that it is read as empty.

    Args:
        file: The `.index` file.
        base_offset: The offset that its entries count from.

    Raises:
        Damaged: An entry does not ascend, or is not whole.
    """
    found: dict[int, int] = {}
    last = (-1, -1)
    if content_of(file).endswith(bytes(_OFFSET_ENTRY.size)):
        return found
    for place, (relative, position) in _entries(file, _OFFSET_ENTRY):
        if relative <= last[0] or position <= last[1]:
            text = f"offset {base_offset + relative} follows {base_offset + last[0]}"
            raise Damaged(file, text, position=place)
        last = (relative, position)
        if position > 0:
            found[position] = base_offset + relative
    return found
