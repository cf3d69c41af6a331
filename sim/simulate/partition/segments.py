"""Segment files: the record batches of a `.log` file, each checked by its CRC.

The record formats are read by kafka-python. Kafka describes them in DefaultRecordBatch,
DefaultRecord and AbstractLegacyRecordBatch; that a base timestamp may be a delete horizon is
KIP-534 (DefaultRecordBatch.deleteHorizonMs, bit 6 of the attributes).
"""

from __future__ import annotations

import errno
import os
import stat
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn

from msgspec.structs import replace

from sim.errors import BadInput
from sim.files.shipped import check_extra
from sim.protocol.log import Batch, Control, Record
from sim.protocol.log.formats import old_batch
from sim.protocol.log.record import STRAY_BYTES
from sim.simulate.partition.damage import Damaged
from sim.simulate.partition.unpacked import UNPACKED_BYTES_MAX, unpacked_bytes

HORIZON_BIT: Final = 0x40
"""Attribute of a batch whose base timestamp is its delete horizon (KIP-534)."""
MAGIC: Final = 2
_PREFIX_BYTES: Final = 12
"""A batch's base offset and its length without these two, which every format begins with."""
_LEAST_LENGTH: Final = {0: 14, 1: 22, MAGIC: 49}
"""The least length that a batch of each magic gives itself."""
_RECORDS_AT: Final = {0: 26, 1: 34, MAGIC: 61}
"""Where the records of a batch begin; those of an older format are its value if compressed."""
_MAGIC_AT: Final = 4
"""Where the magic byte stands behind the length."""
BATCH_BYTES_MAX: Final = 1 << 27
"""A longer batch is taken for damage of its length: `max.message.bytes` is 1 MiB by default."""
_SPAN: Final = 1 << 31
"""Most offsets of a segment."""
_CHUNK: Final = 1 << 20
_CODECS: Final = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}
_CONTROLS: Final = {0: Control.ABORT, 1: Control.COMMIT}
"""What a control record's type says of a transaction (ControlRecordType); others say nothing."""


class Detail(Enum):
    """How much of each record is kept in memory."""

    HEADERS = "no records but markers, the headers of batches alone"
    SIZES = "records whose values have the right size and no content"
    WHOLE = "records as they are"


class Torn(NamedTuple):
    """The end of a file that holds no whole batch, as a running broker or a crash leaves it.

    Attributes:
        position: Where it begins, in bytes.
        size_bytes: Its bytes.
    """

    position: int
    size_bytes: int


