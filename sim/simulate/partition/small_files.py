"""Readers of the small files beside segments: checkpoints, indexes, producer snapshots, metadata.

Sources: CheckpointFile and its readers (LeaderEpochCheckpointFile, OffsetCheckpointFile),
AbortedTxn and TransactionIndex, OffsetIndex, ProducerStateManager.readSnapshot,
PartitionMetadataFile.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from sim.files.reading import read_bytes
from sim.protocol.log import AbortedTransaction
from sim.simulate.partition.damage import Damaged

INDEX_BYTES_MAX: Final = 1 << 27
"""Most bytes that are read of a small file; `segment.index.bytes` is 10 MiB by default."""
_ABORTED: Final = struct.Struct(">hqqqq")
_OFFSET_ENTRY: Final = struct.Struct(">ii")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_HEAD: Final = struct.Struct(">hIi")
_SNAPSHOT_VERSION: Final = 1
_CRC_ENDS: Final = 6


class IndexEntry(NamedTuple):
    """An entry of an offset index.

    Attributes:
        offset: The offset that it stands for.
        position: Where the batch begins that has it, in bytes.
    """

    offset: int
    position: int


class KnownProducer(NamedTuple):
    """A producer in a snapshot of the producers' state.

    Attributes:
        producer_id: Its id.
        epoch: Its epoch.
        last_sequence: Sequence number of its last record; -1 = none.
        last_offset: Offset of its last record (inclusive).
        timestamp_ms: Time of its last batch, in ms.
        open_from: First offset of its open transaction; None = it has none.
    """

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    timestamp_ms: int
    open_from: int | None


def offset_checkpoint(file: Path) -> dict[str, int]:
    """Offset by partition of one of a broker's checkpoints; empty where there is no such file.

    Raises:
        Damaged: A line is no partition with an offset.
    """
    found: dict[str, int] = {}
    for number, line in _checkpoint_lines(file):
        topic, *numbers = line.rsplit(" ", 2)
        if len(numbers) != 2 or not all(one.lstrip("-").isdecimal() for one in numbers):
            raise Damaged(file, f"line {number}: no topic, partition and offset: {line!r}")
        found[f"{topic}-{numbers[0]}"] = int(numbers[1])
    return found


def epochs_in(file: Path) -> list[tuple[int, int]]:
    """Epoch and start offset of each entry of `leader-epoch-checkpoint`; without a file none.

    Raises:
        Damaged: A line is no entry, or one does not ascend.
    """
    found: list[tuple[int, int]] = []
    for number, line in _checkpoint_lines(file):
        words = line.split(" ")
        if len(words) != 2 or not all(one.isdecimal() for one in words):
            raise Damaged(file, f"line {number}: no epoch with its start offset: {line!r}")
        epoch, start = int(words[0]), int(words[1])
        if found and (epoch <= found[-1][0] or start < found[-1][1]):
            raise Damaged(file, f"line {number}: epoch {epoch} from {start} follows {found[-1]}")
        found.append((epoch, start))
    return found


def _checkpoint_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Number and text of the entries of a checkpoint: behind its version and their number."""
    if not file.exists():
        return
    try:
        lines = read_bytes(file).decode("ascii").split("\n")
    except UnicodeDecodeError as error:
        raise Damaged(file, "not text", position=error.start) from None
    if lines == [""]:
        return  # made by a broker that wrote nothing to it yet
    if lines[0] != "0" or len(lines) < 2 or not lines[1].isdecimal():
        raise Damaged(file, f"no checkpoint of version 0: it begins with {lines[:2]}")
    entries = [line for line in lines[2:] if line]
    if len(entries) != int(lines[1]):
        raise Damaged(file, f"line 2: {lines[1]} entries; there are {len(entries)}")
    yield from enumerate(entries, start=3)


def aborted_in(file: Path) -> tuple[AbortedTransaction, ...] | None:
    """The aborted transactions in a segment's `.txnindex`; None without a file. Raises Damaged."""
    if not file.exists():
        return None
    content = read_bytes(file, limit=INDEX_BYTES_MAX)
    if len(content) % _ABORTED.size:
        raise Damaged(file, f"{len(content)} bytes are no whole entries of {_ABORTED.size}")
    found: list[AbortedTransaction] = []
    for number, (version, *numbers) in enumerate(_ABORTED.iter_unpack(content)):
        entry = AbortedTransaction(*numbers)
        ascends = not found or found[-1].last_offset < entry.last_offset
        if version != 0 or not 0 <= entry.first_offset <= entry.last_offset or not ascends:
            raise Damaged(file, "no aborted transaction", position=number * _ABORTED.size)
        found.append(entry)
    return tuple(found)


def index_entries(file: Path, base_offset: int) -> Iterator[IndexEntry]:
    """The entries of an offset index; a running broker's ends in zeroes. Raises Damaged."""
    if not file.exists():
        return
    content = read_bytes(file, limit=INDEX_BYTES_MAX)
    if len(content) % _OFFSET_ENTRY.size:
        raise Damaged(file, f"{len(content)} bytes are no whole entries of {_OFFSET_ENTRY.size}")
    last = IndexEntry(-1, -1)
    for number, (relative, at) in enumerate(_OFFSET_ENTRY.iter_unpack(content)):
        if relative == at == 0 and number > 0:
            return  # entries to come
        entry = IndexEntry(base_offset + relative, at)
        if relative < 0 or entry.offset <= last.offset or entry.position <= last.position:
            place = number * _OFFSET_ENTRY.size
            raise Damaged(file, f"offset {entry.offset} follows {last.offset}", position=place)
        last = entry
        if at > 0:
            yield entry


def producers_in(file: Path) -> list[KnownProducer]:
    """The producers in a `.snapshot` file. Raises Damaged."""
    from crc32c import crc32c

    content = read_bytes(file, limit=INDEX_BYTES_MAX)
    if len(content) < _SNAPSHOT_HEAD.size:
        raise Damaged(file, f"{len(content)} bytes; a snapshot of producers has more")
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(content)
    if version != _SNAPSHOT_VERSION:
        raise Damaged(file, f"version {version}; known: {_SNAPSHOT_VERSION}")
    if crc != crc32c(content[_CRC_ENDS:]):
        raise Damaged(file, "a wrong CRC")
    if len(content) != _SNAPSHOT_HEAD.size + count * _PRODUCER.size:
        raise Damaged(file, f"{count} producers in {len(content)} bytes")
    return [
        KnownProducer(
            number, epoch, sequence, offset, time_ms, None if open_from < 0 else open_from
        )
        for number, epoch, sequence, offset, _, time_ms, _, open_from in _PRODUCER.iter_unpack(
            content[_SNAPSHOT_HEAD.size :]
        )
    ]


def topic_id_in(file: Path) -> str | None:
    """The topic's id in `partition.metadata`; None without such a file. Raises Damaged."""
    if not file.exists():
        return None
    try:
        lines = read_bytes(file).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise Damaged(file, "not text", position=error.start) from None
    fields = dict(line.partition(": ")[::2] for line in lines)
    if fields.get("version") != "0" or not fields.get("topic_id"):
        raise Damaged(file, "no `version: 0` and `topic_id`")
    return fields["topic_id"]
