"""The copying half of a pass: what stays of each batch and of each record.

Source: Cleaner.cleanSegments, Cleaner.cleanInto, MemoryRecords.filterTo; LogCleaner.scala of 2.8
for the rules before KIP-534.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.compaction.fixes import Kept, Tail
from sim.compaction.grouping import groups_of
from sim.compaction.offset_map import OffsetMap
from sim.compaction.plan import Cleaning, CleaningPass
from sim.compaction.rebasing import with_horizon
from sim.compaction.tombstones import Circumstances, Stamp, record_horizon, with_record_horizon
from sim.compaction.transactions import TransactionWatch, aborted_in
from sim.log import Batch, Control, Record, Segment

MARKER_KEYS = {Control.ABORT: "\0\0\0\0", Control.COMMIT: "\0\0\0\1"}
"""A marker's key: version 0 and its type, two bytes each (ControlRecordType)."""

MAX_HORIZON_MS = 2**63 - 1
"""A horizon beyond it, or below 0, is none: the batch stays as if no pass had met it."""

_NOTHING = Batch(-1, -1, -1, (), -1, 0)
"""What is left of a batch that goes; making its empty header would be for nothing."""


def copy(
    segments: Sequence[Segment], replaced: int, plan: CleaningPass, reach: OffsetMap
) -> Cleaning:
    """Copy what stays of the first `replaced` segments, with the winners of `reach`."""
    return _Copier(segments, replaced, plan, reach).run()


