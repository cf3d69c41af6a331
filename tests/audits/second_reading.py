"""A cleaner read slowly: conditions on the whole log, for each record by itself.

It shares no code with `sim.protocol.compaction`, which walks the log once and keeps state: here it
is asked for each record whether anything in the log makes it go. Sizes are counted in encoded
bytes. Used for random logs (`tests/compaction/test_laws.py`) and for every pass of audited runs
(`tests.audits.second_reading_passes`).

Sources: Cleaner.buildOffsetMap, .cleanSegments, .cleanInto, .shouldRetainRecord;
CleanedTransactionMetadata; MemoryRecords.filterTo.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from sim.protocol.events import Removal
from sim.protocol.log import AbortedTransaction, Batch, Control, Record, Segment
from tests.log.wire import encode

MARKER_KEYS: Final = {
    Control.ABORT: "\0\0\0\0",
    Control.COMMIT: "\0\0\0\1",
    Control.LEADER_CHANGE: "\0\0\0\3",
}
"""The bytes of the keys of control records (ControlRecordType)."""
_IN_BATCH: Final = frozenset({"horizon", "leo_gated", "coordinated", "never"})
"""Rules of tombstone removal that write the delete horizon into the batch."""
_HORIZON_HEADER: Final = "delete-horizon"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The order of one pass: the rules by name, and the circumstances.

    Attributes:
        version: The order of records: of one key, the highest wins.
        is_tombstone: The mark of tombstones.
        fix: Value of the rule `fix`.
        removal: Value of the rule `tombstone_removal`.
        full_map: Whether winners are chosen among all records that the pass covers.
        first_dirty_offset: Where the dirty section begins (inclusive).
        upper_bound: Batches that end below it are covered (exclusive).
        now_ms: The replica's clock in ms.
        delete_retention_ms: `delete.retention.ms`.
        high_watermark: The replica's own (exclusive).
        log_start_offset: Aborted transactions that end below it are forgotten (inclusive).
        last_records: Producer id -> (last offset of its newest data batch, its epoch); the offset
            is None where only markers came in that epoch.
        map_capacity: Most distinct keys; None = no limit.
        given_map: (last mapped offset, winner of each key) instead of a map of its own.
        rescan: Whether the pass runs although nothing is dirty.
        segment_bytes: `segment.bytes`; None = no limit.
        max_message_bytes: `max.message.bytes`; None = no limit.
        removal_limit: Below it tombstones may go, with gated rules (exclusive).
        marker_limit: Below it markers may go with `coordinated` (exclusive); None = the same.
        legacy_horizon_ms: Horizon of the whole pass with `last_modified`, in ms; None = none.
        legacy_last_modified: (base, end exclusive, time in ms) instead of the segments' own times.
        last_cleaning: (end exclusive, time in ms) of the last pass; None = there was none.
        stamp_beyond_map: Whether tombstones that the map has not reached get a horizon.
        unstamped_by_segment: Whether tombstones without a horizon go by their segment's time.
        markers_like_tombstones: Whether, with `last_modified`, markers go by their segment's time.
        markers_by_key: Whether a user's key can evict a marker.
        last_abort_only: Whether of all ABORT markers the last one stays alone.
        unmapped_version: A record whose key is not in the map goes below it; None = none goes.
        indexes_calls: Whether what is left of one source segment is written in one call.
        stubs: Key -> a removed tombstone that still takes part.
    """

    version: Callable[[Record], tuple[int, ...]]
    is_tombstone: Callable[[Record], bool]
    fix: str
    removal: str
    full_map: bool
    first_dirty_offset: int
    upper_bound: int
    now_ms: int
    delete_retention_ms: int
    high_watermark: int
    log_start_offset: int = 0
    last_records: Mapping[int, tuple[int | None, int]] = field(default_factory=dict)
    map_capacity: int | None = None
    given_map: tuple[int, Mapping[str, Record]] | None = None
    rescan: bool = False
    segment_bytes: int | None = None
    max_message_bytes: int | None = None
    removal_limit: int = 0
    marker_limit: int | None = None
    legacy_horizon_ms: int | None = None
    legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None
    last_cleaning: tuple[int, int] | None = None
    stamp_beyond_map: bool = True
    unstamped_by_segment: bool = False
    markers_like_tombstones: bool = False
    markers_by_key: bool = False
    last_abort_only: bool = False
    unmapped_version: tuple[int, ...] | None = None
    indexes_calls: bool = False
    stubs: Mapping[str, Record] = field(default_factory=dict)


