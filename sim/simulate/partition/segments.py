"""Segment files: the record batches of a `.log` file with what its indexes say of them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from sim.errors import BadInput
from sim.files.shipped import check_extra
from sim.protocol.log import AbortedTransaction
from sim.simulate.partition.damage import Damaged
from sim.simulate.partition.records import Detail, Stored, has_right_crc, stored_in
from sim.simulate.partition.small_files import aborted_in, index_in

SEGMENT: Final = re.compile(r"\d{20}\.log")
_PREFIX_BYTES: Final = 12
"""A batch's base offset and its length without these two, which every format begins with."""
BATCH_BYTES_MAX: Final = 1 << 27
"""A longer batch is taken for damage of its length: `max.message.bytes` is 1 MiB by default."""
_SEARCHED_BYTES: Final = 1 << 21
"""Bytes that are searched for a batch behind the last whole one."""
_CANDIDATES: Final = 100
"""Places there that are tried at most: few bytes look like the beginning of a batch."""
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class PartitionSegment:
    """A segment of a partition.

    Attributes:
        path: Its file, or the dump of it.
        base_offset: The offset that names it (inclusive).
        size_bytes: Its size on disk.
        whole_bytes: Where its last whole batch ends, in bytes: what follows was cut off.
        last_modified_ms: When it was last modified, in ms; None if a dump does not say.
        aborted: Entries of its index of aborted transactions; None where there is no index, and
            the batches tell.
    """

    path: Path
    base_offset: int
    size_bytes: int
    whole_bytes: int
    last_modified_ms: int | None
    aborted: tuple[AbortedTransaction, ...] | None

    def read(self, detail: Detail) -> Iterator[Stored]:
        """Its whole batches in order. Raises Damaged where one is not as it was written."""
        raise NotImplementedError


@dataclass(frozen=True)
class SegmentFile(PartitionSegment):
    """A segment by its files.

    Attributes:
        index: Entries of its offset index: offset by position.
    """

    index: Mapping[int, int]

    @classmethod
    def at(cls, path: Path) -> SegmentFile:
        """Looks at the file at `path`, whose name is a base offset. Raises BadInput, OSError."""
        base_offset = int(path.stem)
        # The index first: what a broker appends meanwhile then has no entry yet.
        index = index_in(path.with_suffix(".index"), base_offset)
        aborted = aborted_in(path.with_suffix(".txnindex"))
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise BadInput(f"{path}: is no regular file, so no segment")
        size = found.st_size
        whole = _whole_bytes(path, size)
        return cls(path, base_offset, size, whole, found.st_mtime_ns // 1_000_000, aborted, index)

    def read(self, detail: Detail) -> Iterator[Stored]:
        """Its whole batches in order.

        Raises:
            Damaged: A batch, or the offset index, is not as it was written; those before it were
                given.
        """
        check_extra("partitions of brokers need", "kafka", "kafka", "crc32c")
        position, known = 0, dict(self.index)
        aborts = frozenset(one.last_offset for one in self.aborted or ())
        with _opened(self.path) as content:
            while position < self.whole_bytes:
                start = content.read(_PREFIX_BYTES)
                packed = start + content.read(max(0, _length(start)))
                try:
                    stored = stored_in(packed, position, detail, aborts)
                except Exception as error:
                    read = f"{position} of {self.size_bytes} bytes could be read before it"
                    text = f"a batch that cannot be read: {str(error) or repr(error)}; {read}"
                    raise Damaged(self.path, text, position=position) from error
                if known.pop(position, stored.batch.base_offset) < stored.batch.base_offset:
                    self._fail_index(position, f"offset {stored.batch.base_offset} is there")
                yield stored
                position += len(packed)
            if position < self.size_bytes:
                self._check_end(os.pread(content.fileno(), _SEARCHED_BYTES, position))
        for position in known:
            self._fail_index(position, "no batch begins there")

    def _fail_index(self, position: int, what: str) -> None:
        """Reports an entry of the offset index. Raises Damaged."""
        text = f"offset {self.index[position]} is at position {position}; in {self.path.name}"
        raise Damaged(self.path.with_suffix(".index"), f"{text} {what}")

    def _check_end(self, rest: bytes) -> None:
        """Checks that a batch is cut off, and not its length wrong: then others follow it.

        What follows begins with an offset near that of the segment, and has a magic of 2.

        Raises:
            Damaged: A batch whose CRC is right follows.
        """
        near = re.escape(self.base_offset.to_bytes(8, "big")[:4])
        beginnings = re.finditer(b"(?s)(?=%s.{4}(.{4}).{4}\x02)" % near, rest)
        for found in islice(beginnings, _CANDIDATES):
            length = int.from_bytes(found[1], "big")
            packed = rest[found.start() : found.start() + _PREFIX_BYTES + length]
            if has_right_crc(packed):
                text = f"no whole batch, and one follows at {self.whole_bytes + found.start()}"
                raise Damaged(self.path, text, position=self.whole_bytes)


def _whole_bytes(path: Path, size: int) -> int:
    """Where the last whole batch of a file ends, in bytes, by the lengths of batches alone."""
    position = 0
    with _opened(path) as content:
        while True:
            length = _length(os.pread(content.fileno(), _PREFIX_BYTES, position))
            end = position + _PREFIX_BYTES + length
            if not 0 < length <= BATCH_BYTES_MAX or end > size:
                return position
            position = end


def _length(start: bytes) -> int:
    """The length that a batch gives itself, in bytes without its first twelve; 0 if cut off."""
    return int.from_bytes(start[8:_PREFIX_BYTES], "big", signed=True)


def _opened(path: Path) -> BinaryIO:
    """The file, open for reading. Raises BadInput."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    return os.fdopen(number, "rb", _CHUNK)
