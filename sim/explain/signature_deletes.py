"""Why a deleted key is back, a late write stays, or a transaction ends otherwise."""

from __future__ import annotations

from sim.check import Violation
from sim.explain import mechanisms as of
from sim.explain.signature_losses import Facts, Losses
from sim.explain.signature_past import Became, Fate, Past, Written
from sim.explain.signature_removals import holder_of
from sim.log.record import Control
from sim.trace import Cleaned, CleaningFailed, ReplicaWiped


class Deletes:
    """Asks why what would delete a value, or decide a transaction, is not there."""

    def __init__(self, past: Past, losses: Losses) -> None:
        """`losses` says why records are missing."""
        self.past = past
        self.losses = losses

    # A tombstone or a marker went.

    def why_removed_early(self, replica: str, offset: int) -> Facts:
        """Why a pass took the tombstone or marker at an offset, and who needed it."""
        past = self.past
        for step in past.steps_before(replica, past.end):
            if isinstance(step.event, Cleaned):
                removal = next((r for r in step.event.removals if r.offset == offset), None)
                if removal is not None:
                    facts = self.losses.why_cleaned(replica, removal, step.event, step.position)
                    holder = self._holder(replica, offset, removal.uid, step.position)
                    return (*facts, *holder)
        return ()

    def _holder(self, remover: str, offset: int, uid: int, removed_at: int) -> Facts:
        """Of the replicas that end at or below it the first that holds what it decides."""
        past = self.past
        decided = self._decided_by(past.written.get(uid))
        for holder in past.steps:
            if holder == remover or past.log_end(holder, removed_at) > offset:
                continue
            if any(
                past.fate(holder, each.record.offset, each.record.uid, removed_at).became
                is Became.HELD
                for each in decided
            ):
                facts = holder_of(past, holder, offset, uid, removed_at)
                return (*facts, *self._why_holder_cut(holder, offset, uid, removed_at))
        return ()

    def _decided_by(self, deciding: Written | None) -> list[Written]:
        """What a tombstone deletes, or a marker decides."""
        if deciding is None:
            return []
        record, batch = deciding.record, deciding.batch
        if batch.control is None:
            return [
                each
                for each in self._of_key(record.key)
                if each.record.uid != record.uid
                and self.losses.version(each.record) < self.losses.version(record)
            ]
        return [
            each
            for each in self.past.written.values()
            if each.batch.transactional
            and each.batch.control is None
            and each.batch.producer_id == batch.producer_id
            and each.record.offset < record.offset
        ]

    def _of_key(self, key: str | None) -> list[Written]:
        written = self.past.written.values()
        return [each for each in written if each.record.key == key and each.batch.control is None]

    # A deleted key is back.

    def why_returned(
        self, replica: str, offset: int | None, key: str, before: int | None = None
    ) -> Facts:
        """Why a replica gave a key a value, by default what it held, that a delete beats.

        `before` is the position when it did; by default the end.
        """
        past, version = self.past, self.losses.version
        before = past.end if before is None else before
        of_key = self._of_key(key)
        if offset is None:
            held = [each for each in of_key if self._holds(replica, each, before)]
        else:
            shown = past.last_written(replica, offset, before)
            held = [each for each in of_key if each.record.uid == shown]
        held = [
            each
            for each in held
            if not self.losses.is_tombstone(each.record) and not self.losses.aborted(each)
        ]
        if not held:
            return ()
        value = max(held, key=lambda each: version(each.record))
        deletes = [
            each
            for each in of_key
            if self.losses.is_tombstone(each.record)
            and version(each.record) > version(value.record)
            and past.committed_from(each.record.offset) is not None
            and not self._holds(replica, each, before)
        ]
        if not deletes:
            return ()
        delete = max(deletes, key=lambda each: version(each.record))
        if value.record.offset > delete.record.offset:
            return self._why_late(replica, value, delete, before)
        return self._why_undecided(replica, delete, value, before)

    def _holds(self, replica: str, written: Written, before: int) -> bool:
        record = written.record
        return self.past.fate(replica, record.offset, record.uid, before).became is Became.HELD

    def _why_undecided(self, replica: str, deciding: Written, value: Written, before: int) -> Facts:
        """Why a replica has a value, and not what deletes or decides it."""
        past, offset, uid = self.past, deciding.record.offset, deciding.record.uid
        fate = self._root(past.fate(replica, offset, uid, before), offset, uid)
        step = fate.step
        if fate.became is Became.CLEANED and step is not None:
            removal = next(r for r in step.event.removals if r.offset == offset)
            facts = self.losses.why_cleaned(fate.replica, removal, step.event, step.position)
            if removal.reason == "superseded" and deciding.batch.control is None:
                return facts
            if fate.replica == replica:
                return (*facts, *self._why_left(replica, deciding, value, step.position))
            kept = past.fate(replica, value.record.offset, value.record.uid, step.position)
            if kept.became is not Became.HELD:
                return (*facts, of.HANDED_ON)
            if past.fate(replica, offset, uid, step.position).became is Became.HELD:
                taken = self._taken_after(replica, offset, uid, step.position)
                if taken:
                    return (*taken, *facts)
            needed_by = holder_of(past, replica, offset, uid, step.position)
            return (*facts, *needed_by, *self._why_holder_cut(replica, offset, uid, step.position))
        facts = self.losses.why_lacking(replica, offset, uid, before)
        return (*facts, *self.losses.why_counted(replica, offset, before, facts))

    def _why_holder_cut(self, holder: str, offset: int, uid: int, before: int) -> Facts:
        """Why who needs it had cut it; empty = it had not."""
        if self.past.fate(holder, offset, uid, before).became is not Became.CUT:
            return ()
        return self.losses.why_lacking(holder, offset, uid, before)

    def _taken_after(self, replica: str, offset: int, uid: int, after: int) -> Facts:
        """What took from a replica, after a position, what it had at an offset."""
        for step in self.past.steps.get(replica, ()):
            if step.position > after:
                fate = self.past.fate(replica, offset, uid, step.position + 1)
                if fate.became is not Became.HELD:
                    return self.losses.why_lacking(replica, offset, uid, step.position + 1)
        return ()

    def _why_left(self, replica: str, deciding: Written, value: Written, at: int) -> Facts:
        """Why the pass that took a tombstone, or a marker, left what it decides."""
        if deciding.batch.control is not None:
            return (of.VALUE_LEFT,)
        producers = {
            each.batch.producer_id for each in (value, deciding) if each.batch.transactional
        }
        if any(
            each.batch.control is Control.ABORT and each.batch.producer_id in producers
            for each in self.past.written.values()
        ):
            return (of.AS_ABORTED, of.VALUE_LEFT)
        low, high = value.record.offset, deciding.record.offset
        unfinished = any(
            isinstance(step.event, Cleaned)
            and step.event.first_dirty_offset <= low
            and high < step.event.upper_bound
            for step in self.past.steps_before(replica, at)
        )
        return (of.UNFINISHED, of.VALUE_LEFT) if unfinished else (of.VALUE_LEFT,)

    def _root(self, fate: Fate, offset: int, uid: int) -> Fate:
        """What became of it where it was copied from, and so on."""
        while fate.became is Became.NOT_AT_SOURCE and fate.step is not None:
            fate = self.past.fate(fate.step.event.leader, offset, uid, fate.step.position)
        return fate

    # A late write.

    def _why_late(self, replica: str, value: Written, delete: Written, before: int) -> Facts:
        """Why a value that came after a delete, and loses to it, stays."""
        past, offset, uid = self.past, delete.record.offset, delete.record.uid
        fate = self._root(past.fate(replica, offset, uid, before), offset, uid)
        if fate.became is not Became.CLEANED or fate.step is None:
            return self.losses.why_lacking(replica, offset, uid, before) or (of.CAME_LATE,)
        event, late = fate.step.event, value.record.offset
        removal = next(r for r in event.removals if r.offset == offset)
        if removal.reason == "superseded":
            return self.losses.why_cleaned(fate.replica, removal, event, fate.step.position)
        if value.position > fate.step.position or late >= event.upper_bound:
            wiped = any(
                isinstance(step.event, ReplicaWiped) for step in past.steps.get(replica, ())
            )
            remembered = any(
                isinstance(step.event, Cleaned) and step.event.stubs
                for steps in past.steps.values()
                for step in steps
            )
            return (of.CAME_LATE, of.DISK_LOST) if wiped and remembered else (of.CAME_LATE,)
        if event.protected_offset == late:
            return (of.KEPT_AS_END,)
        return (of.NOT_MAPPED,)

    # A transaction ends otherwise.

    def why_verdict(self, replica: str, offset: int | None, key: str | None) -> Facts:
        """Why a replica has data of a transaction and not the marker that decides it."""
        data = [
            each
            for each in self.past.written.values()
            if each.batch.transactional
            and each.batch.control is None
            and (each.record.offset == offset if offset is not None else each.record.key == key)
        ]
        for each in data:
            marker = self._marker_of(each)
            if marker is None:
                continue
            facts = self._why_undecided(replica, marker, each, self.past.end)
            if facts:
                return facts
        return ()

    def _marker_of(self, data: Written) -> Written | None:
        """The marker that ends the transaction of a record."""
        markers = [
            each
            for each in self.past.written.values()
            if each.batch.control in (Control.COMMIT, Control.ABORT)
            and each.batch.producer_id == data.batch.producer_id
            and each.record.offset > data.record.offset
        ]
        return min(markers, key=lambda each: each.record.offset, default=None)

    # Cleaning left what it should take, or the producers meant otherwise.

    def why_both(self, violation: Violation) -> Facts:
        """Why a clean log has two records of a key."""
        past, replica = self.past, violation.replica or ""
        passes = [
            step for step in past.steps_before(replica, past.end) if isinstance(step.event, Cleaned)
        ]
        offsets = [
            each.record.offset
            for each in self._of_key(violation.key)
            if past.fate(replica, each.record.offset, each.record.uid, past.end).became
            is Became.HELD
        ]
        if any(step.event.protected_offset in offsets for step in passes):
            return (of.KEPT_AS_END,)
        aborted = any(each.batch.control is Control.ABORT for each in past.written.values())
        if aborted and any(each.batch.transactional for each in self._of_key(violation.key)):
            return (of.AS_ABORTED,)
        covered = bool(passes and offsets) and passes[0].event.first_dirty_offset <= min(offsets)
        return (of.UNFINISHED,) if covered else (of.NOT_MAPPED,)

    def why_stays(self, violation: Violation) -> Facts:
        """Why a tombstone is never removed."""
        past, replica, offset = self.past, violation.replica or "", violation.offset or 0
        if any(
            isinstance(event, CleaningFailed) and event.replica == replica
            for _, event in past.events
        ):
            return (of.STOPPED_AT_RECORD,)
        passes = [s for s in past.steps_before(replica, past.end) if isinstance(s.event, Cleaned)]
        stamps = [h for s in passes for base, h in s.event.horizons if base == offset]
        if len(stamps) > 1:
            return (of.STAMPED_AGAIN,)
        rule = self.losses.rules.cleaner.tombstone_removal
        if rule == "last_modified":
            return (of.BY_SEGMENT_AGE,)
        if rule in ("coordinated", "leo_gated"):
            away = any(past.is_down(name, past.end) for name in past.steps)
            return (of.WAITS_FOR_ABSENT,) if away else ()
        due = stamps[0] if stamps else None
        came = due is not None and any(step.event.now_ms >= due for step in passes)
        return () if came else (of.NEVER_CLEANED,)

    def why_not_meant(self, violation: Violation) -> Facts:
        """Why a key does not end on what its producers wrote last."""
        written = self._of_key(violation.key)
        kept = [each for each in written if each.record.offset == violation.offset]
        if not kept:
            return ()
        newer = [each for each in written if each.record.timestamp_ms > kept[0].record.timestamp_ms]
        if any(each.record.offset < kept[0].record.offset for each in newer):
            return (of.ARRIVED_LAST,)
        return (of.BY_LOWER,)
