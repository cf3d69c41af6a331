"""A crash in the middle of a cleaning pass: where it comes, and what is on disk after it.

A pass writes the cleaned segments of one group, puts them in place (`sim.replication.swapping`),
goes on with the next group, and in the end saves the cleaner's checkpoint. A crash comes

* `cleaning`: while the first cleaned file is written;
* `swap`: between the two halves of the first group's swap;
* `checkpoint`: when everything is in place and the checkpoint is not.

When the checkpoint is saved is the rule `cleaner_checkpoint`: `after_work` (Cleaner.doClean, then
LogCleanerManager.doneCleaning), `before_work` (the marker of etcd 3.5.0 that ran ahead of its
work), or `both`: one mark of what is begun, one of what is done, as the scheduled and the finished
compact revision of etcd. What was begun bounds a log end that persists (etcd PR 17815).
"""

from __future__ import annotations

from typing import NamedTuple

from sim.compaction import Cleaning
from sim.log import Segment
from sim.replication.replica import Replica
from sim.replication.swapping import State, groups_of, recovered, states
from sim.rules.rules import Rules
from sim.trace import Cleaned, Event, Removal, SegmentsLost

CLEANING, SWAP, CHECKPOINT = "cleaning", "swap", "checkpoint"
MOMENTS = (CLEANING, SWAP, CHECKPOINT)
"""When in a pass a crash can come."""


class Pass(NamedTuple):
    """A pass that is about to be put in place: what it gives, and up to where it cleaned."""

    result: Cleaning
    reached: int


def interrupt(replica: Replica, done: Pass, *, during: str, rules: Rules) -> list[Event]:
    """Leave on disk what a crash in that moment leaves, and save the marks that are saved by then.

    The replica is to crash at once. What a restart would find is put in place here: nobody reads
    the log in between.
    """
    log, result = replica.log, done.result
    before, first_dirty = log.size_bytes, replica.first_dirty_offset
    sources = log.segments[: result.replaced]
    after_them = log.segments[result.replaced :]
    end = after_them[0].base_offset if after_them else log.log_end_offset
    groups = groups_of(sources, result.segments, end=end)
    state = _state(list(states(groups, swap=rules.storage.segment_swap)), during, len(groups))
    found = recovered(state.directory, groups)
    effect = _effect(sources, found, result)
    log.replace_segments(result.replaced, found)
    if rules.storage.cleaner_checkpoint == "before_work":
        replica.first_dirty_offset = done.reached
        replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, done.reached)
    elif rules.storage.cleaner_checkpoint == "both":
        replica.begun_offset = max(replica.begun_offset, done.reached)
    events: list[Event] = []
    if effect.changed or replica.first_dirty_offset > first_dirty:
        gone = {removal.offset for removal in effect.removals}
        for record in result.removed["tombstone"]:
            if record.offset in gone:
                end_of = max(replica.removed_tombstone_end, record.offset + 1)
                replica.removed_tombstone_end = end_of
        events.append(
            Cleaned(
                replica.name,
                first_dirty,
                replica.first_dirty_offset,
                effect.removals,
                effect.emptied,
                effect.dropped,
                effect.horizons,
                result.protected_offset,
                log.log_end_offset,
                log.high_watermark,
                (before, log.size_bytes),
                stubs=len(replica.stubs),
            )
        )
    if effect.lost:
        events.append(SegmentsLost(replica.name, effect.lost))
    return events


def _state(found: list[State], during: str, groups: int) -> State:
    if during == CLEANING:
        return next((state for state in found[1:] if not state.replacing), found[0])
    if during == CHECKPOINT:
        return found[-1]
    half_done = [state for state in found if state.group == 0 and state.replacing]
    return half_done[-1] if half_done and groups else found[-1]


class _Effect(NamedTuple):
    """What of a pass took effect, and the offsets that are gone for no reason at all."""

    removals: tuple[Removal, ...]
    emptied: tuple[int, ...]
    dropped: tuple[int, ...]
    horizons: tuple[tuple[int, int], ...]
    lost: tuple[int, ...]

    @property
    def changed(self) -> bool:
        return bool(self.removals or self.emptied or self.dropped or self.horizons)


def _effect(sources: list[Segment], found: list[Segment], result: Cleaning) -> _Effect:
    left = {batch.last_offset: batch for segment in found for batch in segment.batches}
    records = {record.offset for batch in left.values() for record in batch.records}
    removals = tuple(r for r in result.removals if r.offset not in records)
    emptied = tuple(o for o in result.emptied if o in left and not left[o].records)
    dropped = tuple(offset for offset in result.dropped if offset not in left)
    stamped = {batch.base_offset: batch.delete_horizon_ms for batch in left.values()}
    horizons = tuple(h for h in result.horizons if stamped.get(h[0]) == h[1])
    explained = {removal.offset for removal in removals} | set(dropped)
    held = {
        offset
        for segment in sources
        for batch in segment.batches
        for offset in ([r.offset for r in batch.records] or [batch.last_offset])
    }
    lost = tuple(sorted(held - records - left.keys() - explained))
    return _Effect(removals, emptied, dropped, horizons, lost)
