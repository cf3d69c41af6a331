"""The cleaner: one pass over the segments of one log, as a function.

Builds a map of winners, then copies what is kept, group of segments by group. Running it twice with
the same arguments gives the same answer. With a bounded capacity the map may fill up in the middle
of a segment or of a batch; what lies beyond stays for the next pass. Source: Cleaner.doClean,
Cleaner.buildOffsetMap, SkimpyOffsetMap, Cleaner.groupSegmentsBySize.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sim.protocol.compaction.copying import Copier
from sim.protocol.compaction.plan import Cleaning, CleaningPass, OffsetMap
from sim.protocol.compaction.strategies import PassFailed, Strategy
from sim.protocol.compaction.transactions import TransactionWatch, aborted_in
from sim.protocol.log import Batch, Segment
from sim.protocol.log.log import MAX_RELATIVE_OFFSET, from_offset

ENTRY_BYTES: Final = 24
"""A key's hash and an offset (SkimpyOffsetMap.bytesPerEntry)."""

VERSION_BYTES: Final = 8
"""What an entry needs on top when winners are not chosen by offset (KIP-280, Memory)."""


def entry_bytes(strategy: Strategy) -> int:
    """Bytes of one entry of the map: 24 by offset, 32 where versions are kept (KIP-280)."""
    return ENTRY_BYTES if strategy.latest_wins else ENTRY_BYTES + VERSION_BYTES