@dataclass(slots=True)
class Group:
    """Neighbouring segments and what is left of them.

    Attributes:
        sources: The segments before the pass, at least one.
        batches: The batches that stay.
        aborted: The entries of the index of aborted transactions that stay.
    """

    sources: list[Segment]
    batches: list[Batch] = field(default_factory=list)
    aborted: list[AbortedTransaction] = field(default_factory=list)

    @property
    def segment(self) -> tuple[int, list[Batch], list[AbortedTransaction], int]:
        """Base offset, batches, entries of aborted transactions, time of the last change in ms."""
        first, last = self.sources[0], self.sources[-1]
        return (first.base_offset, self.batches, self.aborted, last.last_modified_ms)

    def first_ms(self, *, per_call: bool) -> list[int]:
        """The times in ms that the first append may have: of its first batch, or of the latest.

        How much of one source is written in one call is up to a buffer (LogSegment.append); -1
        without batches.
        """
        if not per_call or not self.batches:
            return [self.batches[0].timestamp_ms if self.batches else -1]
        bases = [each.base_offset for each in self.sources]
        end = bases[bisect_right(bases, self.batches[0].base_offset) :][:1]
        call = [one.timestamp_ms for one in self.batches if not end or one.base_offset < end[0]]
        return [*accumulate(call, max)]


@dataclass(slots=True)
class Expected:
    """The answer that a pass has to give; an empty one if nothing can enter its map."""

    groups: list[Group] = field(default_factory=list)
    replaced: int = 0
    next_dirty_offset: int = 0
    removals: list[Removal] = field(default_factory=list)
    horizons: list[tuple[int, int]] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    oversized: list[tuple[int, int]] = field(default_factory=list)
    rewritten: list[tuple[int, int]] = field(default_factory=list)
    messages: tuple[int, int] = (0, 0)


