"""Who is elected has everything that is committed."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import LeaderElected


class LeaderCompleteness(Invariant):
    """A new leader has every committed offset: the record, an empty batch or a justified hole.

    For r elected, offsets start(r) <= o < N: r has o.
    Judged: at each election, by what was committed first at offsets that were committed twice.
    Excused: offsets below the log start, for which a snapshot stands (`prefix-deletion-safety`).
    """

    name = "leader-completeness"
    source = "Raft 5.4; StrongIsr (Kip320.tla)"
    family = LOG_DIVERGENCE
    explained_by = "leader_lacks"

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare the new leader's log with the committed history."""
        history = self.history
        view = history.replicas[event.replica]
        committed = len(history.committed)
        missing = self.queries.first_missing(view, committed, twice_counts=True)
        if missing is not None:
            uid = history.committed[missing]
            self.violated(
                event.replica,
                missing,
                None,
                f"{event.replica} was elected in epoch {event.epoch} with log end offset "
                f"{view.log_end_offset} but lacks committed offset {missing} "
                f"({self.describe(uid)}); {committed} offsets are committed.",
            )
