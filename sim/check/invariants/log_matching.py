"""Log matching: logs that share a record agree below it."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import Appended, Copied, Pushed


class LogMatching(Invariant):
    """Logs that share a record agree below it; one (offset, epoch) names one record."""

    name = "log-matching"
    source = "Raft 5.3, adapted to holes"

    def on_appended(self, event: Appended) -> None:
        """A leader's append may clash with another record of the same offset and epoch."""
        if self.history.disagreeing_offsets:
            self._same_epoch()

    def on_copied(self, event: Copied) -> None:
        """A copied record is shared: everything below must agree."""
        if self.history.disagreeing_offsets:
            self._same_epoch()
            view = self.history.replicas[event.replica]
            self._below(view, range(event.fetch_offset, view.log_end_offset))

    def on_pushed(self, event: Pushed) -> None:
        """As with a copy."""
        if self.history.disagreeing_offsets:
            self._same_epoch()
            view = self.history.replicas[event.replica]
            self._below(view, range(event.batch.base_offset, view.log_end_offset))

    def _same_epoch(self) -> None:
        history = self.history
        for offset in history.disagreeing_offsets:
            for view, other in self.queries.pairs_differing(offset):
                mine, theirs = view.slots[offset], other.slots[offset]
                if history.written[mine].epoch == history.written[theirs].epoch:
                    self.violated(
                        view.name,
                        offset,
                        None,
                        f"{view.name} holds {self.describe(mine)} and {other.name} holds "
                        f"{self.describe(theirs)} at offset {offset}, both of epoch "
                        f"{history.written[mine].epoch}.",
                    )

    def _below(self, view: ReplicaView, copied: range) -> None:
        history = self.history
        for offset in history.disagreeing_offsets:
            mine = view.uid_at(offset)
            for other in history.replicas.values():
                theirs = other.uid_at(offset)
                if other is view or mine <= 0 or theirs <= 0 or mine == theirs:
                    continue
                for above in copied:
                    shared = view.uid_at(above)
                    if above > offset and shared > 0 and shared == other.uid_at(above):
                        self.violated(
                            view.name,
                            offset,
                            None,
                            f"{view.name} and {other.name} share {self.describe(shared)} at "
                            f"{above} but differ at {offset}: {self.describe(mine)} and "
                            f"{self.describe(theirs)}.",
                        )
                        break
