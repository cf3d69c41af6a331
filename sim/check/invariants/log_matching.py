"""Log matching: logs that share a record agree below it."""

from sim.check.invariant import LogInvariant, Writing
from sim.check.replica_view import ReplicaView
from sim.protocol.events import Copied, Pushed

_BELOW = (
    "{replica} and {other} share {shared} at {shared_at} but differ at {offset}: {record} and "
    "{other_record}."
)


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
    says = (
        "{replica} holds {record} and {other} holds {other_record} at offset {offset}, both of "
        "epoch {epoch}."
    )

    def on_written(self, event: Writing) -> None:
        """It may clash with a record of its offset and epoch; below what is shared all agrees."""
        for offset, view, other in self.history.disagreements:
            epoch = self.written[view.slots[offset]].batch.epoch
            if epoch == self.written[other.slots[offset]].batch.epoch:
                self.violated_by_two(view, other, offset, epoch=epoch)
        if isinstance(event, Copied):
            self._judge_below(self.replicas[event.replica], event.fetch_offset)
        elif isinstance(event, Pushed):
            self._judge_below(self.replicas[event.replica], event.batch.base_offset)

    def _judge_below(self, view: ReplicaView, start: int) -> None:
        """Look below the records that were copied from offset `start` on."""
        for offset, one, another in self.history.disagreements:
            if view is one or view is another:
                other = another if view is one else one
                copied = enumerate(view.slots[max(start, offset + 1) :], max(start, offset + 1))
                both = [at for at, uid in copied if uid > 0 and uid == other.uid_at(at)]
                for at in both[:1]:
                    told = {"shared": view.slots[at], "shared_at": at}
                    self.violated_by_two(view, other, offset, _BELOW, **told)
