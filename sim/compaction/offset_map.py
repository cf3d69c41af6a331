"""The offset map of one pass: the winning record of each key, and how far the map reaches.

With a bounded capacity the map may fill up in the middle of a segment or of a batch; what lies
beyond stays for the next pass. Source: Cleaner.buildOffsetMap, SkimpyOffsetMap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(slots=True)
class OffsetMap:
    """Winners, and the last offset they were chosen up to.

    Attributes:
        winners: Key -> the record that beats all others of the key in the mapped range.
        mapped_from: First offset of the mapped range (inclusive); a record below it is compared by
            version, inside the range the winner beats all others.
        latest_offset: Last offset of the mapped range (inclusive); -1 when nothing entered.
    """

    winners: dict[str, Record]
    mapped_from: int
    latest_offset: int


class MapRange(NamedTuple):
    """What a map is built from.

    Attributes:
        strategy: Which record of a key wins.
        full: True = the winners of the clean section enter, too; they need no capacity.
        first_dirty_offset: Start of the dirty section (inclusive).
        upper_bound: Its end (exclusive).
        capacity: Most distinct keys of the dirty section; None = no limit.
        reads_all: True = the version of a key's first record is read, too, and may be unreadable.
        stubs: Winners to begin with: removed tombstones by key. They need no capacity.
    """

    strategy: Strategy
    full: bool
    first_dirty_offset: int
    upper_bound: int
    capacity: int | None = None
    reads_all: bool = False
    stubs: Mapping[str, Record] = MappingProxyType({})


def build_map(segments: Sequence[Segment], wanted: MapRange) -> OffsetMap:
    """The map over `segments`, read up to the upper bound or until it is full.

    Segments beyond the bound are given, too: the marker of an aborted transaction may lie there.
    """
    start = 0 if wanted.full else wanted.first_dirty_offset
    built = OffsetMap(dict(wanted.stubs), start, -1)
    transactional = any(segment.transactional for segment in segments)
    aborted = aborted_in(segments, start, wanted.upper_bound) if transactional else ()
    watch = TransactionWatch(aborted) if transactional else None
    nothing_dirty = wanted.first_dirty_offset >= wanted.upper_bound
    if wanted.capacity is None or (nothing_dirty and wanted.capacity > 0):
        _put_all(built, segments, wanted, watch)
        built.latest_offset = wanted.upper_bound - 1
    elif wanted.capacity > 0:
        _put_until_full(built, segments, wanted, watch)
    return built


def _put_all(
    built: OffsetMap, segments: Sequence[Segment], wanted: MapRange, watch: TransactionWatch | None
) -> None:
    """Enter every winner of the range; the loop a pass spends half of its time in."""
    winners, start, upper_bound = built.winners, built.mapped_from, wanted.upper_bound
    latest_wins, version_of = wanted.strategy.latest_wins, wanted.strategy.version
    for segment in segments:
        for batch in segment.batches:
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


def _put_until_full(
    built: OffsetMap, segments: Sequence[Segment], wanted: MapRange, watch: TransactionWatch | None
) -> None:
    """Enter records of the dirty section until the next one finds the map full.

    The map is full when it holds `capacity` keys, even if the next key is among them. Whole batches
    and whole segments move `latest_offset` to their end, so that gaps do not stop the cleaner.
    """
    dirty_from, upper_bound = wanted.first_dirty_offset, wanted.upper_bound
    keys: set[str] = set()
    for index, segment in enumerate(segments):
        if segment.base_offset >= upper_bound:
            return
        for batch in segment.batches:
            if batch.last_offset >= upper_bound:
                break
            aborted = watch is not None and watch.decides(batch)
            if batch.control is None and not aborted and not _put(built, batch, wanted, keys):
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