class Stored(NamedTuple):
    """A batch as a file holds it.

    Attributes:
        position: Where it begins in the file, in bytes.
        batch: The batch; `size_bytes` is its size in the file, compressed or not.
        codec: Its compression: `none`, `gzip`, `snappy`, `lz4` or `zstd`.
        record_count: Records that it holds.
    """

    position: int
    batch: Batch
    codec: str
    record_count: int


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """A segment file.

    Attributes:
        path: The file.
        base_offset: The offset that names it (inclusive).
        size_bytes: Its size.
        last_modified_ms: When it was last modified, in ms.
    """

    path: Path
    base_offset: int
    size_bytes: int
    last_modified_ms: int

    @classmethod
    def at(cls, path: Path) -> SegmentFile:
        """Looks at the file at `path`, whose name is a base offset. Raises BadInput, OSError."""
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f"{path}: is no regular file, so no segment")
        return cls(path, int(path.stem), found.st_size, found.st_mtime_ns // 1_000_000)


def torn_end(file: SegmentFile) -> Torn | None:
    """The end of a file that holds no whole batch, by the lengths of batches alone."""
    position = 0
    with _opened(file.path) as content:
        while position < file.size_bytes:
            start = os.pread(content.fileno(), _PREFIX_BYTES, position)
            length = int.from_bytes(start[8:], "big", signed=True)
            end = position + _PREFIX_BYTES + length
            if len(start) < _PREFIX_BYTES or length <= 0 or end > file.size_bytes:
                return Torn(position, file.size_bytes - position)
            position = end
    return None


class SegmentReader:
    """Reads the batches of a segment file in order.

    Attributes:
        torn: The end that holds no whole batch; None before the end was reached, or without one.
        end: Position after the last whole batch, in bytes.
    """

    def __init__(
        self, file: SegmentFile, detail: Detail, aborts: frozenset[int] = frozenset()
    ) -> None:
        """Reads `file`; `aborts` are the offsets of ABORT markers in its transaction index."""
        check_extra("partitions of brokers need", "kafka", "kafka", "crc32c")
        self.file = file
        self.torn: Torn | None = None
        self.end = 0
        self._detail = detail
        self._aborts = aborts

    def batches(self) -> Iterator[Stored]:
        """Every whole batch.

        Raises:
            Damaged: A batch is not as it was written; those before it were given.
        """
        for position, found in self.raw():
            yield self._stored(position, found)

    def raw(self) -> Iterator[tuple[int, Any]]:
        """Position and kafka-python's batch of every whole batch. Raises Damaged."""
        end = self.file.base_offset
        with _opened(self.file.path) as content:
            for position, found in self._whole(content):
                first = self._first_offset(found, position)
                if first < end:
                    self.fail(position, f"a batch begins at offset {first}, below {end}, the end")
                end = last_offset_of(found) + 1
                yield position, found

    def records_of(self, found: Any, position: int) -> list[Any]:
        """The records of one of kafka-python's batches, which gives them once. Raises Damaged."""
        try:
            return list(found)
        except _kafka_python()[2] as error:
            raise BadInput(f"{self.file.path}: position {position}: {error}") from None
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - each codec raises errors of its own
            self.fail(position, f"records that cannot be read: {error}", error)

    def fail(self, position: int, what: str, cause: BaseException | None = None) -> NoReturn:
        """Reports damage at a position. Raises Damaged."""
        read = f"; {self.end} of {self.file.size_bytes} bytes could be read before it"
        raise Damaged(self.file.path, what + read, position=position) from cause

    def _whole(self, content: BinaryIO) -> Iterator[tuple[int, Any]]:
        """Reads position and batch of all whole batches; checks the CRC of each."""
        position, size = 0, self.file.size_bytes
        while position < size:
            start = content.read(_PREFIX_BYTES)
            length = int.from_bytes(start[8:], "big", signed=True)
            if len(start) < _PREFIX_BYTES or (start == bytes(_PREFIX_BYTES) and _zero(content)):
                break  # cut; preallocated (log.preallocate), or zeroes after a loss of power
            rest = content.read(length) if 0 < length <= BATCH_BYTES_MAX else b""
            if len(rest) < length <= BATCH_BYTES_MAX:
                self._check_cut(position, rest, length)
                break
            yield position, self._batch(position, start, rest, length)
            position = self.end = position + _PREFIX_BYTES + length
        if position < size:
            self.torn = Torn(position, size - position)

    def _check_cut(self, position: int, rest: bytes, length: int) -> None:
        """Checks that a batch is cut off, and not its length wrong: then others follow it.

        Raises:
            Damaged: A batch whose CRC is right follows.
        """
        new, _, _ = _kafka_python()
        at = rest.find(MAGIC, _MAGIC_AT + 1)
        while at >= 0:
            first = at - _MAGIC_AT - _PREFIX_BYTES
            own = int.from_bytes(rest[first + 8 : first + _PREFIX_BYTES], "big", signed=True)
            end = first + _PREFIX_BYTES + own
            offset = int.from_bytes(rest[first : first + 8], "big") - self.file.base_offset
            whole = own >= _LEAST_LENGTH[MAGIC] and end <= len(rest) and 0 <= offset < _SPAN
            if first >= 0 and whole and new(rest[first:end]).validate_crc():
                next_at = position + _PREFIX_BYTES + first
                text = f"a batch of {length} bytes, which the file has not, and one follows at"
                self.fail(position, f"{text} {next_at}")
            at = rest.find(MAGIC, at + 1)

    def _batch(self, position: int, start: bytes, rest: bytes, length: int) -> Any:
        """The batch at a position, if its CRC is right. Raises Damaged."""
        if len(rest) <= _MAGIC_AT or length > BATCH_BYTES_MAX:
            self.fail(position, f"a batch of {length} bytes, which none has")
        magic = rest[_MAGIC_AT]
        if magic not in _LEAST_LENGTH:
            self.fail(position, f"a batch of magic {magic}; known: 0 to {MAGIC}")
        if length < _LEAST_LENGTH[magic]:
            self.fail(position, f"a batch of {length} bytes, which none of magic {magic} has")
        content = start + rest
        new, old, _ = _kafka_python()
        found = new(content) if magic == MAGIC else old(content, magic)
        if not found.validate_crc():
            self.fail(position, f"a wrong CRC of the batch at offset {found.base_offset}")
        read = self._detail is not Detail.HEADERS or magic < MAGIC or found.is_control_batch
        if read and found.compression_type in _CODECS.keys() - {0}:
            self._check_size(
                position, _CODECS[found.compression_type], content[_RECORDS_AT[magic] :]
            )
        return found

    def _check_size(self, position: int, codec: str, packed: bytes) -> None:
        """Checks that a batch's records fit in memory. Raises Damaged."""
        try:
            size = unpacked_bytes(codec, packed)
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - each codec raises errors of its own
            return  # who reads the records reports it
        if size > UNPACKED_BYTES_MAX:
            text = f"{len(packed)} bytes of {codec} unpack to more than {UNPACKED_BYTES_MAX}"
            self.fail(position, f"{text}, the most that is read of a batch")

    def _first_offset(self, found: Any, position: int) -> int:
        if found.magic == MAGIC or not found.compression_type:
            return int(found.base_offset)
        return int(self.records_of(found, position)[0].offset)

    def _stored(self, position: int, found: Any) -> Stored:
        batch = self._new(position, found) if found.magic == MAGIC else self._old(position, found)
        count = found.records_count if found.magic == MAGIC else len(batch.records)
        if self._detail is Detail.HEADERS and batch.control is None:
            batch = replace(batch, records=())
        codec = _CODECS.get(found.compression_type, "none")
        return Stored(position, replace(batch, size_bytes=found.size_in_bytes), codec, count)

    def _new(self, position: int, found: Any) -> Batch:
        """A batch of magic 2."""
        is_control = found.is_control_batch
        read = is_control or self._detail is not Detail.HEADERS
        records = self.records_of(found, position) if read else []
        control = self._control(found, records) if is_control else None
        has_horizon = bool(found.attributes & HORIZON_BIT)
        return Batch(
            base_offset=found.base_offset,
            last_offset=found.last_offset,
            epoch=found.leader_epoch,
            records=tuple([self._record(one, control) for one in records]),
            timestamp_ms=found.max_timestamp,
            size_bytes=found.size_in_bytes,
            producer_id=found.producer_id,
            producer_epoch=found.producer_epoch,
            base_sequence=found.base_sequence,
            transactional=found.is_transactional,
            control=control,
            delete_horizon_ms=found.first_timestamp if has_horizon else None,
        )

    def _old(self, position: int, found: Any) -> Batch:
        """A batch of magic 0 or 1, whose offsets are those of its records."""
        records = self.records_of(found, position)
        if not records:
            self.fail(position, f"a batch of magic {found.magic} without records")
        made = [replace(self._record(one, None), flagged=None) for one in records]
        return old_batch(found.magic, tuple(made))

    def _control(self, found: Any, records: list[Any]) -> Control:
        """The kind of a control batch; an emptied one has lost its record.

        The index of aborted transactions then knows an ABORT; what stands in no index is a COMMIT.
        """
        if not records:
            return Control.ABORT if found.last_offset in self._aborts else Control.COMMIT
        return _CONTROLS.get(records[0].type, Control.LEADER_CHANGE)

    def _record(self, one: Any, control: Control | None) -> Record:
        time_ms = -1 if one.timestamp is None else one.timestamp
        if control is not None:
            return Record(one.offset, None, None, time_ms, uid=one.offset + 1)
        return Record(
            one.offset,
            text_of(one.key),
            text_of(one.value) if self._detail is Detail.WHOLE else _sized(one.value),
            time_ms,
            tuple((name, content or b"") for name, content in one.headers),
            one.value is None,
            uid=one.offset + 1,
        )


@cache
def _kafka_python() -> tuple[Any, Any, type[Exception]]:
    """Readers of batches of magic 2 and of older ones, and the error for an unknown codec.

    Its import warns of its own use of importlib.resources.
    """
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        from kafka.errors import UnsupportedCodecError
        from kafka.record.default_records import DefaultRecordBatch
        from kafka.record.legacy_records import LegacyRecordBatch

    return DefaultRecordBatch, LegacyRecordBatch, UnsupportedCodecError


def last_offset_of(found: Any) -> int:
    """The last offset (inclusive) of one of kafka-python's batches."""
    return int(found.last_offset if found.magic == MAGIC else found.base_offset)


def text_of(content: bytes | None) -> str | None:
    """A key or a value as records have it: text, with a lone surrogate for each stray byte."""
    return None if content is None else content.decode(errors=STRAY_BYTES)


def _sized(content: bytes | None) -> str | None:
    """Text of as many bytes as a value has."""
    return None if content is None else _text_of_size(len(content))


@cache
def _text_of_size(count: int) -> str:
    return "x" * count


def _zero(content: BinaryIO) -> bool:
    """Checks whether nothing but zeroes follows in a file; holes of a sparse one are skipped."""
    number, position = content.fileno(), content.tell()
    while True:
        try:
            position = os.lseek(number, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return True  # a hole up to the end
        chunk = os.pread(number, _CHUNK, position)
        if chunk.strip(b"\0") or not chunk:
            return not chunk
        position += len(chunk)


def _opened(path: Path) -> BinaryIO:
    """The file, open for reading. Raises BadInput."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    return os.fdopen(number, "rb", _CHUNK)
