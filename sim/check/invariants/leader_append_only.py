"""Leaders append, and change nothing."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import Truncated


class LeaderAppendOnly(LogInvariant):
    """A leader never truncates or replaces its log while it leads.

    For all cuts of r: r does not lead.
    Judged: on each cut. Excused: what cleaning removes, which `compaction-bound` judges; an
    installed snapshot, which `leader-never-loads-snapshot` does.
    """

    source = "Raft 5.3"
    explained_by = "truncated"
    in_stories = False
    says = "{replica} truncated from {log_end} to {offset} while it was leading."

    def on_truncated(self, event: Truncated) -> None:
        """A leader that cuts its own log."""
        if event.leading:
            self.violated(event.replica, event.target, log_end=event.log_end_offset)
