"""A second cleaner: slow, and written as a list of conditions on the whole log.

It shares no step with the one in `sim.protocol.compaction`: that walks the log once and keeps
state, this one asks for each record whether anything in the log tells it to go. Sizes are counted
in encoded bytes. Sources as there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from sim.protocol.compaction import CleaningPass
from sim.protocol.compaction.copying import MARKER_KEYS
from sim.protocol.events import Removal
from sim.protocol.log import AbortedTransaction, Batch, Control, Record, Segment
from tests.log.wire import encode

BATCH_STAMPING = {"horizon", "leo_gated", "coordinated", "never"}


@dataclass
class Expected:
    """What a pass has to answer; None of it when nothing can enter the map."""

    segments: list[tuple[int, list[Batch], list[AbortedTransaction], int]] = field(
        default_factory=list
    )
    replaced: int = 0
    next_dirty_offset: int = 0
    removals: list[Removal] = field(default_factory=list)
    horizons: list[tuple[int, int]] = field(default_factory=list)
    emptied: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    oversized: list[tuple[int, int]] = field(default_factory=list)
    messages: tuple[int, int] = (0, 0)


class Model:
    """The conditions, for one log and one pass."""

    def __init__(self, segments: list[Segment], plan: CleaningPass) -> None:
        self.segments, self.plan = segments, plan
        self.batches = [batch for segment in segments for batch in segment.batches]
        self.aborted = [entry for segment in segments for entry in segment.aborted]
        self.latest, self.winners = self._map()
        self.protected, self.batch_end = self._fix()

    def mapped(self) -> Iterator[tuple[int, Batch, Record]]:
        """Records that may enter the map, with the number of their segment and their batch."""
        for index, segment in enumerate(self.segments):
            for batch in segment.batches:
                if batch.last_offset < self.plan.upper_bound and batch.control is None:
                    for record in batch.records:
                        if record.key is not None and not self.is_aborted(batch):
                            yield index, batch, record

    def _map(self) -> tuple[int, dict[str, Record]]:
        plan = self.plan
        if plan.given_map is not None:
            return plan.given_map.latest_offset, plan.given_map.winners
        dirty = plan.first_dirty_offset < plan.upper_bound
        if plan.map_capacity == 0 or not (dirty or plan.rescan):
            return -1, {}
        latest = self._reach() if dirty else plan.upper_bound - 1
        start = 0 if plan.policy.full_map else plan.first_dirty_offset
        winners: dict[str, Record] = {}
        for _, _, record in self.mapped():
            if start <= record.offset <= latest and record.key is not None:
                rivals = [record, winners.get(record.key, record)]
                winners[record.key] = max(rivals, key=plan.policy.strategy.version)
        return latest, winners

    def _reach(self) -> int:
        """How far the map gets before a record finds it full."""
        start, bound = self.plan.first_dirty_offset, self.plan.upper_bound
        puts = [put for put in self.mapped() if put[2].offset >= start]
        for number, (index, batch, _) in enumerate(puts):
            if len({record.key for _, _, record in puts[:number]}) == self.plan.map_capacity:
                before = [b.last_offset for b in self.batches if b.last_offset < batch.base_offset]
                ends = [segment.base_offset - 1 for segment in self.segments[1 : index + 1]]
                return max(e for e in [puts[number - 1][2].offset, *before, *ends] if e >= start)
        return bound - 1

    def _fix(self) -> tuple[int | None, int | None]:
        last = self.batches[-1] if self.batches else None
        if self.plan.policy.fix.name == "empty_batch":
            return None, self.plan.upper_bound - 1
        if self.plan.policy.fix.name == "empty_batch_at_hw":
            return None, self.plan.high_watermark - 1
        if self.plan.policy.fix.name != "leo_retention" or last is None:
            return None, None
        return (last.records[-1].offset if last.records else None), last.last_offset

    def data_of(self, entry: AbortedTransaction) -> list[Batch]:
        """The batches of an aborted transaction, empty ones included."""
        return [
            batch
            for batch in self.batches
            if batch.transactional
            and batch.control is None
            and batch.producer_id == entry.producer_id
            and entry.first_offset <= batch.last_offset < entry.last_offset
        ]

    def is_aborted(self, batch: Batch) -> bool:
        return any(batch in self.data_of(entry) for entry in self.aborted)

    def may_be_discarded(self, marker: Batch) -> bool:
        """Nothing of its transaction is left."""
        if not marker.records:
            return True
        if marker.control is Control.ABORT:
            closed = [e for e in self.aborted if e.last_offset == marker.base_offset]
            return not any(self.data_of(entry) for entry in closed)
        if marker.control is Control.LEADER_CHANGE:
            return False
        own = [
            batch
            for batch in self.batches
            if batch.transactional
            and batch.producer_id == marker.producer_id
            and batch.base_offset < marker.base_offset
        ]
        for batch in reversed(own):
            if batch.control is Control.COMMIT and batch.records:
                return True
            if batch.control is None and not self.is_aborted(batch):
                return False
        return True

    @property
    def legacy_markers(self) -> bool:
        return (
            self.plan.policy.markers_like_tombstones
            and self.plan.policy.removal.name == "last_modified"
        )

    def reason(self, record: Record, batch: Batch, segment: Segment) -> str | None:
        """Why the record goes; None = it stays."""
        plan = self.plan
        if batch.last_offset >= plan.upper_bound or record.offset == self.protected:
            return None
        if batch.control is not None:
            return self._marker_reason(batch, segment)
        if self.is_aborted(batch):
            return "aborted"
        if record.offset > self.latest:
            return None
        if record.key is None:
            return "no key"
        winner = self.winners.get(record.key)
        if winner is not None and plan.policy.strategy.version(
            record
        ) < plan.policy.strategy.version(winner):
            return "superseded"
        gone = plan.policy.is_tombstone(record) and self._tombstone_goes(record, batch, segment)
        return "tombstone" if gone else None

    def _marker_reason(self, batch: Batch, segment: Segment) -> str | None:
        plan, horizon, offset = self.plan, batch.delete_horizon_ms, batch.base_offset
        if self.may_be_discarded(batch):
            gated = plan.policy.removal.name == "coordinated" and offset >= plan.removal_limit
            due = horizon is not None and horizon <= plan.now_ms and not gated
            if self._old_enough(offset, segment) if self.legacy_markers else due:
                return "marker"
        winner = self.winners.get(MARKER_KEYS.get(batch.control or Control.LEADER_CHANGE, ""))
        beaten = winner is not None and offset < winner.offset and offset <= self.latest
        return "superseded" if plan.policy.markers_by_key and beaten else None

    def _old_enough(self, offset: int, segment: Segment) -> bool:
        times: list[int] = [segment.last_modified_ms]
        if self.plan.legacy_last_modified is not None:
            times = [t for lo, hi, t in self.plan.legacy_last_modified if lo <= offset < hi]
        limit = self.plan.legacy_horizon_ms
        return bool(times) and limit is not None and times[0] <= limit

    def _tombstone_goes(self, record: Record, batch: Batch, segment: Segment) -> bool:
        plan = self.plan
        horizon = batch.delete_horizon_ms
        if plan.policy.removal.name == "record_horizon":
            own = dict(record.headers).get("delete-horizon")
            horizon = None if own is None else int.from_bytes(own, "big")
        due = horizon is not None and horizon <= plan.now_ms
        end, cleaned_ms = plan.last_cleaning or (0, 0)
        waited = plan.now_ms - cleaned_ms >= plan.delete_retention_ms
        below_limit = record.offset < plan.removal_limit
        return {
            "horizon": due,
            "record_horizon": due,
            "leo_gated": due and below_limit,
            "coordinated": due and below_limit,
            "immediate": True,
            "never": False,
            "cleaning_checkpoint": record.offset < end and waited,
            "last_modified": self._old_enough(record.offset, segment),
        }[plan.policy.removal.name]

    def stays_empty(self, batch: Batch) -> bool:
        if batch.last_offset == self.batch_end:
            return True
        keep = self.plan.last_records.get(batch.producer_id)
        if keep is None:
            return False
        if keep.offset is None:
            return batch.control is not None and batch.producer_epoch == keep.epoch
        return batch.last_offset == keep.offset

    def is_stamped(self, batch: Batch, kept: list[Record]) -> bool:
        """A delete horizon is due: in the batch, or under `record_horizon` in its tombstones."""
        if batch.control is not None:
            return self.may_be_discarded(batch) and not self.legacy_markers
        if self.is_aborted(batch):
            return False
        seen = batch.last_offset <= self.latest or self.plan.policy.stamp_beyond_map
        return seen and any(self.plan.policy.is_tombstone(record) for record in kept)

    def left_of(self, batch: Batch, segment: Segment) -> Batch | None:
        """The batch after the pass; None = it is gone."""
        if batch.last_offset >= self.plan.upper_bound:
            return batch
        kept = [r for r in batch.records if self.reason(r, batch, segment) is None]
        if not kept:
            return batch.emptied() if self.stays_empty(batch) else None
        now_ms = self.plan.now_ms + self.plan.delete_retention_ms
        horizon, stamped = batch.delete_horizon_ms, self.is_stamped(batch, kept)
        in_batch = batch.control is not None or self.plan.policy.removal.name in BATCH_STAMPING
        if stamped and in_batch and horizon is None:
            horizon = now_ms
        if stamped and self.plan.policy.removal.name == "record_horizon" and batch.control is None:
            kept = [self._with_header(record, now_ms) for record in kept]
        if tuple(kept) == batch.records and horizon == batch.delete_horizon_ms:
            return batch
        left = replace(
            batch,
            records=tuple(kept),
            delete_horizon_ms=horizon,
            timestamp_ms=max(record.timestamp_ms for record in kept),
        )
        return replace(left, size_bytes=len(encode(left)))

    def _with_header(self, record: Record, horizon: int) -> Record:
        if not self.plan.policy.is_tombstone(record) or "delete-horizon" in dict(record.headers):
            return record
        added = ("delete-horizon", horizon.to_bytes(8, "big"))
        return replace(record, headers=(*record.headers, added))

    def groups(self, covered: list[Segment]) -> Iterator[list[Segment]]:
        """Neighbours whose bytes before the pass fit into one segment."""
        limit = self.plan.segment_bytes
        group: list[Segment] = []
        for segment in covered:
            size = sum(each.size_bytes for each in [*group, segment])
            if group and limit is not None and size > limit:
                yield group
                group = []
            group = [*group, segment]
        if group:
            yield group

    def expected(self) -> Expected:
        """The whole answer."""
        plan, found = self.plan, Expected(next_dirty_offset=self.plan.first_dirty_offset)
        if self.latest < 0:
            return found
        end = min(self.latest + 1, plan.upper_bound)
        covered = [segment for segment in self.segments if segment.base_offset < end]
        found.replaced, found.next_dirty_offset = len(covered), self.latest + 1
        read = written = 0
        for group in self.groups(covered):
            kept: list[Batch] = []
            for segment in group:
                for batch in segment.batches:
                    left = self.left_of(batch, segment)
                    kept += [left] if left is not None else []
                    if batch.last_offset < plan.upper_bound:
                        counts = self._account(found, batch, left, segment)
                        read, written = read + counts[0], written + counts[1]
            entries = [e for s in group for e in s.aborted if self._entry_stays(e)]
            last_modified_ms = group[-1].last_modified_ms
            found.segments.append((group[0].base_offset, kept, entries, last_modified_ms))
        found.messages = (read, written)
        return found

    def _entry_stays(self, entry: AbortedTransaction) -> bool:
        return entry.last_offset >= self.plan.upper_bound or bool(self.data_of(entry))

    def _account(
        self, found: Expected, batch: Batch, left: Batch | None, segment: Segment
    ) -> tuple[int, int]:
        """Note what happened to a batch; (records read, records written)."""
        reasons = {record: self.reason(record, batch, segment) for record in batch.records}
        for record, why in reasons.items():
            if why is not None:
                key = MARKER_KEYS.get(batch.control) if batch.control else record.key
                winner = self.winners[key or ""].offset if why == "superseded" else None
                removal = Removal(record.offset, record.uid, record.key, why, winner)
                found.removals.append(removal)
        if left is not None and not left.records and batch.records:
            found.emptied.append(batch.last_offset)
        if left is None and not batch.records:
            found.dropped.append(batch.last_offset)
        limit = self.plan.max_message_bytes
        if (
            left is not None
            and limit is not None
            and left.size_bytes > max(limit, batch.size_bytes)
        ):
            found.oversized.append((left.base_offset, left.size_bytes))
        if left is not None and left.records:
            stamp = (batch.base_offset, self.plan.now_ms + self.plan.delete_retention_ms)
            if left.delete_horizon_ms != batch.delete_horizon_ms or any(
                len(new.headers) > len(old.headers)
                for new in left.records
                for old in batch.records
                if new.offset == old.offset
            ):
                found.horizons.append(stamp)
        unread = left is None and set(reasons.values()) <= {"aborted", "marker"}
        return (0 if unread else len(reasons)), (0 if left is None else len(left.records))
