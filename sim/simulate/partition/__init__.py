"""Partitions of real brokers: their folders, and what checkpoints and other small files say.

Everything is read, nothing is written; a broker may be using the files. A file that is not there
reads as an empty one. Sources: CheckpointFile and its readers
(LeaderEpochCheckpointFile, OffsetCheckpointFile), ProducerStateManager.readSnapshot,
PartitionMetadataFile.
"""

from __future__ import annotations

import os
import re
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.simulate.partition.segments import (
    SEGMENT,
    Damaged,
    Detail,
    PartitionSegment,
    Stored,
    content_of,
    segment_at,
)


@dataclass(frozen=True)
class Partition:
    """A partition as it is on a broker's disk.

    Attributes:
        name: Topic and number, such as `orders-0`.
        place: Its folder, or the dump.
        segments: In order; the last one is active.
        log_start: The log start offset by its checkpoint (inclusive); None if none is known.
        committed: The high watermark by its checkpoint (exclusive); None if none is known.
        checkpoint: The cleaner's checkpoint, its first dirty offset; None before the first pass.
        epochs: Start offset of each epoch in the leader epoch cache.
        open_from: Of each producer in the newest snapshot of their state, where its open
            transaction begins (inclusive); None without one.
        topic_id: Id of the topic; None if none is known.
        notes: Lines about what is no damage, and should be known.
        files: Name and inode of each segment's file when it was opened; none for a dump.
    """

    name: str
    place: Path
    segments: Sequence[PartitionSegment]
    log_start: int | None = None
    committed: int | None = None
    checkpoint: int | None = None
    epochs: dict[int, int] = field(default_factory=dict)
    open_from: Sequence[int | None] = ()
    topic_id: str | None = None
    notes: tuple[str, ...] = ()
    files: frozenset[tuple[str, int]] = frozenset()

    def batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        """Every batch with its segment, in order.

        Raises:
            BadInput: Segments were replaced meanwhile.
            Damaged: A batch is not as it was written, segments overlap, or the log is cut off below
                its high watermark.
        """
        try:
            yield from self._batches(detail)
        except BadInput as error:
            if self.files and not self.files <= _segments_in(self.place):
                text = "its segments were replaced while they were read, as a cleaner does"
                raise BadInput(f"{self.place}: {text}: try again, or copy it first") from error
            raise

    def _batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        end, first = 0, self.segments[0].base_offset
        if self.log_start is not None and self.log_start < first:
            text = f"a segment is missing, or in remote storage: the log starts at {self.log_start}"
            raise Damaged(self.place, f"{text}, the first one at {first}")
        for segment in self.segments:
            end = max(end, segment.base_offset)
            for stored in segment.read(detail):
                first, last = stored.batch.base_offset, stored.batch.last_offset
                if not end <= first <= last:
                    text = f"a batch has offsets {first} to {last}, and begins below {end}"
                    raise Damaged(segment.path, text, position=stored.position)
                for one in stored.batch.records:
                    if not first <= one.offset <= last:
                        text = f"offset {one.offset} lies outside its batch, {first} to {last}"
                        raise Damaged(segment.path, text, position=stored.position)
                yield segment, stored
                end = last + 1
        last_one = self.segments[-1]
        if last_one.whole_bytes < last_one.size_bytes and end < (self.committed or 0):
            text = f"whole batches end at offset {end}, below the high watermark {self.committed}"
            raise Damaged(last_one.path, text, position=last_one.whole_bytes)

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(one.size_bytes for one in self.segments)

    @property
    def summary(self) -> dict[str, Any]:
        """The row of the partition in the list of a data directory."""
        return {
            "partition": self.name,
            "segments": len(self.segments),
            "bytes": self.size_bytes,
            "first_offset": self.segments[0].base_offset,
            "high_watermark": self.committed,
            "cleaned_up_to": self.checkpoint,
        }

    @property
    def topic(self) -> str:
        """Name of its topic."""
        return self.name.rpartition("-")[0]


_FOLDER: Final = re.compile(r"[a-zA-Z0-9._-]+-\d+")
"""The name of a partition's folder (LocalLog.parseTopicPartitionName)."""
_MOVED: Final = re.compile(r"\.[0-9a-f]{32}-future$")
"""The end of the folder name of a replica that is being moved here; no cleaner works on it."""
_PAUSE_S: Final = 0.02
_TRIES: Final = 5
"""Number of times that a folder is read at most, while a cleaner swaps segments in it."""