def map_capacity(buffer_bytes: int, load_factor: float, strategy: Strategy) -> int:
    """Number of keys in a map of that memory (CleanerConfig, LogCleaner.CleanerThread)."""
    return int(buffer_bytes // entry_bytes(strategy) * load_factor)


_BEYOND_ALL: Final = 1 << 62
"""As the start of a range: nothing counts as inside, so that versions alone decide."""


def build_map(segments: Sequence[Segment], plan: CleaningPass) -> OffsetMap:
    """The map over `segments`, read up to the upper bound or until it is full.

    It begins with the stubs, and then has the winners of the dirty section, or of all that is
    covered (`full_map`); only those of the dirty section need capacity. Segments beyond the bound
    are given, too: the marker of an aborted transaction may lie there.
    """
    start = 0 if plan.policy.full_map else plan.first_dirty_offset
    built = OffsetMap(dict(plan.stubs), start, -1)
    reading = _reading(segments, plan, start)
    if plan.map_capacity != 0:
        built.latest_offset = plan.upper_bound - 1
        _put(built, reading, plan)
    if reading.misses_markers:
        built.mapped_from = _BEYOND_ALL
    if reading.watch is not None:
        built.unended = {at: marker for at, marker in reading.watch.unended.items() if at >= start}
    return built


class _Reading(NamedTuple):
    """The batches that are read to build a map.

    Attributes:
        segments: The segments that are read, in order.
        first_batch: Position, in the first of them, of the first batch that is read.
        watch: Knows which transactions were aborted; None = there are no transactions.
        misses_markers: True = the marker of an aborted transaction may lie before what is read.
            Data that then counts as aborted is not in the map, and may be newer than what is.
    """

    segments: Sequence[Segment]
    first_batch: int
    watch: TransactionWatch | None
    misses_markers: bool = False

    def batches_of(self, index: int) -> Sequence[Batch]:
        """The batches to read of the segment at `index`."""
        batches = self.segments[index].batches
        return batches[self.first_batch :] if index == 0 and self.first_batch else batches


def _reading(segments: Sequence[Segment], plan: CleaningPass, start: int) -> _Reading:
    """The batches that the map has to read for its winners from `start` on (inclusive)."""
    for segment in segments:
        if segment.transactional:
            break
    else:
        return _Reading(segments[from_offset(segments, start) :], 0, None)
    interval_bytes = plan.policy.index_interval_bytes
    if plan.policy.full_map or interval_bytes is None:
        watch = TransactionWatch(aborted_in(segments, start, plan.upper_bound))
        return _Reading(segments, 0, watch)
    return _reading_by_index(segments, plan, interval_bytes)


def _reading_by_index(
    segments: Sequence[Segment], plan: CleaningPass, interval_bytes: int
) -> _Reading:
    """The batches from where the offset index says on, with all aborted transactions listed.

    The segments from the one that holds the first dirty offset on list them. One whose marker lies
    before the first batch is never seen to end: what its producer commits later counts as aborted.

    Source: Cleaner.buildOffsetMapForSegment, LocalLog.collectAbortedTransactions.
    """
    first_dirty = plan.first_dirty_offset
    floor = from_offset(segments, first_dirty)
    holding = segments[floor]
    first_batch = 0
    large = holding.size_bytes > interval_bytes or holding.index.below_start
    if first_dirty > holding.base_offset and large:
        first_batch = holding.index.read_from(
            holding.batches, first_dirty, interval_bytes=interval_bytes
        )
    aborted = aborted_in(segments, plan.log_start_offset, plan.upper_bound, first=floor)
    return _Reading(segments[floor:], first_batch, TransactionWatch(aborted), bool(aborted))


def _put(built: OffsetMap, reading: _Reading, plan: CleaningPass) -> None:
    """Enters the winners of the range, until a record of the dirty section finds the map full.

    The map is full when it holds `map_capacity` keys of the dirty section, even if the next key is
    among them.
    """
    winners, start, upper_bound = built.winners, built.mapped_from, plan.upper_bound
    strategy, reads_all = plan.policy.strategy, plan.policy.unmapped_version is not None
    latest_wins, version_of = strategy.latest_wins, strategy.version
    capacity, dirty_from = plan.map_capacity, plan.first_dirty_offset
    watch, keys, entered = reading.watch, set[str](), -1
    for index in range(len(reading.segments)):
        for batch in reading.batches_of(index):
            last_offset = batch.last_offset
            if last_offset >= upper_bound:
                return
            if watch is not None and watch.decides(batch):
                continue
            if last_offset < start or batch.control is not None:
                continue
            for record in batch.records:
                key = record.key
                if key is None or record.offset < start:
                    continue
                if capacity is not None and record.offset >= dirty_from:
                    if len(keys) == capacity:
                        _end_before(built, batch, reading, index, entered)
                        return
                    keys.add(key)
                    entered = record.offset
                if latest_wins:
                    winners[key] = record
                else:
                    known = winners.get(key)
                    if known is None or version_of(record) > version_of(known):
                        winners[key] = record
                    if known is None and reads_all:
                        version_of(record)


def _end_before(
    built: OffsetMap, batch: Batch, reading: _Reading, index: int, entered: int
) -> None:
    """Notes that the map was full in `batch`, of the segment at `index`, after offset `entered`.

    Whole batches and whole segments count up to their end, so that gaps do not stop the cleaner.
    """
    read = [one for one in reading.batches_of(index) if one.base_offset <= batch.base_offset]
    before = read[-2].last_offset if len(read) > 1 else reading.segments[index].base_offset - 1
    built.latest_offset = max(entered, before)
    built.largest_batch_bytes = max([one.size_bytes for one in read])


def clean(segments: Sequence[Segment], plan: CleaningPass) -> Cleaning:
    """Cleans what lies below the upper bound, as far as the map reaches.

    The segments covered are all from the first one to the one that holds the map's last offset; the
    arguments are left untouched. A pass into whose map nothing can enter changes nothing. One that
    cannot go on says why in `failure`, and what it did before.
    """
    nothing = Cleaning([], 0, plan.first_dirty_offset)
    if plan.first_dirty_offset >= plan.upper_bound and not (plan.rescan or plan.given_map):
        return nothing
    try:
        reach = plan.given_map or build_map(segments, plan)
    except PassFailed as failure:
        nothing.failure = failure
        return nothing
    if reach.latest_offset < 0:
        return nothing
    end = min(reach.latest_offset + 1, plan.upper_bound)
    covered = [segment for segment in segments if segment.base_offset < end]
    copier = Copier(segments, len(covered), plan, reach)
    finished = 0
    for group in groups_of(
        covered,
        max_bytes=plan.segment_bytes,
        upper_bound=plan.upper_bound,
        exempt_empty=plan.policy.group_empty_segments,
    ):
        try:
            copier.result.segments.append(copier.copy_group(group))
        except PassFailed as failure:
            stopped = copier.result.stopped(
                failure,
                below=group[0].base_offset,
                replaced=finished,
                next_dirty_offset=plan.first_dirty_offset,
            )
            return copier.explained(stopped)
        finished += len(group)
    return copier.explained(copier.result)


def groups_of(
    segments: Sequence[Segment],
    *,
    max_bytes: int | None,
    upper_bound: int,
    exempt_empty: bool = True,
) -> list[list[Segment]]:
    """Cuts `segments` into runs that become one segment each, left to right.

    Sizes are those before cleaning, so what shrinks now is merged in a later pass. A segment over
    the limit stays alone; an empty one joins for any range of offsets, unless `exempt_empty`
    is false, as it was before KAFKA-12889. `upper_bound` is where the last segment ends
    (exclusive). Index sizes are not modelled.
    """
    groups: list[list[Segment]] = []
    size = 0
    for index, segment in enumerate(segments):
        end = segments[index + 1].base_offset if index + 1 < len(segments) else upper_bound
        if (
            groups
            and (max_bytes is None or size + segment.size_bytes <= max_bytes)
            and (
                (exempt_empty and segment.size_bytes == 0)
                or end - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET
            )
        ):
            groups[-1].append(segment)
            size += segment.size_bytes
        else:
            groups.append([segment])
            size = segment.size_bytes
    return groups
