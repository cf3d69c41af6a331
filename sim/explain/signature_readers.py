"""Why a reader missed something, was given what it should not, or waits."""

from __future__ import annotations

from sim.check import Violation
from sim.explain import mechanisms as of
from sim.explain.signature_deletes import Deletes
from sim.explain.signature_losses import Facts, Losses
from sim.explain.signature_past import Became, Past
from sim.log.record import Record
from sim.trace import Cleaned, Consumed, CoordinatorAnswered, CoordinatorLoaded, Copied


class Readers:
    """Asks what readers were given, and what was not there for them."""

    def __init__(self, past: Past, losses: Losses, deletes: Deletes) -> None:
        """The others say why records are missing, and why deletes are."""
        self.past = past
        self.losses = losses
        self.deletes = deletes

    def why_skipped(self, violation: Violation) -> Facts:
        """Why a reader passed a record, or two readers disagree about an offset."""
        offset = violation.offset
        if offset is None:
            return ()
        if len(self.past.uids_at.get(offset, ())) > 1:
            return self.losses.why_contested(offset)
        replica = violation.replica or ""
        fate = self.past.fate(replica, offset, None, self.past.end)
        if fate.became is Became.HELD:
            return (of.KEPT_FROM_READER,)
        return self.losses.why_lacking(replica, offset, None, self.past.end)

    def why_unseen(self, violation: Violation) -> Facts:
        """Why a reader in time did not see a delete."""
        past, replica, offset = self.past, violation.replica or "", violation.offset or 0
        fate = past.fate(replica, offset, None, past.end)
        while fate.became is Became.NOT_AT_SOURCE and fate.step is not None:
            fate = past.fate(fate.step.event.leader, offset, None, fate.step.position)
        if fate.became is not Became.CLEANED or fate.step is None:
            return self.losses.why_lacking(replica, offset, None, past.end)
        event = fate.step.event
        assert isinstance(event, Cleaned)
        removal = next(r for r in event.removals if r.offset == offset)
        facts = self.losses.why_cleaned(fate.replica, removal, event, fate.step.position)
        return (*facts, of.OTHER_REPLICA) if self._moved(violation) else facts

    def _moved(self, violation: Violation) -> bool:
        """Whether the reader had the value of the key from another replica."""
        last = self._read(violation)
        return last is not None and any(
            event.replica != last.replica
            for _, event in self.past.events
            if isinstance(event, Consumed)
            and event.consumer == last.consumer
            and any(record.key == violation.key for record in event.records)
        )

    def _read(self, violation: Violation) -> Consumed | None:
        position = self.past.last_of(Consumed, violation.replica)
        event = None if position is None else self.past.events[position][1]
        return event if isinstance(event, Consumed) else None

    def why_stale(self, violation: Violation) -> Facts:
        """Why a reader that has read everything keeps what loses."""
        given = {
            record.uid
            for _, event in self.past.events
            if isinstance(event, Consumed)
            for record in event.records
            if record.key == violation.key
        }
        better = [
            uid
            for uid, each in self.past.written.items()
            if each.record.key == violation.key and each.batch.control is None
        ]
        if not better:
            return ()
        winner = max(better, key=lambda uid: self.losses.version(self.past.written[uid].record))
        record = self.past.written[winner].record
        position = self.past.last_of(Consumed, None)
        replica = "" if position is None else self.past.events[position][1].replica or ""
        fate = self.past.fate(replica, record.offset, winner, self.past.end)
        if fate.became is Became.CLEANED:
            return self.deletes.why_returned(replica, violation.offset, violation.key or "")
        return (of.LAST_OFFSET_WINS,) if winner in given else ()

    def why_waiting(self, violation: Violation) -> Facts:
        """Why a reader does not come to an end."""
        return (of.NO_RECORD_LEFT,)

    def what_changed(self, violation: Violation) -> Facts:
        """Which fields of a record are not as they were appended."""
        for _, event in reversed(self.past.events):
            records: list[Record] = []
            if isinstance(event, Copied):
                records = [record for batch in event.batches for record in batch.records]
            elif isinstance(event, Consumed):
                records = list(event.records)
            for record in records:
                written = self.past.written.get(record.uid)
                if record.offset == violation.offset and written is not None:
                    fields = zip(Record._fields, record, written.record, strict=True)
                    return tuple(f"{name} changed" for name, a, b in fields if a != b)
        return ()

    def why_unloaded(self, violation: Violation) -> Facts:
        """Why a coordinator answers with what is no longer true."""
        past, replica, offset = self.past, violation.replica or "", violation.offset or 0
        loaded = past.last_of(CoordinatorLoaded, replica)
        answered = past.last_of(CoordinatorAnswered, replica)
        uid = past.committed_uid(offset)
        fate = past.fate(replica, offset, uid, past.end)
        if fate.became is Became.HELD:
            answer = None if answered is None else past.events[answered][1]
            if isinstance(answer, CoordinatorAnswered) and answer.below <= offset:
                early = loaded is None or (answered or 0) < loaded
                return (of.READ_WHILE_LOADING,) if early else (of.READ_BELOW_MARK,)
            return (of.READ_WHILE_LOADING,)
        written = past.written.get(uid or 0)
        if written is not None and self.losses.is_tombstone(written.record):
            return self.deletes.why_returned(replica, None, violation.key or "")
        return self.losses.why_lacking(replica, offset, uid, past.end)
