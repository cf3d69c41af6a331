"""Damage of a partition's files, and readers of the small ones beside segments.

Those are checkpoints, indexes, producer snapshots, metadata; one that is not there reads as an
empty one. Sources: CheckpointFile and its readers (LeaderEpochCheckpointFile,
OffsetCheckpointFile), AbortedTxn and TransactionIndex, OffsetIndex,
ProducerStateManager.readSnapshot, PartitionMetadataFile.
"""

from __future__ import annotations

import re
import struct
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.files.limits import DOCUMENT_BYTES
from sim.files.reading import UTF_16, read_bytes
from sim.protocol.log import AbortedTransaction


class Damaged(BadInput):
    """A file that no broker leaves behind as it is."""

    def __init__(self, file: Path, what: str, *, position: int | None = None) -> None:
        """Names the file, the position in bytes where the damage begins, and what is wrong."""
        where = "" if position is None else f": position {position}"
        super().__init__(f"{file}{where}: {what}")


class FilesChanged(BadInput):
    """Segments of a partition were replaced while they were read, as by its cleaner."""


INDEX_BYTES_MAX: Final = 1 << 27
"""Most bytes that are read of a small file; `segment.index.bytes` is 10 MiB by default."""
_ENTRY: Final = re.compile(r"(.+) (-?\d{1,19})")
_ABORTED: Final = struct.Struct(">hqqqq")
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_HEAD: Final = struct.Struct(">hIi")
_SNAPSHOT_VERSION: Final = 1
_CRC_ENDS: Final = 6


def printed_in(file: Path, *, limit: int = DOCUMENT_BYTES.most) -> bytes:
    """A text that a tool printed into a file, in UTF-8 and with line feeds alone.

    Windows makes UTF-16 of it, or ends lines with CR LF.

    Args:
        file: The file.
        limit: Most bytes that it may have.

    Raises:
        BadInput: It cannot be read.
    """
    content = read_bytes(file, limit=limit)
    if content.startswith(UTF_16):
        content = content.decode("utf-16", errors="replace").encode(errors="replace")
    content = content.removeprefix(BOM_UTF8)
    return content.replace(b"\r\n", b"\n") if re.match(rb".*\r\n", content) else content


def checkpoint_in(file: Path) -> dict[str, int]:
    """The entries of a checkpoint: the last number of each line, by what stands before it.

    That is an offset by topic and partition, such as `orders 0`, in a broker's checkpoints, and a
    start offset by leader epoch in `leader-epoch-checkpoint`.

    Raises:
        Damaged: It is no checkpoint of version 0, or a line is no entry.
    """
    version, count, *lines = [*_lines(file), "", ""]
    if not version:
        return {}  # made by a broker that wrote nothing to it yet
    if version != "0" or not count.isdecimal():
        raise Damaged(file, f"no checkpoint of version 0: it begins with {[version, count]}")
    entries = [_ENTRY.fullmatch(line) for line in lines if line]
    for number, entry in enumerate(entries, start=3):
        if entry is None:
            raise Damaged(file, f"line {number}: no entry: {lines[number - 3]!r}")
    if len(entries) != int(count):
        raise Damaged(file, f"line 2: {count} entries; there are {len(entries)}")
    return {entry[1]: int(entry[2]) for entry in entries if entry}


def topic_id_in(file: Path) -> str | None:
    """The topic's id in `partition.metadata`; None without such a file. Raises Damaged."""
    lines = _lines(file)
    found = dict(line.partition(": ")[::2] for line in lines).get("topic_id")
    if lines and not found:
        raise Damaged(file, "no line `topic_id: ` with an id")
    return found


def _lines(file: Path) -> list[str]:
    try:
        return _content(file).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise Damaged(file, "not text", position=error.start) from None


def _content(file: Path) -> bytes:
    return read_bytes(file, limit=INDEX_BYTES_MAX) if file.exists() else b""


def _entries(file: Path, form: struct.Struct) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Position and numbers of each entry of an index. Raises Damaged."""
    content = _content(file)
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
    """Offset by position of a batch, but the first.

    Until a clean shutdown the active segment's index ends in zeroes, and a truncation leaves stale
    entries in it (AbstractIndex.truncateToEntries), so that it is read as empty.

    Args:
        file: The `.index` file.
        base_offset: The offset that its entries count from.

    Raises:
        Damaged: An entry does not ascend.
    """
    found: dict[int, int] = {}
    last = (-1, -1)
    if _content(file).endswith(bytes(_OFFSET_ENTRY.size)):
        return found
    for place, (relative, position) in _entries(file, _OFFSET_ENTRY):
        if relative <= last[0] or position <= last[1]:
            text = f"offset {base_offset + relative} follows {base_offset + last[0]}"
            raise Damaged(file, text, position=place)
        last = (relative, position)
        if position > 0:
            found[position] = base_offset + relative
    return found


def open_transactions_in(file: Path) -> list[int | None]:
    """First offset of the open transaction of each producer in a `.snapshot`; None without one.

    Raises:
        Damaged: It is no snapshot of version 1, or its CRC is wrong.
    """
    from crc32c import crc32c

    content = _content(file)
    if len(content) < _SNAPSHOT_HEAD.size:
        raise Damaged(file, f"{len(content)} bytes; a snapshot of producers has more")
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(content)
    if version != _SNAPSHOT_VERSION:
        raise Damaged(file, f"version {version}; known: {_SNAPSHOT_VERSION}")
    if crc != crc32c(content[_CRC_ENDS:]):
        raise Damaged(file, "a wrong CRC")
    if len(content) != _SNAPSHOT_HEAD.size + count * _PRODUCER.size:
        raise Damaged(file, f"{count} producers in {len(content)} bytes")
    entries = _PRODUCER.iter_unpack(content[_SNAPSHOT_HEAD.size :])
    return [None if open_from < 0 else open_from for *_, open_from in entries]
