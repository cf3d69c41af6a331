"""Putting cleaned segments in place, file by file, and what a restart makes of a half-done swap.

A directory holds files by (base offset, suffix); each operation on it is atomic, the sequence is
not. How the sequence goes is the rule `segment_swap`:

* `swap_files` (LocalLog.replaceSegments): the cleaned file is written with suffix `.cleaned`,
  renamed to `.swap` when it is complete, the old ones become `.deleted` in ascending order, and
  `.swap` loses its suffix. A restart (LogLoader.load) deletes `.cleaned` and `.deleted` files, and
  finishes what a `.swap` file began.
* `new_first`: the cleaned file is renamed over the first old one, then the other old ones go. A
  restart in between loads both (Redpanda before PR 26755): what was merged is there twice.
* `old_first`: the old files go, then the cleaned one gets its name. A restart in between finds
  neither (BookKeeper issue 1534).

Simplification: a `.swap` file knows where its group ends; Kafka reads that off its last offset, so
old segments above it, of which nothing was kept, come back whole and are cleaned again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sim.log import Segment

LIVE, CLEANED, SWAP, DELETED = "", ".cleaned", ".swap", ".deleted"

Directory = dict[tuple[int, str], Segment]
"""(base offset, suffix) -> the segment in the file."""


class Group(NamedTuple):
    """Old segments, the one that takes their place, and where they end (exclusive)."""

    sources: tuple[Segment, ...]
    cleaned: Segment
    end: int


class State(NamedTuple):
    """A directory after one more operation.

    Attributes:
        directory: What is in it.
        group: How many groups are in place.
        replacing: Whether something of the present group's old files is touched already.
    """

    directory: Directory
    group: int
    replacing: bool


def groups_of(
    sources: Sequence[Segment], cleaned: Sequence[Segment], *, end: int
) -> tuple[Group, ...]:
    """Which old segments each cleaned one replaces; `end` is where the last one ends."""
    found = []
    for index, merged in enumerate(cleaned):
        last = index + 1 == len(cleaned)
        limit = end if last else cleaned[index + 1].base_offset
        own = [s for s in sources if merged.base_offset <= s.base_offset < max(limit, 1)]
        found.append(Group(tuple(own), merged, limit))
    return tuple(found)


def states(groups: Sequence[Group], *, swap: str) -> Iterator[State]:
    """The directory before the first operation and after each one, in order."""
    directory: Directory = {
        (segment.base_offset, LIVE): segment for group in groups for segment in group.sources
    }
    yield State(dict(directory), 0, replacing=False)
    for number, group in enumerate(groups):
        base, done = group.cleaned.base_offset, number
        for operation in _operations(group, swap):
            operation_kind, key, target = operation
            if operation_kind == "write":
                directory[key] = group.cleaned
            else:
                moved = directory.pop(key)
                if target is not None:
                    directory[target] = moved
            replaced = directory.get((base, LIVE)) is group.cleaned
            others = any((s.base_offset, LIVE) in directory for s in group.sources[1:])
            if replaced and not others:
                done = number + 1
            yield State(dict(directory), done, replacing=operation_kind != "write")


_Key = tuple[int, str]


def _operations(group: Group, swap: str) -> Iterator[tuple[str, _Key, _Key | None]]:
    """("write" | "move", file, new name or None to delete it)."""
    base = group.cleaned.base_offset
    yield "write", (base, CLEANED), None
    if swap == "new_first":
        yield "move", (base, CLEANED), (base, LIVE)
        for segment in group.sources[1:]:
            yield "move", (segment.base_offset, LIVE), None
        return
    if swap == "swap_files":
        yield "move", (base, CLEANED), (base, SWAP)
    for segment in group.sources:
        old = segment.base_offset
        yield "move", (old, LIVE), ((old, DELETED) if swap == "swap_files" else None)
    yield "move", (base, SWAP if swap == "swap_files" else CLEANED), (base, LIVE)
    if swap == "swap_files":
        for segment in group.sources:
            yield "move", (segment.base_offset, DELETED), None


def recovered(directory: Directory, groups: Sequence[Group]) -> list[Segment]:
    """The segments a restart finds, in order of offsets.

    Where two overlap, a reader is served by the one that begins later, so the earlier one is cut
    there.
    """
    live = {base: segment for (base, suffix), segment in directory.items() if suffix == LIVE}
    ends = {group.cleaned.base_offset: group.end for group in groups}
    for (base, suffix), segment in directory.items():
        if suffix == SWAP:
            live = {b: s for b, s in live.items() if not base <= b < ends[base]}
            live[base] = segment
    found = [live[base] for base in sorted(live)]
    return _without_overlap(found)


def _without_overlap(segments: Sequence[Segment]) -> list[Segment]:
    found = []
    for index, segment in enumerate(segments):
        end = segments[index + 1].base_offset if index + 1 < len(segments) else None
        found.append(segment if end is None else _cut(segment, end))
    return found


def _cut(segment: Segment, end: int) -> Segment:
    """The segment without what lies at or above `end`; itself if nothing does."""
    kept = [batch for batch in segment.batches if batch.last_offset < end]
    if len(kept) == len(segment.batches):
        return segment
    cut = Segment.of(segment.base_offset, kept, last_modified_ms=segment.last_modified_ms)
    cut.aborted = [entry for entry in segment.aborted if entry.last_offset < end]
    return cut
