"""Log matching: logs that share a record agree below it."""

from sim.check.invariant import LogInvariant
from sim.check.replica_view import ReplicaView
from sim.check.violation import Value
from sim.trace import Appended, Copied, Pushed


class LogMatching(LogInvariant):
    """Logs that share a record agree below it; one (offset, epoch) names one record.

    For all replicas r, s, offsets o at which both hold records x of r, y of s: if x.epoch = y.epoch
    then x = y; and if r and s hold one record at some p > o then x = y.
    Judged: on what is appended, copied or pushed. Excused: offsets at which one of them has no
    record (what is missing there `hole-justified` judges).
    No usual event breaks it: no two logs disagree, so no two disagree below anything.
    """

    source = "Raft 5.3, adapted to holes"
    explained_by = "two_records"
    unusual_only = True

    def begin(self) -> None:
        """No two logs disagree."""
        self._judged: list[tuple[int, ReplicaView, ReplicaView]] = []

    def on_appended(self, _: Appended) -> None:
        """A leader's append may clash with another record of the same offset and epoch."""
        self._same_epoch()

    def on_copied(self, event: Copied) -> None:
        """A copied record is shared: everything below must agree."""
        self._same_epoch()
        self._below(self.replicas[event.replica], event.fetch_offset)

    def on_pushed(self, event: Pushed) -> None:
        """As with a copy."""
        self._same_epoch()
        self._below(self.replicas[event.replica], event.batch.base_offset)

    def _same_epoch(self) -> None:
        found = self.history.disagreements
        if found is self._judged:
            return
        self._judged = found
        for offset, view, other in found:
            mine, theirs = view.slots[offset], other.slots[offset]
            epoch = self.written[mine].batch.epoch
            if epoch == self.written[theirs].batch.epoch:
                says = (
                    "{replica} holds {record} and {other} holds {other_record} at offset {offset}, "
                    "both of epoch {epoch}."
                )
                self._report_two(view, other, offset, says, epoch=epoch)

    def _below(self, view: ReplicaView, start: int) -> None:
        """Look below the records that were copied from offset `start` on."""
        says = (
            "{replica} and {other} share {shared} at {shared_at} but differ at {offset}: {record} "
            "and {other_record}."
        )
        for offset, one, another in self.history.disagreements:
            if view is one or view is another:
                other = another if view is one else one
                for above in range(max(start, offset + 1), len(view.slots)):
                    shared = view.slots[above]
                    if shared > 0 and shared == other.uid_at(above):
                        record = self.describe(shared)
                        self._report_two(view, other, offset, says, shared=record, shared_at=above)
                        break

    def _report_two(
        self, view: ReplicaView, other: ReplicaView, offset: int, says: str, **evidence: Value
    ) -> None:
        self.violated(
            view.name,
            offset,
            None,
            says,
            None,
            other=other.name,
            record=view.slots[offset],
            other_record=other.slots[offset],
            **evidence,
        )
