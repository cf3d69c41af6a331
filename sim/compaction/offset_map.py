"""The offset map of one pass: the winning record of each key, and how far the map reaches.

With a bounded capacity the map may fill up in the middle of a segment or of a batch; what lies
beyond stays for the next pass. Source: Cleaner.buildOffsetMap, SkimpyOffsetMap.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import MappingProxyType
from typing import Final, NamedTuple

from sim.compaction.strategies import Strategy
from sim.compaction.transactions import TransactionWatch, aborted_in
from sim.log import Batch, Record, Segment

ENTRY_BYTES: Final = 24
"""A key's hash and an offset (SkimpyOffsetMap.bytesPerEntry)."""

VERSION_BYTES: Final = 8
"""What an entry needs on top when winners are not chosen by offset (KIP-280, Memory)."""


def entry_bytes(strategy: Strategy) -> int:
    """Bytes of one entry of the map: 24 by offset, 32 where versions are kept (KIP-280)."""
    return ENTRY_BYTES if strategy.latest_wins else ENTRY_BYTES + VERSION_BYTES


def map_capacity(buffer_bytes: int, load_factor: float, strategy: Strategy) -> int:
    """How many keys a map of that memory holds (CleanerConfig, LogCleaner.CleanerThread)."""
    return int(buffer_bytes // entry_bytes(strategy) * load_factor)


def rounds_needed(keys: int, capacity: int) -> int:
    """How many rounds `keys` distinct dirty keys take at least; a round maps `capacity` at most.

    A key whose records lie in the parts of two rounds takes room in both.

    Raises:
        ValueError: The capacity is below 1: no round gets anywhere.
    """
    if capacity < 1:
        raise ValueError("a map without room for a key maps nothing")
    return -(-keys // capacity)


_BEYOND_ALL: Final = 1 << 62
"""As the start of a range: nothing counts as inside, so that versions alone decide."""

_base_offset = attrgetter("base_offset")


@dataclass(slots=True)
class OffsetMap:
    """Winners, and the last offset they were chosen up to.

    Attributes:
        winners: Key -> the record that beats all others of the key in the mapped range.
        mapped_from: First offset of the mapped range (inclusive); a record below it is compared by
            version, inside the range the winner beats all others.
        latest_offset: Last offset of the mapped range (inclusive); -1 when nothing entered.
        largest_batch_bytes: When the map was full: the largest batch that was read of the segment
            it stopped in, which the cleaner's buffer has grown to by then; else 0.
        unended: What did not enter because it counts as aborted, see `TransactionWatch`.
    """

    winners: dict[str, Record]
    mapped_from: int
    latest_offset: int
    largest_batch_bytes: int = 0
    unended: Mapping[int, int] = field(default_factory=dict)


class MapRange(NamedTuple):
    """What a map is built from.

    Attributes:
        strategy: Which record of a key wins.
        full: True = the winners of the clean section enter, too; they need no capacity.
        first_dirty_offset: Start of the dirty section (inclusive).
        upper_bound: Its end (exclusive).
        capacity: Most distinct keys of the dirty section; None = no limit.
        reads_all: True = the version of a key's first record is read, too, and may be unreadable.
        index_interval_bytes: Read on from where the offset index says; None = all from the start.
        log_start_offset: With an index: aborted transactions with a marker from there on are known.
        stubs: Winners to begin with: removed tombstones by key. They need no capacity.
    """

    strategy: Strategy
    full: bool
    first_dirty_offset: int
    upper_bound: int
    capacity: int | None = None
    reads_all: bool = False
    index_interval_bytes: int | None = None
    log_start_offset: int = 0
    stubs: Mapping[str, Record] = MappingProxyType({})


def build_map(segments: Sequence[Segment], wanted: MapRange) -> OffsetMap:
    """The map over `segments`, read up to the upper bound or until it is full.

    Segments beyond the bound are given, too: the marker of an aborted transaction may lie there.
    """
    start = 0 if wanted.full else wanted.first_dirty_offset
    built = OffsetMap(dict(wanted.stubs), start, -1)
    reading = _Reading(segments, 0, None)
    if any(segment.transactional for segment in segments):
        if wanted.full or wanted.index_interval_bytes is None:
            watch = TransactionWatch(aborted_in(segments, start, wanted.upper_bound))
            reading = _Reading(segments, 0, watch)
        else:
            reading = _reading_by_index(segments, wanted, wanted.index_interval_bytes)
    nothing_dirty = wanted.first_dirty_offset >= wanted.upper_bound
    if wanted.capacity is None or (nothing_dirty and wanted.capacity > 0):
        _put_all(built, reading, wanted)
        built.latest_offset = wanted.upper_bound - 1
    elif wanted.capacity > 0:
        _put_until_full(built, reading, wanted)
    if reading.misses_markers:
        built.mapped_from = _BEYOND_ALL
    if reading.watch is not None:
        built.unended = {at: marker for at, marker in reading.watch.unended.items() if at >= start}
    return built


class _Reading(NamedTuple):
    """What is read for a map.

    Attributes:
        segments: One after the other.
        first_batch: Position of the first batch in the first of them that is read.
        watch: Knows which transactions were aborted; None = there are no transactions.
        misses_markers: The marker of one of those may not be read: what then counts as aborted is
            not in the map, and may be newer than what is.
    """

    segments: Sequence[Segment]
    first_batch: int
    watch: TransactionWatch | None
    misses_markers: bool = False

    def batches_of(self, index: int) -> Sequence[Batch]:
        """What is read of the segment at `index`."""
        batches = self.segments[index].batches
        return batches[self.first_batch :] if index == 0 and self.first_batch else batches


def _reading_by_index(
    segments: Sequence[Segment], wanted: MapRange, interval_bytes: int
) -> _Reading:
    """From where the offset index says, with each aborted transaction that is in some index.

    One whose marker lies before that place is never seen to end: what its producer commits later
    counts as aborted. Source: Cleaner.buildOffsetMapForSegment, LocalLog.collectAbortedTransactions
    """
    first_dirty = wanted.first_dirty_offset
    floor = max(bisect_right(segments, first_dirty, key=_base_offset) - 1, 0)
    holding = segments[floor]
    first_batch = 0
    large = holding.size_bytes > interval_bytes or holding.index.below_start
    if first_dirty > holding.base_offset and large:
        first_batch = holding.index.read_from(
            holding.batches, first_dirty, interval_bytes=interval_bytes
        )
    aborted = aborted_in(segments, wanted.log_start_offset, wanted.upper_bound, first=floor)
    return _Reading(segments[floor:], first_batch, TransactionWatch(aborted), bool(aborted))


def _put_all(built: OffsetMap, reading: _Reading, wanted: MapRange) -> None:
    """Enter every winner of the range; the loop a pass spends half of its time in."""
    winners, start, upper_bound = built.winners, built.mapped_from, wanted.upper_bound
    latest_wins, version_of = wanted.strategy.latest_wins, wanted.strategy.version
    watch = reading.watch
    for index in range(len(reading.segments)):
        for batch in reading.batches_of(index):
            if batch.last_offset >= upper_bound:
                return
            if watch is not None and watch.decides(batch):
                continue
            if batch.last_offset < start or batch.control is not None:
                continue
            for record in batch.records:
                key = record.key
                if key is None or record.offset < start:
                    continue
                if latest_wins:
                    winners[key] = record
                else:
                    known = winners.get(key)
                    if known is None or version_of(record) > version_of(known):
                        winners[key] = record
                    if known is None and wanted.reads_all:
                        version_of(record)


def _put_until_full(built: OffsetMap, reading: _Reading, wanted: MapRange) -> None:
    """Enter records of the dirty section until the next one finds the map full.

    The map is full when it holds `capacity` keys, even if the next key is among them. Whole batches
    and whole segments move `latest_offset` to their end, so that gaps do not stop the cleaner.
    """
    dirty_from, upper_bound = wanted.first_dirty_offset, wanted.upper_bound
    keys: set[str] = set()
    segments, watch = reading.segments, reading.watch
    for index, segment in enumerate(segments):
        if segment.base_offset >= upper_bound:
            return
        for batch in reading.batches_of(index):
            if batch.last_offset >= upper_bound:
                break
            aborted = watch is not None and watch.decides(batch)
            if batch.control is None and not aborted and not _put(built, batch, wanted, keys):
                read = [
                    each
                    for each in reading.batches_of(index)
                    if each.base_offset <= batch.base_offset
                ]
                built.largest_batch_bytes = max([each.size_bytes for each in read])
                return
            if batch.last_offset >= dirty_from:
                built.latest_offset = batch.last_offset
        end = segments[index + 1].base_offset if index + 1 < len(segments) else upper_bound
        if end > dirty_from:
            built.latest_offset = min(end, upper_bound) - 1


def _put(built: OffsetMap, batch: Batch, wanted: MapRange, keys: set[str]) -> bool:
    """Enter the records of one batch; False when the map was full before one of them."""
    winners, version_of = built.winners, wanted.strategy.version
    for record in batch.records:
        key, offset = record.key, record.offset
        if key is None or offset < built.mapped_from:
            continue
        if offset >= wanted.first_dirty_offset:
            if len(keys) == wanted.capacity:
                return False
            keys.add(key)
            built.latest_offset = offset
        known = winners.get(key)
        if known is None or version_of(record) > version_of(known):
            winners[key] = record
        if known is None and wanted.reads_all:
            version_of(record)
    return True
