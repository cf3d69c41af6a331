"""A partition: its folder, and what a broker's data directory says of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.simulate.partition import small_files
from sim.simulate.partition.segments import SEGMENT, Detail, PartitionSegment, Stored, segment_at
from sim.simulate.partition.small_files import Damaged, checkpoint_in


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
        is_replaced: Checks whether a segment is not the file any more that it was.
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
    is_replaced: Callable[[], bool] = field(default=lambda: False, compare=False)

    def batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        """Every batch with its segment, in order.

        Raises:
            Damaged: A batch is not as it was written, segments overlap, or the log is cut off below
                its high watermark.
            FilesChanged: The same, as segments were replaced meanwhile.
        """
        try:
            yield from self._batches(detail)
        except BadInput as error:
            if self.is_replaced():
                text = "its segments were replaced while they were read, as a cleaner does"
                text = f"{self.place}: {text}: try again, or copy it first"
                raise small_files.FilesChanged(text) from error
            raise

    def _batches(self, detail: Detail) -> Iterator[tuple[PartitionSegment, Stored]]:
        end, first = 0, self.segments[0].base_offset
        if self.log_start is not None and self.log_start < first:
            text = f"a segment is missing, or in remote storage: the log starts at {self.log_start}"
            raise Damaged(self.place, f"{text}, the first one at {first}")
        for segment in self.segments:
            if segment.base_offset < end:
                raise Damaged(segment.path, f"begins below {end}, where the one before it ends")
            end = segment.base_offset
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
        """A row about it among those of a data directory."""
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


FOLDER: Final = re.compile(r"(?P<name>[a-zA-Z0-9._-]+-\d+)(\.[0-9a-f]{32}-future)?")
"""The name of a partition's folder (LocalLog.parseTopicPartitionName)."""
_PAUSE_S: Final = 0.02
_TRIES: Final = 5
"""A cleaner that swaps segments meanwhile makes a reader begin anew so often at most."""


def partitions_in(place: Path) -> list[Partition]:
    """The partition in a folder, or each of a data directory that has one, by name.

    Raises:
        BadInput: There is none, or a file cannot be read.
        Damaged: A file is not as a broker writes it.
    """
    try:
        found = [place]
        if not _segments_in(place):
            # No cleaner works on a replica that is being moved here, in a folder `-future`.
            names = [one for one in sorted(place.iterdir()) if FOLDER.fullmatch(one.name)]
            names = [one for one in names if not one.name.endswith("-future")]
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
        BadInput: A file cannot be read.
        Damaged: A file is not as a broker writes it.
    """
    for _ in range(_TRIES):  # a cleaner may be swapping a segment, or a broker renaming files
        try:
            return _read(folder)
        except OSError as error:
            text = "cannot be read, or changes faster than it can be read"
            failed = BadInput(f"{folder}: {text}: {error.strerror}")
        except BadInput as error:
            failed = error
        time.sleep(_PAUSE_S)
    raise failed


def _segments_in(folder: Path) -> set[tuple[str, int]]:
    """Name and inode of each segment file."""
    with os.scandir(folder) as entries:
        return {(one.name, one.inode()) for one in entries if SEGMENT.fullmatch(one.name)}


def _read(folder: Path) -> Partition:
    names, were = sorted(one.name for one in folder.iterdir()), _segments_in(folder)
    known, data = FOLDER.fullmatch(folder.resolve().name), folder.resolve().parent
    name = known["name"] if known else folder.resolve().name
    snapshots = [one for one in names if one.endswith(".snapshot") and one[:20].isdecimal()]
    epochs = checkpoint_in(folder / "leader-epoch-checkpoint")

    def offset(checkpoint: str) -> int | None:
        return checkpoint_in(data / checkpoint).get(" ".join(name.rsplit("-", 1)))

    found = Partition(
        name,
        folder,
        _segments(folder, names),
        offset("log-start-offset-checkpoint"),
        offset("replication-offset-checkpoint"),
        offset("cleaner-offset-checkpoint"),
        {int(epoch): start for epoch, start in epochs.items()},
        small_files.open_transactions_in(folder / snapshots[-1]) if snapshots else (),
        small_files.topic_id_in(folder / "partition.metadata"),
        is_replaced=lambda: not were <= _segments_in(folder),
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
