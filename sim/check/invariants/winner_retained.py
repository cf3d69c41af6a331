"""The winner of a key is not cleaned away."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant, Kind
from sim.trace import Quiesced


class WinnerRetained(Invariant):
    """A committed winning value is on every replica whose log covers its offset.

    For all keys k with x = winner(k) a value, replicas r with start(r) <= x.offset < end(r):
    log(r)[x.offset] = x.
    Judged: at rest, down replicas as well. Excused: everything once an offset was committed twice.
    """

    name = "winner-retained"
    kind = Kind.AT_REST
    source = "KIP-280"
    family = LOG_DIVERGENCE
    explained_by = "lost_record"
    in_stories = False

    def on_quiesced(self, event: Quiesced) -> None:
        """Look for each winner in each log."""
        history = self.history
        if history.committed_twice:
            return
        for key, uid in history.winners.items():
            if history.written[uid].tombstone:
                continue
            offset = history.written[uid].offset
            for view in history.replicas.values():
                if (
                    view.log_start_offset <= offset < view.log_end_offset
                    and view.slots[offset] != uid
                ):
                    self.violated(
                        view.name,
                        offset,
                        key,
                        f"{view.name} lacks {self.describe(uid)}, the winner of its key.",
                    )