class _Copier:
    """State of one copying pass; lives as long as the call to `copy`."""

    def __init__(
        self, segments: Sequence[Segment], replaced: int, plan: CleaningPass, reach: OffsetMap
    ) -> None:
        self.segments = segments
        self.covered = segments[:replaced]
        self.plan = plan
        self.winners = reach.winners
        self.mapped_from = reach.mapped_from
        self.latest_offset = reach.latest_offset
        last = next((s.batches[-1] for s in reversed(segments) if s.batches), None)
        self.kept: Kept = plan.fix.keeps(Tail(last, plan.upper_bound, plan.high_watermark))
        protected = self.kept.record_offset
        if protected is not None and protected >= plan.upper_bound:
            protected = None
        self.result = Cleaning(
            [], replaced, max(reach.latest_offset + 1, 0), protected, winners=reach.winners
        )
        transactional = any(segment.transactional for segment in self.covered)
        self.watch = TransactionWatch() if transactional else None
        self.last_abort = self._last_abort() if plan.last_abort_only else -1
        self.last_modified_ms: int | None = None

    def run(self) -> Cleaning:
        plan = self.plan
        source = 0
        for group in groups_of(
            self.covered,
            max_bytes=plan.segment_bytes,
            upper_bound=plan.upper_bound,
            exempt_empty=plan.group_empty_segments,
        ):
            batches: list[Batch] = []
            for segment in group:
                self._collect_aborted(source)
                self.last_modified_ms = segment.last_modified_ms
                batches += self._copy(segment.batches)
                source += 1
            merged = Segment.of(
                group[0].base_offset, batches, last_modified_ms=group[-1].last_modified_ms
            )
            if self.watch is not None:
                beyond = [
                    entry
                    for segment in group
                    for entry in segment.aborted
                    if entry.last_offset >= plan.upper_bound
                ]
                merged.aborted, self.watch.kept = [*self.watch.kept, *beyond], []
            self.result.segments.append(merged)
        return self.result

    def _collect_aborted(self, index: int) -> None:
        """Look out for the aborted transactions that touch a source segment (KAFKA-13727)."""
        if self.watch is None:
            return
        segments = self.segments
        end = segments[index + 1].base_offset if index + 1 < len(segments) else 1 << 62
        self.watch.add(aborted_in(segments, segments[index].base_offset, end, first=index))

    def _copy(self, batches: Sequence[Batch]) -> list[Batch]:
        """The batches of one source segment that stay, rebuilt where records went."""
        out: list[Batch] = []
        upper_bound, watch, result = self.plan.upper_bound, self.watch, self.result
        for batch in batches:
            if batch.last_offset >= upper_bound:
                out.append(batch)
                continue
            decided = watch is not None and watch.decides(batch)
            if batch.control is not None:
                kept = self._copy_control(batch, discardable=decided)
            elif decided:
                kept = self._copy_aborted(batch)
            elif batch.last_offset <= self.latest_offset:
                result.messages_read += len(batch.records)
                kept = self._copy_data(batch)
            else:
                result.messages_read += len(batch.records)
                kept = self._copy_beyond_map(batch)
            if kept.records:
                result.messages_written += len(kept.records)
                out.append(kept)
            elif self._stays_empty(batch):
                if batch.records:
                    result.emptied.append(batch.last_offset)
                out.append(batch.emptied())
            elif not batch.records:
                result.dropped.append(batch.last_offset)
        return out

    def _stays_empty(self, batch: Batch) -> bool:
        """The last batch of an active producer, and the last one of the round or of the log."""
        if batch.last_offset == self.kept.batch_end:
            return True
        if batch.producer_id < 0:
            return False
        last = self.plan.last_records.get(batch.producer_id)
        if last is None:
            return False
        if last.offset is not None:
            return batch.last_offset == last.offset
        return batch.control is not None and batch.producer_epoch == last.epoch

    def _copy_control(self, batch: Batch, *, discardable: bool) -> Batch:
        """A marker is stamped when nothing of its transaction is left and goes at its horizon."""
        records = batch.records
        if not records:
            return batch
        plan = self.plan
        legacy = plan.markers_like_tombstones and plan.removal.name == "last_modified"
        may_go = discardable and self._marker_may_go(batch, legacy=legacy)
        if may_go:
            if self._stays_empty(batch):
                self.result.messages_read += len(records)
            return self._rebuild(batch, self._drop_all(batch, "marker"))
        self.result.messages_read += len(records)
        if self._evicted(batch):
            return self._rebuild(batch, self._drop_all(batch, "superseded"))
        if discardable and not legacy and batch.delete_horizon_ms is None:
            return self._stamped(batch, records)
        return batch

    def _marker_may_go(self, batch: Batch, *, legacy: bool) -> bool:
        plan, horizon = self.plan, batch.delete_horizon_ms
        if legacy:
            return plan.removal.may_remove(self._circumstances(batch.records[0], batch))
        limit = plan.removal_limit if plan.marker_limit is None else plan.marker_limit
        if plan.removal.gates_markers and batch.base_offset >= limit:
            return False
        return horizon is not None and plan.now_ms >= horizon

    def _evicted(self, batch: Batch) -> bool:
        """Another record counts as a newer one of the marker's key.

        A user record with its very bytes, as before KAFKA-14055, or the last ABORT marker, whoever
        wrote it; then the index forgets the transaction, too.
        """
        offset = batch.base_offset
        if batch.control is Control.ABORT and offset < self.last_abort:
            self.result.evicted_markers[offset] = self.last_abort
            if self.watch is not None:
                self.watch.kept = [e for e in self.watch.kept if e.last_offset != offset]
            return True
        if not self.plan.markers_by_key:
            return False
        winner = self.winners.get(MARKER_KEYS.get(batch.control or Control.COMMIT, ""))
        if winner is None or not offset < winner.offset or offset > self.latest_offset:
            return False
        self.result.evicted_markers[offset] = winner.offset
        return True

    def _last_abort(self) -> int:
        """Offset of the last ABORT marker within the pass; -1 without one."""
        upper_bound = self.plan.upper_bound
        offsets = [
            batch.base_offset
            for segment in self.covered
            for batch in segment.batches
            if batch.control is Control.ABORT and batch.records and batch.last_offset < upper_bound
        ]
        return max(offsets, default=-1)

    def _copy_aborted(self, batch: Batch) -> Batch:
        """Data of an aborted transaction goes at once, whatever its key and beyond the map, too."""
        if self._stays_empty(batch):
            self.result.messages_read += len(batch.records)
        return self._rebuild(batch, self._drop_all(batch, "aborted"))

    def _copy_data(self, batch: Batch) -> Batch:
        """A batch that the map reached whole."""
        kept, stamp = self._decide(batch, batch.records)
        records = batch.records if len(kept) == len(batch.records) else tuple(kept)
        return self._finish(batch, records, stamp=stamp)

    def _decide(self, batch: Batch, records: tuple[Record, ...]) -> tuple[list[Record], bool]:
        """Record by record: superseded, unkeyed, below no version, an expired tombstone, or kept.

        Returns those kept, and whether a tombstone is among them.
        """
        winner_of, mapped_from = self.winners.get, self.mapped_from
        is_tombstone, protected = self.plan.is_tombstone, self.result.protected_offset
        supersede = self.result.removed["superseded"].append
        unmapped, version_of = self.plan.unmapped_version, self.plan.strategy.version
        kept: list[Record] = []
        stamp = False
        for record in records:
            # Unpacking costs less than reading two fields; a pass consists of this loop.
            offset, key, _, _, _, _, _ = record
            winner = winner_of(key) if key is not None else None
            if offset == protected:
                stamp = stamp or is_tombstone(record)
                kept.append(record)
            elif (
                winner is not None
                and winner is not record
                and winner.offset != offset
                and (offset >= mapped_from or self._loses(record, winner))
            ):
                supersede(record)
            elif key is None:
                self.result.removed["no key"].append(record)
            elif unmapped is not None and winner is None and version_of(record) < unmapped:
                self.result.removed["unmapped"].append(record)
            elif not is_tombstone(record):
                kept.append(record)
            elif self._tombstone_may_go(record, batch):
                self.result.removed["tombstone"].append(record)
            else:
                stamp = True
                kept.append(record)
        return kept, stamp

    def _copy_beyond_map(self, batch: Batch) -> Batch:
        """A batch that ends beyond the map: what lies beyond stays whatever it is."""
        latest = self.latest_offset
        reached = tuple(record for record in batch.records if record.offset <= latest)
        kept, _ = self._decide(batch, reached)
        beyond = batch.records[len(reached) :]
        records = batch.records if len(kept) == len(reached) else (*kept, *beyond)
        stamp = self.plan.stamp_beyond_map and any(map(self.plan.is_tombstone, records))
        return self._finish(batch, records, stamp=stamp)

    def _finish(self, batch: Batch, records: tuple[Record, ...], *, stamp: bool) -> Batch:
        """The batch with the records that stay, stamped if it has to be."""
        stamps = self.plan.removal.stamps
        fresh = batch.delete_horizon_ms is None or self.plan.stamps_again
        if stamp and stamps is Stamp.BATCH and fresh:
            return self._stamped(batch, records)
        if stamp and stamps is Stamp.RECORD:
            records = self._with_record_horizons(batch, records)
        return self._rebuild(batch, records)

    def _loses(self, record: Record, winner: Record) -> bool:
        """Below the mapped range versions decide; inside it the winner beats all others."""
        version_of = self.plan.strategy.version
        return version_of(record) < version_of(winner)

    def _tombstone_may_go(self, record: Record, batch: Batch) -> bool:
        return self.plan.removal.may_remove(self._circumstances(record, batch))

    def _circumstances(self, record: Record, batch: Batch) -> Circumstances:
        plan = self.plan
        horizon = batch.delete_horizon_ms
        if plan.removal.stamps is Stamp.RECORD:
            horizon = record_horizon(record)
        return Circumstances(
            record.offset,
            horizon,
            plan.now_ms,
            plan.removal_limit,
            self._last_modified(record.offset),
            plan.legacy_horizon_ms,
            plan.last_cleaning,
            plan.delete_retention_ms,
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
        plan = self.plan
        horizon = plan.now_ms + plan.delete_retention_ms
        if not 0 <= horizon <= MAX_HORIZON_MS:
            return self._rebuild(batch, records)
        self.result.horizons.append((batch.base_offset, horizon))
        rebuilt = with_horizon(batch, records, horizon, keeps_deltas=plan.keeps_deltas)
        return self._checked(rebuilt, batch)

    def _with_record_horizons(
        self, batch: Batch, records: tuple[Record, ...]
    ) -> tuple[Record, ...]:
        """Give each kept tombstone that has none a horizon of its own (KIP-534, rejected)."""
        plan = self.plan
        horizon = plan.now_ms + plan.delete_retention_ms
        stamped = tuple(
            with_record_horizon(record, horizon)
            if plan.is_tombstone(record) and record_horizon(record) is None
            else record
            for record in records
        )
        if stamped == records:
            return records
        self.result.horizons.append((batch.base_offset, horizon))
        return stamped

    def _checked(self, rebuilt: Batch, source: Batch) -> Batch:
        """Report a batch that its horizon made larger than a batch may be (KIP-534)."""
        limit = self.plan.max_message_bytes
        if limit is not None and rebuilt.size_bytes > max(limit, source.size_bytes):
            self.result.oversized.append((rebuilt.base_offset, rebuilt.size_bytes))
        return rebuilt

    def _rebuild(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        if records is batch.records:
            return batch
        if records:
            return self._checked(batch.rebuilt(records, batch.delete_horizon_ms), batch)
        return _NOTHING
