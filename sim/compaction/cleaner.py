"""The cleaner: one pass over the segments of one log, as a function.

Build a map of winners, then copy what is kept. Running it twice with the same arguments gives the
same answer. Sources: Cleaner.doClean, Cleaner.buildOffsetMap, Cleaner.cleanInto,
MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sim.compaction.fixes import Fix, Kept, Tail
from sim.compaction.strategies import Strategy, Version
from sim.compaction.tombstones import Circumstances, TombstoneMark, TombstoneRemoval
from sim.compaction.transactions import AbortedRanges, MarkerWatch, transactions_in
from sim.log import Batch, Record, Segment
from sim.trace import Removal


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningPass:
    """Everything one pass depends on beside the segments.

    Attributes:
        strategy: Which record of a key wins.
        fix: What stays of the last offset.
        removal: When a winning tombstone may go.
        is_tombstone: What marks a tombstone.
        full_map: True = winners over the whole covered log; false = over the dirty section only.
        first_dirty_offset: Where the clean section ends (inclusive start of the dirty one).
        upper_bound: The pass covers batches that end below it (exclusive).
        decided_below: A transaction is decided when its marker is below this offset (exclusive);
            the high watermark, which `upper_bound` never exceeds.
        now_ms: The replica's clock in ms, taken once.
        delete_retention_ms: `delete.retention.ms`.
        removal_limit: With gated removal rules: only below this offset (exclusive).
        legacy_horizon_ms: The pass-wide horizon of `last_modified`, in ms; None = none.
        legacy_last_modified: (base, end exclusive, last modified in ms) to use instead of the
            segments' own times; None = use those.
        segment_bytes: Cleaned neighbours are merged up to this size; None = never merged.
    """

    strategy: Strategy
    fix: Fix
    removal: TombstoneRemoval
    is_tombstone: TombstoneMark
    full_map: bool
    first_dirty_offset: int
    upper_bound: int
    decided_below: int
    now_ms: int
    delete_retention_ms: int
    removal_limit: int = 0
    legacy_horizon_ms: int | None = None
    legacy_last_modified: tuple[tuple[int, int, int], ...] | None = None
    segment_bytes: int | None = None


@dataclass(slots=True)
class Cleaning:
    """What a pass did: the new segments for the `replaced` first ones, and why each record went."""

    segments: list[Segment]
    replaced: int
    protected_offset: int | None
    removals: list[Removal] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    horizons: list[tuple[int, int]] = field(default_factory=list)


class _Reason(NamedTuple):
    """Why a record goes, and the offset of its winner when it was superseded."""

    text: str
    winner_offset: int | None = None


_TOMBSTONE = _Reason("tombstone")
_NO_KEY = _Reason("no key")


def clean(segments: Sequence[Segment], plan: CleaningPass) -> Cleaning:
    """Clean every segment that starts below the upper bound; the arguments are left untouched."""
    replaced = sum(1 for segment in segments if segment.base_offset < plan.upper_bound)
    return _Cleaner(segments, replaced, plan).run()


class _Cleaner:
    """State of one pass; lives as long as the call to `clean`."""

    def __init__(self, segments: Sequence[Segment], replaced: int, plan: CleaningPass) -> None:
        self.covered = segments[:replaced]
        self.plan = plan
        last = next((s.batches[-1] for s in reversed(segments) if s.batches), None)
        self.kept: Kept = plan.fix.keeps(Tail(last, plan.upper_bound))
        protected = self.kept.record_offset
        if protected is not None and protected >= plan.upper_bound:
            protected = None
        self.result = Cleaning([], replaced, protected)
        transactional = any(segment.transactional for segment in self.covered)
        self.markers = MarkerWatch() if transactional else None
        self.aborted = (
            AbortedRanges(transactions_in(_batches(segments), below=plan.decided_below))
            if transactional
            else None
        )
        self.winners: dict[str, Version] = {}
        self.last_modified_ms: int | None = None

    def run(self) -> Cleaning:
        self._build_map()
        cleaned = self.result.segments
        limit = self.plan.segment_bytes
        for source in self.covered:
            self.last_modified_ms = source.last_modified_ms
            batches = self._copy(source.batches)
            segment = Segment.of(
                source.base_offset, batches, last_modified_ms=source.last_modified_ms
            )
            if limit is not None and cleaned and _fits(cleaned[-1], segment, limit):
                merged = cleaned[-1]
                merged.batches += segment.batches
                merged.last_modified_ms = segment.last_modified_ms
                merged.refresh()
            else:
                cleaned.append(segment)
        return self.result

    def _build_map(self) -> None:
        """Note the highest version of every key in the mapped range."""
        plan, winners, version_of = self.plan, self.winners, self.plan.strategy.version
        start = 0 if plan.full_map else plan.first_dirty_offset
        upper_bound, aborted = plan.upper_bound, self.aborted
        for segment in self.covered:
            for batch in segment.batches:
                if batch.last_offset >= upper_bound:
                    return
                if batch.last_offset < start or batch.control is not None:
                    continue
                if aborted is not None and batch in aborted:
                    continue
                for record in batch.records:
                    key = record.key
                    if key is not None and record.offset >= start:
                        version = version_of(record)
                        known = winners.get(key)
                        if known is None or version > known:
                            winners[key] = version

    def _copy(self, batches: Iterable[Batch]) -> list[Batch]:
        """The batches of one source segment that stay, rebuilt where records went."""
        out: list[Batch] = []
        upper_bound, markers, aborted = self.plan.upper_bound, self.markers, self.aborted
        kept_end = self.kept.batch_end
        for batch in batches:
            if batch.last_offset >= upper_bound:
                out.append(batch)
                continue
            discardable = markers is not None and batch.transactional and markers.may_discard(batch)
            if batch.control is not None:
                kept = self._copy_control(batch, discardable)
            elif aborted is not None and batch in aborted:
                kept = self._rebuild(batch, self._drop_all(batch, _Reason("aborted")))
            else:
                kept = self._copy_data(batch)
            if kept.records:
                out.append(kept)
            elif batch.last_offset == kept_end:
                if batch.records:
                    self.result.emptied.append(batch.last_offset)
                out.append(kept)
            elif not batch.records:
                self.result.dropped.append(batch.last_offset)
        return out

    def _copy_control(self, batch: Batch, discardable: bool) -> Batch:
        """A marker is stamped when nothing of its transaction is left and goes at its horizon."""
        if not discardable or not batch.records:
            return batch
        plan = self.plan
        horizon = batch.delete_horizon_ms
        if horizon is None:
            return self._stamped(batch, batch.records)
        gated = plan.removal.gates_markers and batch.base_offset >= plan.removal_limit
        if plan.now_ms < horizon or gated:
            return batch
        return self._rebuild(batch, self._drop_all(batch, _Reason("marker")))

    def _copy_data(self, batch: Batch) -> Batch:
        """Decide record by record."""
        winners, version_of = self.winners, self.plan.strategy.version
        is_tombstone, protected = self.plan.is_tombstone, self.result.protected_offset
        kept: list[Record] = []
        stamp = False
        for record in batch.records:
            key, offset = record.key, record.offset
            winner = winners.get(key) if key is not None else None
            reason: _Reason | None = None
            if key is None:
                reason = _NO_KEY
            elif winner is not None and winner[-1] != offset and version_of(record) < winner:
                reason = _Reason("superseded", winner[-1])
            elif is_tombstone(record):
                if self._tombstone_may_go(record, batch):
                    reason = _TOMBSTONE
                else:
                    stamp = True
            if reason is None or offset == protected:
                kept.append(record)
            else:
                self._remove(record, reason)
        records = batch.records if len(kept) == len(batch.records) else tuple(kept)
        if stamp and self.plan.removal.stamps and batch.delete_horizon_ms is None:
            return self._stamped(batch, records)
        return self._rebuild(batch, records)

    def _tombstone_may_go(self, record: Record, batch: Batch) -> bool:
        plan = self.plan
        return plan.removal.may_remove(
            Circumstances(
                record.offset,
                batch.delete_horizon_ms,
                plan.now_ms,
                plan.removal_limit,
                self._last_modified(record.offset),
                plan.legacy_horizon_ms,
            )
        )

    def _last_modified(self, offset: int) -> int | None:
        ranges = self.plan.legacy_last_modified
        if ranges is None:
            return self.last_modified_ms
        return next((time for base, end, time in ranges if base <= offset < end), None)

    def _drop_all(self, batch: Batch, reason: _Reason) -> tuple[Record, ...]:
        """Remove every record of a batch but the protected one."""
        protected = self.result.protected_offset
        kept = tuple(record for record in batch.records if record.offset == protected)
        for record in batch.records:
            if record.offset != protected:
                self._remove(record, reason)
        return kept

    def _remove(self, record: Record, reason: _Reason) -> None:
        self.result.removals.append(
            Removal(record.offset, record.uid, record.key, reason.text, reason.winner_offset)
        )

    def _stamped(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        horizon = self.plan.now_ms + self.plan.delete_retention_ms
        self.result.horizons.append((batch.base_offset, horizon))
        return batch.rebuilt(records, horizon)

    def _rebuild(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        if records is batch.records:
            return batch
        return batch.rebuilt(records, batch.delete_horizon_ms) if records else batch.emptied()


def _fits(merged: Segment, segment: Segment, limit: int) -> bool:
    return merged.size_bytes + segment.size_bytes <= limit


def _batches(segments: Iterable[Segment]) -> Iterable[Batch]:
    for segment in segments:
        yield from segment.batches
