"""Log matching: logs that share a record agree below it."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.check.replica_view import ReplicaView
from sim.trace import Appended, Copied, Pushed


class LogMatching(Invariant):
    """Logs that share a record agree below it; one (offset, epoch) names one record.

    For all replicas r, s, offsets o at which both hold records x of r, y of s: if x.epoch = y.epoch
    then x = y; and if r and s hold one record at some p > o then x = y.
    Judged: on what is appended, copied or pushed. Excused: offsets at which one of them has no
    record (what is missing there `hole-justified` judges).
    """

    name = "log-matching"
    source = "Raft 5.3, adapted to holes"
    family = LOG_DIVERGENCE
    explained_by = "two_records"
    unusual_only = True

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No two logs disagree."""
        super().__init__(queries, report)
        self._judged: list[tuple[int, ReplicaView, ReplicaView]] = []

    def on_appended(self, _: Appended) -> None:
        """A leader's append may clash with another record of the same offset and epoch."""
        self._same_epoch()

    def on_copied(self, event: Copied) -> None:
        """A copied record is shared: everything below must agree."""
        self._same_epoch()
        self._below(self.history.replicas[event.replica], event.fetch_offset)

    def on_pushed(self, event: Pushed) -> None:
        """As with a copy."""
        self._same_epoch()
        self._below(self.history.replicas[event.replica], event.batch.base_offset)

    def _same_epoch(self) -> None:
        written, found = self.history.written, self.history.disagreements
        if found is self._judged:
            return
        self._judged = found
        for offset, view, other in found:
            mine, theirs = view.slots[offset], other.slots[offset]
            epoch = written[mine].batch.epoch
            if epoch == written[theirs].batch.epoch:
                self.violated(
                    view.name,
                    offset,
                    None,
                    f"{view.name} holds {self.describe(mine)} and {other.name} holds "
                    f"{self.describe(theirs)} at offset {offset}, both of epoch {epoch}.",
                )

    def _below(self, view: ReplicaView, start: int) -> None:
        """Look below the records that were copied from offset `start` on."""
        for offset, one, another in self.history.disagreements:
            if view is one or view is another:
                other = another if view is one else one
                for above in range(max(start, offset + 1), len(view.slots)):
                    shared = view.slots[above]
                    if shared > 0 and shared == other.uid_at(above):
                        self._report_shared(view, other, offset, above)
                        break

    def _report_shared(
        self, view: ReplicaView, other: ReplicaView, offset: int, above: int
    ) -> None:
        self.violated(
            view.name,
            offset,
            None,
            f"{view.name} and {other.name} share {self.describe(view.slots[above])} at {above} but "
            f"differ at {offset}: {self.describe(view.slots[offset])} and "
            f"{self.describe(other.slots[offset])}.",
        )