class Reading:
    """The conditions for one log and one pass."""

    def __init__(self, segments: Sequence[Segment], order: Order) -> None:
        """Reads which data was aborted, what wins and what the fix protects."""
        self.segments, self.order = segments, order
        self.batches = [batch for segment in segments for batch in segment.batches]
        self._own: defaultdict[int, list[Batch]] = defaultdict(list)
        for batch in self.batches:
            if batch.transactional:
                self._own[batch.producer_id].append(batch)
        self._entries = [entry for segment in segments for entry in segment.aborted]
        self._aborted = self._bases_of(self._entries)
        self.latest, self.winners = self._map()
        known = [each for each in self._entries if each.last_offset >= order.log_start_offset]
        if len(known) < len(self._entries):
            self._entries, self._aborted = known, self._bases_of(known)
        self.protected, self.batch_end = self._fix()
        self._last_abort = self._find_last_abort()

    # Transactions.

    def _data_of(self, entry: AbortedTransaction) -> list[Batch]:
        """The batches of an aborted transaction, empty ones included."""
        return [
            batch
            for batch in self._own[entry.producer_id]
            if batch.control is None and entry.first_offset <= batch.last_offset < entry.last_offset
        ]

    def _bases_of(self, entries: Iterable[AbortedTransaction]) -> set[int]:
        return {batch.base_offset for entry in entries for batch in self._data_of(entry)}

    def _is_aborted(self, batch: Batch) -> bool:
        return batch.control is None and batch.base_offset in self._aborted

    def _may_be_discarded(self, marker: Batch) -> bool:
        """Decides whether nothing of the transaction of a marker is left."""
        if not marker.records:
            return True
        if marker.control is Control.ABORT:
            closed = [each for each in self._entries if each.last_offset == marker.base_offset]
            return not any(self._data_of(entry) for entry in closed)
        if marker.control is not Control.COMMIT:
            return False
        for batch in reversed(self._own[marker.producer_id]):
            if batch.base_offset >= marker.base_offset:
                continue
            if batch.control is Control.COMMIT and batch.records:
                return True
            if batch.control is None and not self._is_aborted(batch):
                return False
        return True

    def _find_last_abort(self) -> int:
        below = min(self.latest + 1, self.order.upper_bound)
        ends = [
            batch.base_offset
            for segment in self.segments
            if segment.base_offset < below
            for batch in segment.batches
            if batch.control is Control.ABORT and batch.records
            if batch.last_offset < self.order.upper_bound
        ]
        return max(ends, default=-1) if self.order.last_abort_only else -1

    # The map.

    def _mapped(self) -> Iterator[tuple[int, Batch, Record, str]]:
        """Records that may enter the map: number of the segment, batch, record and key."""
        for index, segment in enumerate(self.segments):
            for batch in segment.batches:
                if batch.last_offset >= self.order.upper_bound:
                    return
                if batch.control is None and not self._is_aborted(batch):
                    for record in batch.records:
                        if record.key is not None:
                            yield index, batch, record, record.key

    def _map(self) -> tuple[int, Mapping[str, Record]]:
        order = self.order
        if order.given_map is not None:
            return order.given_map
        dirty = order.first_dirty_offset < order.upper_bound
        if order.map_capacity == 0 or not (dirty or order.rescan):
            return -1, {}
        latest = self._reach() if dirty else order.upper_bound - 1
        start = 0 if order.full_map else order.first_dirty_offset
        winners = dict(order.stubs)
        for _, _, record, key in self._mapped():
            if start <= record.offset <= latest:
                winners[key] = max(record, winners.get(key, record), key=order.version)
        return latest, winners

    def _reach(self) -> int:
        """The last mapped offset: below the record that finds the map full, or the upper bound."""
        start, bound, before = self.order.first_dirty_offset, self.order.upper_bound, -1
        keys: set[str] = set()
        for index, batch, record, key in self._mapped():
            if record.offset < start:
                continue
            if len(keys) == self.order.map_capacity:
                ends = [b.last_offset for b in self.batches if b.last_offset < batch.base_offset]
                ends += [segment.base_offset - 1 for segment in self.segments[1 : index + 1]]
                return max(end for end in [before, *ends] if end >= start)
            keys.add(key)
            before = record.offset
        return bound - 1

    def _fix(self) -> tuple[int | None, int | None]:
        """The offset of the record, and the end of the batch, that the fix protects."""
        order, last = self.order, self.batches[-1] if self.batches else None
        if order.fix == "empty_batch":
            return None, order.upper_bound - 1
        if order.fix == "empty_batch_at_hw":
            return None, order.high_watermark - 1
        if order.fix != "leo_retention" or last is None:
            return None, None
        return (last.records[-1].offset if last.records else None), last.last_offset

    # One record.

    @property
    def _legacy_markers(self) -> bool:
        return self.order.markers_like_tombstones and self.order.removal == "last_modified"

    def _reason(self, record: Record, batch: Batch, segment: Segment) -> str | None:
        """Why a record of a covered batch goes; None = it stays."""
        order = self.order
        if record.offset == self.protected:
            return None
        if batch.control is not None:
            return self._marker_reason(batch, segment)
        if self._is_aborted(batch):
            return "aborted"
        if record.offset > self.latest:
            return None
        if record.key is None:
            return "no key"
        winner = self.winners.get(record.key)
        if winner is not None and order.version(record) < order.version(winner):
            return "superseded"
        lowest = order.unmapped_version
        if winner is None and lowest is not None and order.version(record) < lowest:
            return "unmapped"
        gone = order.is_tombstone(record) and self._tombstone_goes(record, batch, segment)
        return "tombstone" if gone else None

    def _marker_reason(self, batch: Batch, segment: Segment) -> str | None:
        order, horizon, offset = self.order, batch.delete_horizon_ms, batch.base_offset
        if self._may_be_discarded(batch):
            limit = order.removal_limit if order.marker_limit is None else order.marker_limit
            gated = order.removal == "coordinated" and offset >= limit
            due = horizon is not None and horizon <= order.now_ms and not gated
            if self._old_enough(offset, segment) if self._legacy_markers else due:
                return "marker"
        return None if self._evicted_by(batch) is None else "superseded"

    def _evicted_by(self, marker: Batch) -> int | None:
        """The offset of the record that evicts a marker by its key; None: no record does."""
        offset = marker.base_offset
        if marker.control is Control.ABORT and offset < self._last_abort:
            return self._last_abort
        winner = self.winners.get(MARKER_KEYS.get(marker.control or Control.SNAPSHOT, ""))
        beaten = winner is not None and offset < winner.offset and offset <= self.latest
        return winner.offset if self.order.markers_by_key and beaten and winner else None

    def _old_enough(self, offset: int, segment: Segment) -> bool:
        times: list[int] = [segment.last_modified_ms]
        if self.order.legacy_last_modified is not None:
            times = [t for lo, hi, t in self.order.legacy_last_modified if lo <= offset < hi]
        limit = self.order.legacy_horizon_ms
        return bool(times) and limit is not None and times[0] <= limit

    def _tombstone_goes(self, record: Record, batch: Batch, segment: Segment) -> bool:
        order = self.order
        horizon = batch.delete_horizon_ms
        if order.removal == "record_horizon":
            own = dict(record.headers).get(_HORIZON_HEADER)
            horizon = None if own is None else int.from_bytes(own, "big", signed=True)
        due = horizon is not None and horizon <= order.now_ms
        if order.unstamped_by_segment and horizon is None:
            due = self._old_enough(record.offset, segment)
        end, cleaned_ms = order.last_cleaning or (0, 0)
        waited = order.now_ms - cleaned_ms >= order.delete_retention_ms
        below_limit = record.offset < order.removal_limit
        return {
            "horizon": due,
            "record_horizon": due,
            "leo_gated": due and below_limit,
            "coordinated": due and below_limit,
            "immediate": True,
            "never": False,
            "cleaning_checkpoint": record.offset < end and waited,
            "last_modified": self._old_enough(record.offset, segment),
        }[order.removal]

    # One batch.

    def _stays_empty(self, batch: Batch) -> bool:
        if batch.last_offset == self.batch_end:
            return True
        last = self.order.last_records.get(batch.producer_id)
        if last is None:
            return False
        offset, epoch = last
        if offset is None:
            return batch.control is not None and batch.producer_epoch == epoch
        return batch.last_offset == offset

    def _is_stamped(self, batch: Batch, kept: Sequence[Record]) -> bool:
        """Decides whether a horizon is due: for a marker, or a tombstone among the kept records."""
        if batch.control is not None:
            return self._may_be_discarded(batch) and not self._legacy_markers
        if self._is_aborted(batch):
            return False
        seen = batch.last_offset <= self.latest or self.order.stamp_beyond_map
        return seen and any(self.order.is_tombstone(record) for record in kept)

    def _left_of(self, batch: Batch, kept: list[Record]) -> Batch | None:
        """A covered batch with the records that stay; None = it is gone."""
        if not kept:
            return _header_of(batch) if self._stays_empty(batch) else None
        order, horizon = self.order, batch.delete_horizon_ms
        stamp_ms = order.now_ms + order.delete_retention_ms
        stamped, fits = self._is_stamped(batch, kept), 0 <= stamp_ms < 2**63
        if stamped and fits and order.removal == "record_horizon" and batch.control is None:
            kept = [self._with_header(record, stamp_ms) for record in kept]
        in_batch = order.removal in _IN_BATCH or batch.control is not None
        stamped = stamped and in_batch and horizon is None
        if stamped and fits:
            horizon = stamp_ms
        if tuple(kept) == batch.records and not stamped:
            return batch
        left = replace(
            batch,
            records=tuple(kept),
            delete_horizon_ms=horizon,
            timestamp_ms=max(record.timestamp_ms for record in kept),
        )
        return replace(left, size_bytes=len(encode(left)))

    def _with_header(self, record: Record, horizon_ms: int) -> Record:
        if not self.order.is_tombstone(record) or _HORIZON_HEADER in dict(record.headers):
            return record
        added = (_HORIZON_HEADER, horizon_ms.to_bytes(8, "big", signed=True))
        return replace(record, headers=(*record.headers, added))

    # The whole pass.

    def _groups(self, covered: Sequence[Segment]) -> list[Group]:
        """Neighbours whose bytes before the pass fit into one segment."""
        limit, groups, size = self.order.segment_bytes, list[Group](), 0
        for segment in covered:
            size += segment.size_bytes
            if groups and (limit is None or size <= limit):
                groups[-1].sources.append(segment)
            else:
                groups.append(Group([segment]))
                size = segment.size_bytes
        return groups

    def expected(self) -> Expected:
        """The whole answer that the pass has to give."""
        order, found = self.order, Expected(next_dirty_offset=self.order.first_dirty_offset)
        if self.latest < 0:
            return found
        end = min(self.latest + 1, order.upper_bound)
        covered = [segment for segment in self.segments if segment.base_offset < end]
        found.replaced, found.next_dirty_offset = len(covered), self.latest + 1
        found.groups = self._groups(covered)
        for group in found.groups:
            for segment in group.sources:
                for batch in segment.batches:
                    left: Batch | None = batch
                    if batch.last_offset < order.upper_bound:
                        left = self._decide(found, batch, segment)
                    group.batches += [] if left is None else [left]
                group.aborted += [each for each in segment.aborted if self._entry_stays(each)]
        return found

    def _entry_stays(self, entry: AbortedTransaction) -> bool:
        if entry.last_offset >= self.order.upper_bound:
            return True
        return entry in self._entries and bool(
            entry.last_offset >= self._last_abort and self._data_of(entry)
        )

    def _decide(self, found: Expected, batch: Batch, segment: Segment) -> Batch | None:
        """The rest of a covered batch; its fate is added to the answer."""
        reasons = [self._reason(record, batch, segment) for record in batch.records]
        kept = [r for r, why in zip(batch.records, reasons, strict=True) if why is None]
        left = self._left_of(batch, kept)
        for record, why in zip(batch.records, reasons, strict=True):
            if why is not None:
                winner = self._winner_of(record, batch) if why == "superseded" else None
                removal = Removal(record.offset, record.uid, record.key, why, winner)
                found.removals.append(removal)
        if left is not None and not left.records and batch.records:
            found.emptied.append(batch.last_offset)
        if left is None and not batch.records:
            found.dropped.append(batch.last_offset)
        if left is not None and left.records and left is not batch:
            self._account_rewritten(found, batch, left)
        unread = left is None and {*reasons} <= {"aborted", "marker"}
        read, written = found.messages
        read += 0 if unread else len(reasons)
        found.messages = read, written + (0 if left is None else len(left.records))
        return left

    def _winner_of(self, record: Record, batch: Batch) -> int | None:
        if batch.control is not None:
            return self._evicted_by(batch)
        return self.winners[record.key or ""].offset

    def _account_rewritten(self, found: Expected, batch: Batch, left: Batch) -> None:
        limit, base = self.order.max_message_bytes, left.base_offset
        found.rewritten.append((base, left.size_bytes))
        if limit is not None and left.size_bytes > max(limit, batch.size_bytes):
            found.oversized.append((base, left.size_bytes))
        headers = {record.offset: record.headers for record in batch.records}
        stamped = any(headers[record.offset] != record.headers for record in left.records)
        if stamped or left.delete_horizon_ms != batch.delete_horizon_ms:
            found.horizons.append((base, self.order.now_ms + self.order.delete_retention_ms))


def _header_of(batch: Batch) -> Batch:
    """The header of a batch without records, which has no horizon (writeEmptyHeader)."""
    left = replace(batch, records=(), delete_horizon_ms=None)
    return replace(left, size_bytes=len(encode(left)))
