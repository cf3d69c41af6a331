"""The winner of a key is not cleaned away."""

from sim.check.invariant import Kind, LogInvariant
from sim.protocol.events import Quiesced


class WinnerRetained(LogInvariant):
    """A committed winning value is on every replica whose log covers its offset.

    For all keys k with x = winner(k) a value, replicas r with start(r) <= x.offset < end(r):
    log(r)[x.offset] = x.
    Judged: at rest, down replicas as well. Excused: everything once an offset was committed twice.
    """

    kind = Kind.AT_REST
    source = "KIP-280"
    explained_by = "lost_record"
    in_stories = False
    says = "{replica} lacks {record}, the winner of its key."

    def on_quiesced(self, _: Quiesced) -> None:
        """Look for each winner in each log."""
        if self.history.committed_twice:
            return
        for uid in self.history.winners.values():
            known = self.written[uid]
            if not known.tombstone:
                for view in self.replicas.values():
                    if view.covers(known.offset) and view.slots[known.offset] != uid:
                        self.violated_by(view.name, uid)
