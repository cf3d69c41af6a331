"""A partition's folder and what a broker's data directory says of it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.simulate.partition.damage import Damaged
from sim.simulate.partition.dump import partition_of_dump
from sim.simulate.partition.partition import Partition
from sim.simulate.partition.segments import SEGMENT, SegmentFile
from sim.simulate.partition.small_files import checkpoint_in, producers_in, topic_id_in

FOLDER: Final = re.compile(r"(?P<name>[a-zA-Z0-9._-]+-\d+)(\.[0-9a-f]{32}-future)?")
"""The name of a partition's folder (LocalLog.parseTopicPartitionName)."""
_UNFINISHED: Final = {
    ".cleaned": "a cleaning pass is being written, or was cut off",
    ".swap": "a cleaning pass is being swapped in",
}
_PAUSE_S: Final = 0.02
_TRIES: Final = 5
"""A cleaner that swaps segments meanwhile makes a reader begin anew so often at most."""


def partitions_in(place: Path) -> list[Partition]:
    """The partition in a folder or a dump, or each of a data directory that has one, by name.

    Raises:
        BadInput: There is none, or a file cannot be read.
        Damaged: A file is not as a broker writes it.
    """
    if not place.is_dir():
        return [partition_of_dump(place)]
    try:
        found = [place]
        if not _segments_in(place):
            found = [one for one in sorted(place.iterdir()) if FOLDER.fullmatch(one.name)]
            found = [one for one in found if one.is_dir() and _segments_in(one)]
    except OSError as error:
        raise BadInput(f"{place}: cannot be read: {error.strerror}") from None
    if not found:
        text = "no partition: no segment such as 00000000000000000000.log, and no folder with one"
        raise BadInput(f"{place}: {text}")
    return [partition_in(one) for one in found]


def summary(found: Partition) -> dict[str, Any]:
    """A row about a partition of a data directory."""
    return {
        "partition": found.name,
        "segments": len(found.segments),
        "bytes": found.size_bytes,
        "first_offset": found.segments[0].base_offset,
        "high_watermark": found.committed,
        "cleaned_up_to": found.checkpoint,
    }


def partition_in(folder: Path) -> Partition:
    """The partition in a folder, with what the checkpoints of the data directory say of it.

    Raises:
        BadInput: A file cannot be read.
        Damaged: A file is not as a broker writes it.
    """
    for _ in range(_TRIES):  # a cleaner may be swapping a segment, or a broker renaming files
        with suppress(OSError, BadInput):
            return _read(folder)
        time.sleep(_PAUSE_S)
    try:
        return _read(folder)
    except OSError as error:
        text = f"{folder}: cannot be read, or changes faster than it can be read"
        raise BadInput(f"{text}: {error.strerror}") from None


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
        producers_in(folder / snapshots[-1]) if snapshots else (),
        topic_id_in(folder / "partition.metadata"),
        is_replaced=lambda: not were <= _segments_in(folder),
    )
    return replace(found, notes=tuple(_notes(found, names)))


def _segments(folder: Path, names: Sequence[str]) -> list[SegmentFile]:
    for name in names:
        base, _, suffix = name.partition(".")
        if suffix in ("index", "timeindex", "txnindex") and f"{base}.log" not in names:
            raise Damaged(folder / name, f"the segment {base}.log of this index is missing")
    found = [SegmentFile.at(folder / name) for name in names if SEGMENT.fullmatch(name)]
    for one in found[:-1]:
        if one.whole_bytes < one.size_bytes:
            text = f"{one.size_bytes - one.whole_bytes} bytes that are no whole batch, and more"
            raise Damaged(one.path, f"{text} segments follow", position=one.whole_bytes)
    return found


def _notes(found: Partition, names: Sequence[str]) -> Iterator[str]:
    for suffix, what in _UNFINISHED.items():
        if any(name.endswith(suffix) for name in names):
            yield f"{found.name} has a file {suffix}: {what}"
    for checkpoint, offset, counts in (
        ("replication-offset-checkpoint", found.committed, "committed"),
        ("cleaner-offset-checkpoint", found.checkpoint, "dirty"),
    ):
        if offset is None:
            text = f"no {checkpoint} beside it names {found.name}"
            yield f"{text}: all of the log counts as {counts}"
    last = found.segments[-1]
    if last.whole_bytes < last.size_bytes:
        cut = f"the last {last.size_bytes - last.whole_bytes:,} bytes, from position"
        text = f"{cut} {last.whole_bytes}, are no batch"
        yield f"{last.path.name}: {text}: a broker is writing them, keeps them free, or was cut off"
