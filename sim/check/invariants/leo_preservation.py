"""Where a log ends survives cleaning and restarts."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import Cleaned, ReplicaRestarted


class LeoPreservation(LogInvariant):
    """Cleaning and a restart leave the log end offset where it was.

    For each pass and restart of r: end(r) after = end(r) before.
    Judged: after a pass, and after a restart by what the crash left. Excused: the tail that a crash
    lost.
    No usual event breaks it: a usual pass leaves the log end.
    """

    source = "KIP-280; etcd #17780"
    explained_by = "log_end_moved"
    in_stories = False
    unusual_only = True
    says = " moved the log end offset of {replica} from {before} to {offset}."

    def on_cleaned(self, event: Cleaned) -> None:
        """Compare with the log end before the pass."""
        self._judge(event.replica, event.log_end_offset, "a cleaning pass")

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """Compare with the log end that the crash left."""
        self._judge(event.replica, event.log_end_offset, "a restart")

    def _judge(self, replica: str, end: int, what: str) -> None:
        before = self.replicas[replica].log_end_offset_before
        if end != before:
            self.violated(replica, end, None, what + self.says, before=before)
