"""Who is elected has everything that is committed."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import LeaderElected


class LeaderCompleteness(LogInvariant):
    """A new leader has every committed offset: the record, an empty batch or a justified hole.

    For r elected, offsets start(r) <= o < N: r has o.
    Judged: at each election, by what was committed first at offsets that were committed twice.
    Excused: offsets below the log start, for which a snapshot stands (`prefix-deletion-safety`).
    """

    source = "Raft 5.4; StrongIsr (Kip320.tla)"
    explained_by = "leader_lacks"
    says = (
        "{replica} was elected in epoch {epoch} with log end offset {log_end} but lacks committed "
        "offset {offset} ({record}); {committed_below} offsets are committed."
    )

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare the new leader's log with the committed history."""
        view, committed = self.replicas[event.replica], len(self.committed)
        missing = self.history.first_missing(view, committed, twice_counts=True)
        if missing is not None:
            end, lacked = view.log_end_offset, self.committed[missing]
            told = {"epoch": event.epoch, "log_end": end, "committed_below": committed}
            self.violated(event.replica, missing, record=lacked, **told)
