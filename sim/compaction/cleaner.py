"""The cleaner: one pass over the segments of one log, as a function.

Build a map of winners, then copy what is kept. Running it twice with the same arguments gives the
same answer. Sources: Cleaner.doClean, Cleaner.buildOffsetMap, Cleaner.cleanInto,
MemoryRecords.filterTo.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sim.compaction.fixes import Fix, Kept, Tail
from sim.compaction.strategies import Strategy
from sim.compaction.tombstones import Circumstances, TombstoneMark, TombstoneRemoval
from sim.compaction.transactions import AbortedRanges, MarkerWatch, transactions_in
from sim.log import Batch, Record, Segment
from sim.trace import Removal

REASONS = ("superseded", "tombstone", "aborted", "marker", "no key")
"""Why a pass takes a record away."""


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
    """What a pass did: the new segments for the `replaced` first ones, and why each record went.

    Attributes:
        segments: What takes the place of the covered segments.
        replaced: How many segments were covered.
        protected_offset: The record that the fix keeps whatever it is; None = none below the bound.
        removed: Reason -> the records that went for it, in offset order.
        winners: The offset map of the pass: key -> the record that beat the superseded ones.
        emptied: Last offsets of batches whose header was kept without records.
        dropped: Last offsets of batches that were already empty and are gone now.
        horizons: (base offset, delete horizon in ms) of the batches that got one in this pass.
    """

    segments: list[Segment]
    replaced: int
    protected_offset: int | None
    removed: dict[str, list[Record]] = field(
        default_factory=lambda: {reason: [] for reason in REASONS}
    )
    winners: dict[str, Record] = field(default_factory=dict)
    emptied: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    horizons: list[tuple[int, int]] = field(default_factory=list)

    @property
    def removals(self) -> tuple[Removal, ...]:
        """Every removal with its reason, in offset order."""
        found = [
            Removal(record.offset, record.uid, record.key, reason, self._winner(reason, record))
            for reason, records in self.removed.items()
            for record in records
        ]
        return tuple(sorted(found))

    def _winner(self, reason: str, record: Record) -> int | None:
        superseded = reason == "superseded" and record.key is not None
        return self.winners[record.key or ""].offset if superseded else None


def clean(segments: Sequence[Segment], plan: CleaningPass) -> Cleaning:
    """Clean every segment that starts below the upper bound; the arguments are left untouched."""
    replaced = sum(1 for segment in segments if segment.base_offset < plan.upper_bound)
    return _Cleaner(segments, replaced, plan).run()


_NOTHING = Batch(-1, -1, -1, (), -1, 0)
"""What is left of a batch that goes; making its empty header would be for nothing."""


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
        self.mapped_from = 0 if plan.full_map else plan.first_dirty_offset
        self.winners = self.result.winners
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
                cleaned[-1].absorb(segment)
            else:
                cleaned.append(segment)
        return self.result

    def _build_map(self) -> None:
        """Note the winning record of every key in the mapped range."""
        plan, winners, start = self.plan, self.winners, self.mapped_from
        upper_bound, aborted = plan.upper_bound, self.aborted
        latest_wins, version_of = plan.strategy.latest_wins, plan.strategy.version
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
                    if key is None or record.offset < start:
                        continue
                    if latest_wins:
                        winners[key] = record
                    else:
                        known = winners.get(key)
                        if known is None or version_of(record) > version_of(known):
                            winners[key] = record

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
                kept = self._copy_control(batch, discardable=discardable)
            elif aborted is not None and batch in aborted:
                kept = self._rebuild(batch, self._drop_all(batch, "aborted"))
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

    def _copy_control(self, batch: Batch, *, discardable: bool) -> Batch:
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
        return self._rebuild(batch, self._drop_all(batch, "marker"))

    def _copy_data(self, batch: Batch) -> Batch:
        """Decide record by record: superseded, unkeyed, an expired tombstone, or kept."""
        winner_of, mapped_from = self.winners.get, self.mapped_from
        is_tombstone, protected = self.plan.is_tombstone, self.result.protected_offset
        supersede = self.result.removed["superseded"].append
        kept: list[Record] = []
        stamp = False
        for record in batch.records:
            # Unpacking costs less than reading two fields; a pass consists of this loop.
            offset, key, _, _, _, _, _ = record
            winner = winner_of(key) if key is not None else None
            if offset == protected:
                stamp = stamp or (key is not None and is_tombstone(record))
                kept.append(record)
            elif (
                winner is not None
                and winner is not record
                and (offset >= mapped_from or self._loses(record, winner))
            ):
                supersede(record)
            elif key is None:
                self.result.removed["no key"].append(record)
            elif not is_tombstone(record):
                kept.append(record)
            elif self._tombstone_may_go(record, batch):
                self.result.removed["tombstone"].append(record)
            else:
                stamp = True
                kept.append(record)
        records = batch.records if len(kept) == len(batch.records) else tuple(kept)
        if stamp and self.plan.removal.stamps and batch.delete_horizon_ms is None:
            return self._stamped(batch, records)
        return self._rebuild(batch, records)

    def _loses(self, record: Record, winner: Record) -> bool:
        """Below the mapped range versions decide; inside it the winner beats all others."""
        version_of = self.plan.strategy.version
        return version_of(record) < version_of(winner)

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

    def _drop_all(self, batch: Batch, reason: str) -> tuple[Record, ...]:
        """Remove every record of a batch but the protected one."""
        protected = self.result.protected_offset
        self.result.removed[reason] += [r for r in batch.records if r.offset != protected]
        return tuple(record for record in batch.records if record.offset == protected)

    def _stamped(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        horizon = self.plan.now_ms + self.plan.delete_retention_ms
        self.result.horizons.append((batch.base_offset, horizon))
        return batch.rebuilt(records, horizon)

    def _rebuild(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        if records is batch.records:
            return batch
        if records:
            return batch.rebuilt(records, batch.delete_horizon_ms)
        return batch.emptied() if batch.last_offset == self.kept.batch_end else _NOTHING


def _fits(merged: Segment, segment: Segment, limit: int) -> bool:
    return merged.size_bytes + segment.size_bytes <= limit


def _batches(segments: Iterable[Segment]) -> Iterable[Batch]:
    for segment in segments:
        yield from segment.batches