def partitions_in(place: Path) -> list[Partition]:
    """The partition in a folder, or all in the folders of a data directory, by name.

    Raises:
        BadInput: There is none, or a file cannot be read, or is not as a broker writes it.
    """
    try:
        found = [place]
        if not _segments_in(place):
            names = [one for one in sorted(place.iterdir()) if _FOLDER.fullmatch(one.name)]
            found = [one for one in names if one.is_dir() and _segments_in(one)]
    except OSError as error:
        raise BadInput(f"{place}: cannot be read: {error.strerror}") from None
    if not found:
        text = "no partition: no segment such as 00000000000000000000.log, and no folder with one"
        raise BadInput(f"{place}: {text}")
    return [partition_in(one) for one in found]


def partition_in(folder: Path) -> Partition:
    """The partition in a folder, with what the checkpoints of the data directory say of it.

    Raises:
        BadInput: A file cannot be read, or is not as a broker writes it, at each of several tries.
    """
    for _ in range(_TRIES):  # a cleaner may be swapping a segment, or a broker renaming files
        try:
            return _read(folder)
        except (OSError, BadInput) as error:
            failed = error
        time.sleep(_PAUSE_S)
    raise BadInput(str(failed))


def _segments_in(folder: Path) -> frozenset[tuple[str, int]]:
    """Name and inode of each segment file."""
    with os.scandir(folder) as entries:
        return frozenset((e.name, e.inode()) for e in entries if SEGMENT.fullmatch(e.name))


def _read(folder: Path) -> Partition:
    names, files = sorted(one.name for one in folder.iterdir()), _segments_in(folder)
    name, data = _MOVED.sub("", folder.resolve().name), folder.resolve().parent
    snapshots = [one for one in names if one.endswith(".snapshot") and one[:20].isdecimal()]
    epochs = checkpoint_in(folder / "leader-epoch-checkpoint")

    def offset(checkpoint: str) -> int | None:
        return checkpoint_in(data / checkpoint).get(" ".join(name.rsplit("-", 1)))

    # Before the segments: what a broker appends and commits meanwhile is above neither. The log
    # start after them: segments that go meanwhile are below it.
    committed = offset("replication-offset-checkpoint")
    checkpoint = offset("cleaner-offset-checkpoint")
    found = Partition(
        name,
        folder,
        _segments(folder, names),
        offset("log-start-offset-checkpoint"),
        committed,
        checkpoint,
        {int(epoch): start for epoch, start in epochs.items()},
        open_transactions_in(folder / snapshots[-1]) if snapshots else (),
        topic_id_in(folder / "partition.metadata"),
        files=files,
    )
    return replace(found, notes=tuple(_notes(found, names)))


def _segments(folder: Path, names: Sequence[str]) -> list[PartitionSegment]:
    for name in names:
        base, _, suffix = name.partition(".")
        if suffix in ("index", "timeindex", "txnindex") and f"{base}.log" not in names:
            raise Damaged(folder / name, f"the segment {base}.log of this index is missing")
    found = [segment_at(folder / name) for name in names if SEGMENT.fullmatch(name)]
    for one in found[:-1]:
        if one.whole_bytes < one.size_bytes:
            text = f"{one.size_bytes - one.whole_bytes} bytes that are no whole batch, and more"
            raise Damaged(one.path, f"{text} segments follow", position=one.whole_bytes)
    return found


def _notes(found: Partition, names: Sequence[str]) -> Iterator[str]:
    if found.topic == "__cluster_metadata":
        yield "no cleaner compacts the log of controllers: snapshots take its place (KIP-630)"
    for name in [one for one in names if one.endswith((".cleaned", ".swap"))][:1]:
        yield f"{found.name} has {name}: a pass is being written or swapped in, or was cut off"
    none = f"offset-checkpoint beside it names {found.name}: all of the log counts as"
    if found.committed is None:
        yield f"no replication-{none} committed"
    if found.checkpoint is None:
        yield f"no cleaner-{none} dirty"
    last = found.segments[-1]
    if last.whole_bytes < last.size_bytes:
        cut = f"the last {last.size_bytes - last.whole_bytes:,} bytes, from position"
        text = f"{cut} {last.whole_bytes}, are no batch"
        yield f"{last.path.name}: {text}: a broker is writing them, keeps them free, or was cut off"


_ENTRY: Final = re.compile(r"(.+) (-?\d{1,19})")
_PRODUCER: Final = struct.Struct(">qhiqiqiq")
_SNAPSHOT_HEAD: Final = struct.Struct(">hIi")
_SNAPSHOT_VERSION: Final = 1
_CRC_ENDS: Final = 6


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
        return content_of(file).decode("ascii").splitlines()
    except UnicodeDecodeError as error:
        raise Damaged(file, "not text", position=error.start) from None


def open_transactions_in(file: Path) -> list[int | None]:
    """First offset of the open transaction of each producer in a `.snapshot`; None without one.

    Raises:
        Damaged: It is no snapshot of version 1, or its CRC is wrong.
    """
    from crc32c import crc32c

    content = content_of(file)
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
