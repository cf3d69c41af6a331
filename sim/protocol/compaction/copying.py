"""The copying half of a pass: what stays of each batch and of each record.

Source: Cleaner.cleanSegments, Cleaner.cleanInto, MemoryRecords.filterTo and
.buildRetainedRecordsInto; LogCleaner.scala of 2.8 for the rules before KIP-534.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec.structs import replace

from sim.protocol.compaction.fixes import Tail
from sim.protocol.compaction.plan import Cleaning, CleaningPass, OffsetMap, Reason
from sim.protocol.compaction.strategies import PassFailed
from sim.protocol.compaction.tombstones import (
    Circumstances,
    Stamp,
    null_value,
    record_horizon,
    with_record_horizon,
)
from sim.protocol.compaction.transactions import TransactionWatch, aborted_in
from sim.protocol.log import Batch, Control, Record, Segment
from sim.protocol.log.formats import OldBatch, converted
from sim.protocol.log.segment import BUFFER_BYTES, Call, calls_written, grown

MARKER_KEYS: Final = {
    Control.ABORT: "\0\0\0\0",
    Control.COMMIT: "\0\0\0\1",
    Control.LEADER_CHANGE: "\0\0\0\3",
}
"""A control record's key as in 2.8, where markers were looked up: version 0 and its type, two bytes
each (ControlRecordType); from 3.0 on a change of the leader has type 2."""

_NOTHING: Final = Batch(-1, -1, -1, (), -1, 0)
"""Result for a batch of which no record stays; `Copier._copy` decides about its header."""

_NO_OFFSET: Final = -1


class Fate(Enum):
    """The decision about a record that no other record of its key supersedes."""

    GOES = "goes"
    STAYS = "stays"
    STAYS_AS_TOMBSTONE = "stays as tombstone"


# Looking up a member by its name costs as much as a call, and each record needs these.
_GOES, _STAYS, _STAYS_AS_TOMBSTONE = Fate
_STAMPS_BATCH, _STAMPS_RECORD = Stamp.BATCH, Stamp.RECORD


class Copier:
    """State of one copying pass, which copies group by group and collects the result."""

    def __init__(
        self, segments: Sequence[Segment], replaced: int, plan: CleaningPass, reach: OffsetMap
    ) -> None:
        """Copies the first `replaced` of `segments`, with the winners of `reach`."""
        policy = plan.policy
        self.segments = segments
        self.plan = plan
        self.policy = policy
        self.winners = reach.winners
        self.mapped_from = reach.mapped_from
        self.latest_offset = reach.latest_offset
        last = next((one.batches[-1] for one in reversed(segments) if one.batches), None)
        kept = policy.fix.keeps(Tail(last, plan.upper_bound, plan.high_watermark))
        protected = kept.record_offset
        if protected is not None and protected >= plan.upper_bound:
            protected = None
        self.protected = _NO_OFFSET if protected is None else protected
        self.kept_end = _NO_OFFSET if kept.batch_end is None else kept.batch_end
        self.result = Cleaning([], replaced, max(reach.latest_offset + 1, 0), protected)
        self.result.winners = reach.winners
        self.result.unended |= reach.unended
        covered = segments[:replaced]
        self.watch: TransactionWatch | None = None
        if any(segment.transactional for segment in covered):
            self.watch = TransactionWatch(writes_index=True)
        self.last_abort = self._last_abort(covered) if policy.last_abort_only else _NO_OFFSET
        self.markers_by_segment = (
            policy.markers_like_tombstones and policy.removal.name == "last_modified"
        )
        self.notes_calls = policy.indexes_calls and policy.index_interval_bytes is not None
        self.buffer_bytes = grown(BUFFER_BYTES, reach.largest_batch_bytes)
        self.superseded = self.result.removed["superseded"]
        self.explains = plan.explains
        self.values_stay = (
            policy.is_tombstone is null_value
            and policy.unmapped_version is None
            and not plan.explains
        )
        self.asked: dict[int, Circumstances] = {}
        self.last_modified_ms: int | None = None
        self.source = 0

    def copy_group(self, group: Sequence[Segment]) -> Segment:
        """Copies the next source segments, `group`, into one segment."""
        batches: list[Batch] = []
        calls: list[Call] = []
        first_ms: int | None = None
        for segment in group:
            if self.watch is not None:
                self._collect_aborted(self.watch)
            self.last_modified_ms = segment.last_modified_ms
            before = len(batches)
            self._copy(segment.batches, batches)
            if self.policy.indexes_calls:
                size_bytes, self.buffer_bytes = self.buffer_bytes, BUFFER_BYTES
                own = calls_written(segment.batches, batches[before:], buffer_bytes=size_bytes)
                if first_ms is None and own:  # the first call sets it (LogSegment.append)
                    end = own[0].last_offset
                    first_ms = max(one.timestamp_ms for one in batches if one.last_offset <= end)
                calls += own if self.notes_calls else []
            self.source += 1
        merged = Segment.of(
            group[0].base_offset, batches, last_modified_ms=group[-1].last_modified_ms
        )
        merged.index.calls = calls
        if first_ms is not None:
            merged.first_timestamp_ms = first_ms
        if self.watch is not None:
            upper_bound = self.plan.upper_bound
            beyond = [
                entry
                for segment in group
                for entry in segment.aborted
                if entry.last_offset >= upper_bound
            ]
            merged.aborted, self.watch.kept = [*self.watch.kept, *beyond], []
            self.result.unended |= self.watch.unended
        return merged

    def explained(self, result: Cleaning) -> Cleaning:
        """The result with the reason of each removal, if the plan asks for reasons."""
        if self.explains:
            for gone in result.removals:
                reason = Reason(gone.reason, gone.winner_offset, self.asked.get(gone.offset))
                result.reasons[gone.offset] = reason
        return result

    def _collect_aborted(self, watch: TransactionWatch) -> None:
        """Adds the aborted transactions that overlap a source segment (KAFKA-13727)."""
        segments, index = self.segments, self.source
        end = segments[index + 1].base_offset if index + 1 < len(segments) else 1 << 62
        watch.add(aborted_in(segments, self.plan.log_start_offset, end, first=index))

    def _copy(self, batches: Sequence[Batch], out: list[Batch]) -> None:
        """Adds to `out` what stays of the batches of one source segment."""
        upper_bound, result, watch = self.plan.upper_bound, self.result, self.watch
        for batch in batches:
            last_offset = batch.last_offset
            if last_offset >= upper_bound:
                out.append(batch)
                continue
            discardable = watch is not None and watch.decides(batch)
            if discardable or batch.control is not None:
                kept = self._copy_transactional(batch, discardable=discardable)
            else:
                kept = self._copy_data(batch, last_offset)
            left = kept.records
            if left:
                if self.policy.converts_old and isinstance(kept, OldBatch):
                    kept = self._rebuilt(kept, left)
                result.messages_written += len(left)
                out.append(kept)
            elif last_offset == self.kept_end or (
                self.plan.last_records and self._is_a_producers_last(batch)
            ):
                if isinstance(batch, OldBatch):
                    # Source: MemoryRecords.filterTo, IllegalStateException.
                    raise PassFailed(
                        batch.base_offset,
                        f"the batch at offset {batch.base_offset} would have to stay without "
                        f"records, which magic {batch.magic} cannot say",
                    )
                if batch.records:
                    result.emptied.append(last_offset)
                out.append(batch.emptied())
            elif kept is batch:  # it was empty before
                result.dropped.append(last_offset)

    def _copy_data(self, batch: Batch, last_offset: int) -> Batch:
        """Decides for each record if another one beats it, if it goes for another reason, or stays.

        Inside the mapped range the winner beats all others of its key, below it versions decide. A
        pass consists of this loop, so the most frequent fate of a record is decided in place. Most
        batches have one record, so attributes that a record needs are looked up in the loop.
        """
        records, latest, winners = batch.records, self.latest_offset, self.winners
        self.result.messages_read += len(records)
        reached = records
        if last_offset > latest:
            reached = tuple([record for record in records if record.offset <= latest])
        stays: list[Record] = []
        stamp = False
        for record in reached:
            key = record.key
            winner = winners.get(key) if key is not None else None
            if (
                winner is not None
                and winner is not record
                and winner.offset != (offset := record.offset)
                and (offset >= self.mapped_from or self._loses(record, winner))
                and offset != self.protected
            ):
                self.superseded.append(record)
            elif self.values_stay and key is not None and record.value is not None:
                stays.append(record)
            else:
                fate = self._fate(record, batch, mapped=winner is not None)
                if self.explains:
                    self._explain(record.offset, fate)
                if fate is not _GOES:
                    stays.append(record)
                    stamp = stamp or fate is _STAYS_AS_TOMBSTONE
        if last_offset > latest:
            stays += records[len(reached) :]
            if self.explains:
                beyond = [record.offset for record in records[len(reached) :]]
                self.result.reasons |= dict.fromkeys(beyond, Reason("beyond map"))
            stamp = self.policy.stamp_beyond_map and any(map(self.policy.is_tombstone, stays))
        if len(stays) == len(records):
            return self._stamped_if_due(batch, records) if stamp else batch
        if not stays:
            return _NOTHING
        kept = tuple(stays)
        return self._stamped_if_due(batch, kept) if stamp else self._rebuilt(batch, kept)

    def _loses(self, record: Record, winner: Record) -> bool:
        strategy = self.policy.strategy
        if strategy.latest_wins:
            return record.offset < winner.offset
        return strategy.version(record) < strategy.version(winner)

    def _fate(self, record: Record, batch: Batch, *, mapped: bool) -> Fate:
        """Decides about a record that no other record of its key supersedes.

        It may be protected, without a key, not in the map and of a version too low to stay, or a
        tombstone.
        """
        policy, removed = self.policy, self.result.removed
        tombstone = policy.is_tombstone(record)
        if record.offset == self.protected:
            return _STAYS_AS_TOMBSTONE if tombstone else _STAYS
        if record.key is None:
            removed["no key"].append(record)
            return _GOES
        unmapped = policy.unmapped_version
        if unmapped is not None and not mapped and policy.strategy.version(record) < unmapped:
            removed["unmapped"].append(record)
            return _GOES
        if not tombstone:
            return _STAYS
        if policy.removal.may_remove(self._circumstances(record, batch)):
            removed["tombstone"].append(record)
            return _GOES
        return _STAYS_AS_TOMBSTONE

    def _explain(self, offset: int, fate: Fate) -> None:
        """Notes why a record stays; nothing about one that goes."""
        why = "waits" if fate is _STAYS_AS_TOMBSTONE else "wins"
        if fate is not _GOES:
            why = "protected" if offset == self.protected else why
            self.result.reasons[offset] = Reason(why, asked=self.asked.get(offset))

    def _circumstances(self, record: Record, batch: Batch) -> Circumstances:
        plan = self.plan
        horizon = batch.delete_horizon_ms
        if self.policy.removal.stamps is _STAMPS_RECORD:
            horizon = record_horizon(record)
        modified_ms = self.last_modified_ms
        if plan.legacy_last_modified is not None:
            modified_ms = _time_of(record.offset, plan.legacy_last_modified)
        by_segment = self.policy.unstamped_by_segment and horizon is None
        asked = Circumstances(
            offset=record.offset,
            horizon_ms=horizon,
            now_ms=plan.now_ms,
            removal_limit=plan.removal_limit,
            segment_last_modified_ms=modified_ms,
            legacy_horizon_ms=plan.legacy_horizon_ms,
            last_cleaning=plan.last_cleaning,
            delete_retention_ms=plan.delete_retention_ms,
            without_horizon=by_segment or isinstance(batch, OldBatch),
        )
        if self.explains:
            self.asked[record.offset] = asked
        return asked

    def _is_a_producers_last(self, batch: Batch) -> bool:
        """Recognises the last batch of an active producer, which stays, empty if necessary."""
        last = self.plan.last_records.get(batch.producer_id)
        if last is None:
            return False
        offset = last.offset
        if offset is not None:
            return batch.last_offset == offset
        return batch.control is not None and batch.producer_epoch == last.epoch

    def _copy_transactional(self, batch: Batch, *, discardable: bool) -> Batch:
        """Removes aborted data at once, also beyond the map; markers wait for their horizon.

        A marker is stamped when nothing of its transaction is left, and goes at its horizon.
        Records of a batch that is removed whole do not count as read, unless its header stays.
        """
        records = batch.records
        if not records:
            return batch
        aborted = batch.control is None
        legacy = self.markers_by_segment
        if aborted or (discardable and self._marker_may_go(batch, legacy=legacy)):
            if batch.last_offset == self.kept_end or self._is_a_producers_last(batch):
                self.result.messages_read += len(records)
            return self._without_records(batch, "aborted" if aborted else "marker")
        self.result.messages_read += len(records)
        if self._evicted(batch):
            return self._without_records(batch, "superseded")
        if discardable and not legacy and batch.delete_horizon_ms is None:
            return self._stamped(batch, records)
        return batch

    def _marker_may_go(self, batch: Batch, *, legacy: bool) -> bool:
        plan, removal, horizon = self.plan, self.policy.removal, batch.delete_horizon_ms
        if legacy:
            return removal.may_remove(self._circumstances(batch.records[0], batch))
        limit = plan.removal_limit if plan.marker_limit is None else plan.marker_limit
        if removal.gates_markers and batch.base_offset >= limit:
            return False
        return horizon is not None and plan.now_ms >= horizon

    def _evicted(self, batch: Batch) -> bool:
        """Decides whether a newer record evicts a marker by its key.

        It is a user's record whose key has the same bytes, as before KAFKA-14055, or the last ABORT
        marker of any producer; for that one the index forgets the transaction, too.
        """
        offset = batch.base_offset
        if offset < self.last_abort and batch.control is Control.ABORT:
            self.result.evicted_markers[offset] = self.last_abort
            if self.watch is not None:
                self.watch.kept = [e for e in self.watch.kept if e.last_offset != offset]
            return True
        if batch.control is None or not self.policy.markers_by_key:
            return False
        key = MARKER_KEYS.get(batch.control)
        winner = None if key is None else self.winners.get(key)
        if winner is None or not offset < winner.offset or offset > self.latest_offset:
            return False
        self.result.evicted_markers[offset] = winner.offset
        return True

    def _last_abort(self, covered: Sequence[Segment]) -> int:
        """Offset of the last ABORT marker within the pass; -1 without one."""
        upper_bound = self.plan.upper_bound
        offsets = [
            batch.base_offset
            for segment in covered
            for batch in segment.batches
            if batch.control is Control.ABORT and batch.records and batch.last_offset < upper_bound
        ]
        return max(offsets, default=_NO_OFFSET)

    def _without_records(self, batch: Batch, reason: str) -> Batch:
        """The batch without any record but the protected one."""
        protected = self.protected
        self.result.removed[reason] += [r for r in batch.records if r.offset != protected]
        left = tuple([record for record in batch.records if record.offset == protected])
        if len(left) == len(batch.records):
            return batch
        return self._rebuilt(batch, left) if left else _NOTHING

    def _stamped_if_due(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        """The batch with the records that stay, a tombstone among them, and a horizon if due."""
        source = batch
        if isinstance(batch, OldBatch):
            if not self.policy.converts_old:
                return batch if records is batch.records else self._rebuilt(batch, records)
            batch = converted(batch, records)
            records = batch.records
        stamps = self.policy.removal.stamps
        fresh = batch.delete_horizon_ms is None or self.policy.stamps_again
        if stamps is _STAMPS_BATCH and fresh:
            return self._stamped(batch, records)
        if stamps is _STAMPS_RECORD:
            records = self._with_record_horizons(batch, records)
        return batch if records is source.records else self._rebuilt(batch, records)

    def _stamped(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        """The batch with the records that stay and this pass's delete horizon."""
        if (horizon := self.plan.horizon_ms) is None:
            return self._rebuilt(batch, records)
        self.result.horizons.append((batch.base_offset, horizon))
        rebuilt = with_horizon(batch, records, horizon, keeps_deltas=self.policy.keeps_deltas)
        return self._noted(rebuilt, batch)

    def _with_record_horizons(
        self, batch: Batch, records: tuple[Record, ...]
    ) -> tuple[Record, ...]:
        """Gives each kept tombstone without a horizon one of its own (KIP-534, rejected)."""
        is_tombstone = self.policy.is_tombstone
        if (horizon := self.plan.horizon_ms) is None:
            return records
        stamped = tuple(
            [
                with_record_horizon(record, horizon)
                if is_tombstone(record) and record_horizon(record) is None
                else record
                for record in records
            ]
        )
        if stamped == records:
            return records
        self.result.horizons.append((batch.base_offset, horizon))
        return stamped

    def _rebuilt(self, batch: Batch, records: tuple[Record, ...]) -> Batch:
        """The batch with other records, at least one, in the format to write; its horizon stays."""
        if self.policy.converts_old and isinstance(batch, OldBatch):
            return self._noted(converted(batch, records), batch)
        return self._noted(batch.rebuilt(records, batch.delete_horizon_ms), batch)

    def _noted(self, rebuilt: Batch, source: Batch) -> Batch:
        """Notes a rewritten batch, and that it grew beyond `max.message.bytes` if it did.

        A horizon can make it grow (KIP-534). Raises as `check_producer_state`.
        """
        if source.producer_id >= 0 and self.policy.checks_producers:
            check_producer_state(source)
        self.result.rewritten.append((rebuilt.base_offset, rebuilt.size_bytes))
        limit = self.plan.max_message_bytes
        if limit is not None and rebuilt.size_bytes > max(limit, source.size_bytes):
            self.result.oversized.append((rebuilt.base_offset, rebuilt.size_bytes))
        return rebuilt


