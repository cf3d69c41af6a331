"""A crash during a cleaning pass: its moment, and the files that a restart finds.

A pass writes the cleaned segments of one group, puts them in place, goes on with the next group,
and in the end saves the cleaner's checkpoint. A crash comes

* `cleaning`: while the first cleaned file is written;
* `swap`: between the two halves of the first group's swap;
* `checkpoint`: when everything is in place and the checkpoint is not;
* a number: after that one of all operations on files, from 0, modulo how many there are.

When the checkpoint is saved is the rule `cleaner_checkpoint`: `after_work` (Cleaner.doClean, then
LogCleanerManager.doneCleaning), `before_work` (the marker of etcd 3.5.0 that ran ahead of its
work), or `both`: one mark of what is begun, one of what is done, as the scheduled and the finished
compact revision of etcd. What was begun bounds a log end that persists (etcd PR 17815).

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

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from sim.protocol.compaction import Cleaning
from sim.protocol.events import Cleaned, Event, SegmentsLost
from sim.protocol.log import Record, Segment
from sim.protocol.replication.replica import Replica
from sim.protocol.rules.storage import SegmentSwap, StorageRules

CLEANING, SWAP, CHECKPOINT = "cleaning", "swap", "checkpoint"
MOMENTS = (CLEANING, SWAP, CHECKPOINT)
"""When in a pass a crash can come."""


def interrupt(
    replica: Replica,
    result: Cleaning,
    *,
    during: str | int,
    storage: StorageRules,
    now_ms: int,
    remember: Callable[[Sequence[Record]], None],
) -> tuple[bool, list[Event]]:
    """Leaves the files that a crash at that moment leaves, with the checkpoints saved by then.

    The pass began at `now_ms` of the replica's own clock, and the replica is to crash at once. What
    a restart would find is put in place here: the log is not read in between. `remember` is called
    with the tombstones that are gone. Returns whether the pass changed the log, and its events.
    """
    log, reached = replica.log, max(replica.first_dirty_offset, result.next_dirty_offset)
    before, first_dirty = log.size_bytes, replica.first_dirty_offset
    sources = log.segments[: result.replaced]
    after_them = log.segments[result.replaced :]
    end = after_them[0].base_offset if after_them else log.log_end_offset
    groups = groups_of(sources, result.segments, end=end)
    state = _state(list(states(groups, swap=storage.segment_swap)), during)
    found = recovered(state.directory, groups)
    effect, lost = _effect(sources, found, result)
    changed = any(effect[part] for part in ("removals", "emptied", "dropped", "horizons"))
    log.replace_segments(result.replaced, found)
    if storage.cleaner_checkpoint == "before_work":
        replica.first_dirty_offset = reached
        replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, reached)
    elif storage.cleaner_checkpoint == "both":
        replica.begun_offset = max(replica.begun_offset, reached)
    removed = {removal.offset for removal in effect["removals"]}
    remember([record for record in result.removed["tombstone"] if record.offset in removed])
    events: list[Event] = []
    if changed or replica.first_dirty_offset > first_dirty:
        gone = [one.offset + 1 for one in effect["removals"] if one.reason == "tombstone"]
        replica.removed_tombstone_end = max([replica.removed_tombstone_end, *gone])
        events.append(
            Cleaned(
                replica.name,
                first_dirty,
                replica.first_dirty_offset,
                protected_offset=result.protected_offset,
                log_end_offset=log.log_end_offset,
                high_watermark=log.high_watermark,
                size_bytes=(before, log.size_bytes),
                stubs=len(replica.stubs),
                now_ms=now_ms,
                **effect,
            )
        )
    if lost:
        events.append(SegmentsLost(replica.name, lost))
    return changed or bool(lost), events


def _state(found: list[State], during: str | int) -> State:
    if isinstance(during, int):
        later = found[1:] or found
        return later[during % len(later)]
    if during == CLEANING:
        return next((state for state in found[1:] if not state.replacing), found[0])
    if during == CHECKPOINT:
        return found[-1]
    half_done = [state for state in found if state.group == 0 and state.replacing]
    return half_done[-1] if half_done else found[-1]


def _effect(
    sources: list[Segment], found: list[Segment], result: Cleaning
) -> tuple[dict[str, Any], tuple[int, ...]]:
    """The part of a pass that took effect, by field of `Cleaned`, and the offsets that are lost."""
    before = {batch.base_offset: batch for segment in sources for batch in segment.batches}
    left = {batch.last_offset: batch for segment in found for batch in segment.batches}
    records = {record.offset for batch in left.values() for record in batch.records}
    rewritten = {
        batch.base_offset: batch.size_bytes
        for batch in left.values()
        if batch.records and batch is not before.get(batch.base_offset)
    }
    effect: dict[str, Any] = {
        "removals": tuple(r for r in result.removals if r.offset not in records),
        "emptied": tuple(o for o in result.emptied if o in left and not left[o].records),
        "dropped": tuple(offset for offset in result.dropped if offset not in left),
        "horizons": tuple(h for h in result.horizons if h[0] in rewritten),
        "rewritten": tuple(rewritten.items()),
    }
    explained = {removal.offset for removal in effect["removals"]} | {*effect["dropped"]}
    held = {
        offset
        for segment in sources
        for batch in segment.batches
        for offset in ([r.offset for r in batch.records] or [batch.last_offset])
    }
    return effect, tuple(sorted(held - records - left.keys() - explained))


_LIVE, _CLEANED, _SWAP, _DELETED = "", ".cleaned", ".swap", ".deleted"

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
        replacing: True after an operation of a group but the first, which writes the cleaned file.
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


def states(groups: Sequence[Group], *, swap: SegmentSwap) -> Iterator[State]:
    """The directory before the first operation and after each one, in order."""
    directory: Directory = {
        (segment.base_offset, _LIVE): segment for group in groups for segment in group.sources
    }
    yield State(dict(directory), 0, replacing=False)
    for number, group in enumerate(groups):
        base, done = group.cleaned.base_offset, number
        for old, new in _operations(group, swap):
            segment = group.cleaned if old is None else directory.pop(old)
            if new is not None:
                directory[new] = segment
            replaced = directory.get((base, _LIVE)) is group.cleaned
            others = any((s.base_offset, _LIVE) in directory for s in group.sources[1:])
            if replaced and not others:
                done = number + 1
            yield State(dict(directory), done, replacing=old is not None)


_Name = tuple[int, str]


def _operations(group: Group, swap: SegmentSwap) -> Iterator[tuple[_Name | None, _Name | None]]:
    """Each file's old and new name: without an old one it is written, without a new one it goes."""
    base = group.cleaned.base_offset
    yield None, (base, _CLEANED)
    if swap == "new_first":
        yield (base, _CLEANED), (base, _LIVE)
        for segment in group.sources[1:]:
            yield (segment.base_offset, _LIVE), None
        return
    if swap == "swap_files":
        yield (base, _CLEANED), (base, _SWAP)
    for segment in group.sources:
        old = segment.base_offset
        yield (old, _LIVE), ((old, _DELETED) if swap == "swap_files" else None)
    yield (base, _SWAP if swap == "swap_files" else _CLEANED), (base, _LIVE)
    if swap == "swap_files":
        for segment in group.sources:
            yield (segment.base_offset, _DELETED), None


def recovered(directory: Directory, groups: Sequence[Group]) -> list[Segment]:
    """The segments a restart finds, in order of offsets.

    Where two overlap, a reader is served by the one that begins later, so the earlier one is cut
    there.
    """
    live = {base: segment for (base, suffix), segment in directory.items() if suffix == _LIVE}
    ends = {group.cleaned.base_offset: group.end for group in groups}
    for (base, suffix), segment in directory.items():
        if suffix == _SWAP:
            live = {b: s for b, s in live.items() if not base <= b < ends[base]}
            live[base] = segment
    found = [live[base] for base in sorted(live)]
    return [*(_cut(one, later.base_offset) for one, later in pairwise(found)), *found[-1:]]


def _cut(segment: Segment, end: int) -> Segment:
    """The segment without what lies at or above `end`; itself if nothing does."""
    kept = [batch for batch in segment.batches if batch.last_offset < end]
    if len(kept) == len(segment.batches):
        return segment
    cut = Segment.of(segment.base_offset, kept, last_modified_ms=segment.last_modified_ms)
    cut.aborted = [entry for entry in segment.aborted if entry.last_offset < end]
    return cut
