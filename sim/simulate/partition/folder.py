"""A partition's folder and what a broker's data directory says of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.protocol.log import AbortedTransaction
from sim.simulate.partition.damage import Damaged
from sim.simulate.partition.dump import Dump
from sim.simulate.partition.partition import Partition, PartitionSegment
from sim.simulate.partition.segments import Detail, SegmentFile, SegmentReader, Stored, torn_end
from sim.simulate.partition.small_files import (
    IndexEntry,
    aborted_in,
    epochs_in,
    index_entries,
    offset_checkpoint,
    producers_in,
    topic_id_in,
)

SEGMENT: Final = re.compile(r"\d{20}\.log")
FOLDER: Final = re.compile(r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>\d+)(\.[0-9a-f]{32}-future)?")
"""The name of a partition's folder (LocalLog.parseTopicPartitionName)."""
_UNFINISHED: Final = {
    ".cleaned": "a cleaning pass is being written, or was cut off",
    ".swap": "a cleaning pass is being swapped in",
}
_PAUSE_S: Final = 0.02
_TRIES: Final = 5
"""A cleaner that swaps segments meanwhile makes a reader begin anew so often at most."""


@dataclass(frozen=True)
class SegmentFiles:
    """The files of a segment.

    Attributes:
        file: The `.log` file.
        aborted: Entries of its index of aborted transactions; None = there is no such file.
        index: Entries of its offset index.
        ends_at: What the log has at least, where this is its last segment (exclusive): below the
            high watermark everything is there; None = this is not the last segment.
    """

    file: SegmentFile
    aborted: tuple[AbortedTransaction, ...] | None
    index: tuple[IndexEntry, ...]
    ends_at: int | None

    def read(self, detail: Detail) -> Iterator[Stored]:
        """The batches in order.

        Raises:
            Damaged: A batch, or the offset index, is not as it was written.
        """
        path, end = self.file.path, self.file.base_offset
        reader = SegmentReader(
            self.file, detail, frozenset(one.last_offset for one in self.aborted or ())
        )
        waiting = list(reversed(self.index))
        for stored in reader.batches():
            if waiting and waiting[-1].position <= stored.position:
                self._check(waiting.pop(), stored)
            yield stored
            end = stored.batch.last_offset + 1
        if waiting:
            text = f"offset {waiting[-1].offset} is at position {waiting[-1].position}"
            where = f"whole batches end at {reader.end} in {path.name}"
            raise Damaged(path.with_suffix(".index"), f"{text}; {where}")
        if reader.torn is not None and self.ends_at is None:
            text = f"{reader.torn.size_bytes} bytes that are no whole batch, and more segments"
            raise Damaged(path, f"{text} follow", position=reader.end)
        if reader.torn is not None and end < (self.ends_at or 0):
            text = f"whole batches end at offset {end}, below the high watermark {self.ends_at}"
            raise Damaged(path, text, position=reader.end)

    def _check(self, entry: IndexEntry, stored: Stored) -> None:
        base = stored.batch.base_offset
        if entry.position != stored.position or entry.offset < base:
            text = f"offset {entry.offset} is at position {entry.position}"
            there = f"{self.file.path.name} has offset {base} at {stored.position}"
            raise Damaged(self.file.path.with_suffix(".index"), f"{text}; {there}")

    @property
    def segment(self) -> PartitionSegment:
        """The segment of these files."""
        file = self.file
        return PartitionSegment(
            file.base_offset, file.size_bytes, file.last_modified_ms, self.aborted, self.read
        )


def is_partition(folder: Path) -> bool:
    """True if a folder has a segment."""
    return any(SEGMENT.fullmatch(one.name) for one in folder.iterdir())


def partitions_in(place: Path) -> list[Partition]:
    """The partition in a folder or a dump, or each of a data directory that has one, by name.

    Raises:
        BadInput: There is none, or a file cannot be read.
        Damaged: A file is not as a broker writes it.
    """
    if not place.is_dir():
        return [partition_of_dump(place)]
    try:
        if is_partition(place):
            return [partition_in(place)]
        found = [one for one in sorted(place.iterdir()) if FOLDER.fullmatch(one.name)]
        found = [one for one in found if one.is_dir() and is_partition(one)]
    except OSError as error:
        raise BadInput(f"{place}: cannot be read: {error.strerror}") from None
    if not found:
        text = "no partition: no segment such as 00000000000000000000.log, and no folder with one"
        raise BadInput(f"{place}: {text}")
    return [partition_in(one) for one in found]


def _whole(batches: Sequence[Stored], _: Detail) -> Iterator[Stored]:
    return iter(batches)


def summary(found: Partition) -> dict[str, Any]:
    """A row about a partition of a data directory."""
    return {
        "partition": found.name,
        "segments": len(found.segments),
        "bytes": found.size_bytes,
        "first offset": found.segments[0].base_offset,
        "high watermark": "-" if found.committed is None else found.committed,
        "cleaned up to": "never" if found.checkpoint is None else found.checkpoint,
    }