def check_producer_state(batch: Batch) -> None:
    """Raises PassFailed for a producer's batch that lacks what a rewritten batch needs.

    Leaders refuse such a batch, but a log may have it. A batch that keeps its header alone is not
    checked. Source: MemoryRecordsBuilder.validateProducerState, IllegalArgumentException.
    """
    lacks = "producer epoch" if batch.producer_epoch < 0 else "sequence number"
    if batch.producer_epoch < 0 or (batch.base_sequence < 0 and batch.control is None):
        raise PassFailed(
            batch.base_offset,
            f"the batch at offset {batch.base_offset} has a producer and a negative {lacks}, so it "
            "cannot be written anew",
        )


def _time_of(offset: int, ranges: Sequence[tuple[int, int, int]]) -> int | None:
    """Time of the range (base, end exclusive, time in ms) that holds `offset`; None without one."""
    for base, end, time_ms in ranges:
        if base <= offset < end:
            return time_ms
    return None


def with_horizon(
    batch: Batch, records: tuple[Record, ...], horizon_ms: int, *, keeps_deltas: bool
) -> Batch:
    """The batch with the remaining `records` and a delete horizon in ms.

    KIP-534 found no room for the horizon in the header of a batch, so it took the base timestamp's.
    The timestamps of the records are stored as distances to the base: a cleaner has to rewrite
    them, or every timestamp moves (rule `horizon_rebase`).

    Args:
        batch: As it was before the pass; not empty.
        records: At least one.
        horizon_ms: The base from now on.
        keeps_deltas: The deltas stay as they are: a record reads as far from the horizon as it was
            from the old base. The maximum timestamp, a field of its own, stays that of the records
            as they were, and the batch does not grow.
    """
    if not keeps_deltas:
        return batch.rebuilt(records, horizon_ms)
    moved_ms = horizon_ms - base_timestamp(batch)
    moved = tuple(
        [replace(record, timestamp_ms=record.timestamp_ms + moved_ms) for record in records]
    )
    latest_ms = max([record.timestamp_ms for record in records])
    return replace(batch.rebuilt(moved, horizon_ms), timestamp_ms=latest_ms)


def base_timestamp(batch: Batch) -> int:
    """The base of a batch's timestamp deltas in ms: its horizon, else its first record's time.

    The batch has records. A cleaner that sets no horizon takes the time of the first record that it
    keeps (MemoryRecordsBuilder, DefaultRecord.readFrom).
    """
    horizon = batch.delete_horizon_ms
    return batch.records[0].timestamp_ms if horizon is None else horizon