def partition_of_dump(path: Path) -> Partition:
    """The partition in a text of `kafka-dump-log`.

    Raises:
        BadInput: There is none, there are several, or the file cannot be read.
        Damaged: The dump found damage, or has not all records.
    """
    dump = Dump(path)
    found = sorted(dump.segments(), key=lambda one: one.base_offset)
    folders = {one.folder for one in found}
    if not folders:
        raise BadInput(f"{path}: no folder of a partition, and no text of kafka-dump-log")
    if len(folders) > 1:
        text = ", ".join(sorted(folders))
        raise BadInput(f"{path}: a dump of one partition is read; here are {text}")
    segments = tuple(
        PartitionSegment(
            one.base_offset,
            sum(stored.batch.size_bytes for stored in one.batches),
            None,
            None,
            partial(_whole, one.batches),
        )
        for one in found
    )
    notes = ["a dump has no checkpoints: all of the log counts as committed, and as dirty"]
    if dump.guessed:
        notes.append("keys or values are no UTF-8: different ones may look alike in a dump")
    if dump.hides_headers:
        notes.append("a dump has no values of headers: the header strategy finds no version")
    return Partition(folders.pop(), path, segments, notes=tuple(notes))


def partition_in(folder: Path) -> Partition:
    """The partition in a folder, with what the checkpoints of the data directory say of it.

    Raises:
        BadInput: A file cannot be read.
        Damaged: A file is not as a broker writes it.
    """
    for number in range(_TRIES):
        try:
            return _read(folder)
        except FileNotFoundError:
            continue  # a cleaner swapped a segment, or retention deleted it
        except BadInput:  # or a broker is renaming files, or writing one
            if number == _TRIES - 1:
                raise
            time.sleep(_PAUSE_S)
    raise BadInput(f"{folder}: its files change faster than they can be read; copy it first")


def _identities(folder: Path) -> set[tuple[str, int]]:
    """Name and inode of each segment file."""
    with os.scandir(folder) as entries:
        return {(one.name, one.inode()) for one in entries if SEGMENT.fullmatch(one.name)}


def _read(folder: Path) -> Partition:
    names, were = sorted(one.name for one in folder.iterdir()), _identities(folder)
    known = FOLDER.fullmatch(folder.resolve().name)
    name = f"{known['topic']}-{known['partition']}" if known else folder.resolve().name
    data = folder.resolve().parent
    committed = offset_checkpoint(data / "replication-offset-checkpoint").get(name)
    segments = _segments(folder, names, committed)
    snapshots = [one for one in names if one.endswith(".snapshot") and one[:20].isdecimal()]
    found = Partition(
        name,
        folder,
        segments,
        offset_checkpoint(data / "log-start-offset-checkpoint").get(name),
        committed,
        offset_checkpoint(data / "cleaner-offset-checkpoint").get(name),
        tuple(epochs_in(folder / "leader-epoch-checkpoint")),
        tuple(producers_in(folder / snapshots[-1]) if snapshots else ()),
        topic_id_in(folder / "partition.metadata"),
    )
    if found.log_start is not None and found.log_start < segments[0].base_offset:
        text = f"a segment is missing: the log starts at {found.log_start}, the first one at"
        raise Damaged(folder, f"{text} {segments[0].base_offset}")
    last = SegmentFile.at(folder / f"{segments[-1].base_offset:020}.log")
    return replace(
        found,
        notes=(*_notes(found, names), *_torn_note(last)),
        is_replaced=lambda: not were <= _identities(folder),
    )


def _segments(
    folder: Path, names: Sequence[str], committed: int | None
) -> tuple[PartitionSegment, ...]:
    there = set(names)
    for name in names:
        base, _, suffix = name.partition(".")
        if suffix in ("index", "timeindex", "txnindex") and f"{base}.log" not in there:
            raise Damaged(folder / name, f"the segment {base}.log of this index is missing")
    found = [folder / name for name in names if SEGMENT.fullmatch(name)]
    bounds = [None] * (len(found) - 1) + [committed or 0]
    return tuple(_files(path, bound).segment for path, bound in zip(found, bounds, strict=True))


def _files(path: Path, ends_at: int | None) -> SegmentFiles:
    # The index first: what a broker appends meanwhile then has no entry yet.
    index = tuple(index_entries(path.with_suffix(".index"), int(path.stem)))
    aborted = aborted_in(path.with_suffix(".txnindex"))
    return SegmentFiles(SegmentFile.at(path), aborted, index, ends_at)


def _torn_note(last: SegmentFile) -> Iterator[str]:
    torn = torn_end(last)
    if torn is not None:
        text = f"the last {torn.size_bytes:,} bytes, from position {torn.position}, are no batch"
        yield f"{last.path.name}: {text}: a broker is writing them, keeps them free, or was cut off"


def _notes(found: Partition, names: Sequence[str]) -> Iterator[str]:
    for suffix, what in _UNFINISHED.items():
        if any(name.endswith(suffix) for name in names):
            yield f"{found.name} has a file {suffix}: {what}"
    if found.committed is None:
        yield (
            f"no replication-offset-checkpoint beside it names {found.name}: "
            "all of the log counts as committed"
        )
    if found.checkpoint is None:
        yield (
            f"no cleaner-offset-checkpoint beside it names {found.name}: "
            "all of the log counts as dirty"
        )
