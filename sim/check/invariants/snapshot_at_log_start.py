"""A log that lost its head continues a snapshot."""

from sim.check.invariant import Invariant
from sim.protocol.events import PrefixDeleted


class SnapshotAtLogStart(Invariant):
    """A log that starts above 0 has a snapshot that ends exactly there.

    For a prefix of r deleted up to s > 0: r holds a snapshot with end = s.
    Judged: on prefix deletion. Excused: logs without snapshots, whose start retention moves.
    """

    source = "SnapshotAtLogStart (RaftEventSimulationTest)"
    explained_by = "prefix"
    says = "{replica} starts its log at {offset} without a snapshot that ends there."

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """Look for the snapshot."""
        ends = sorted([end for end, _ in self.replicas[event.replica].snapshots])
        start = event.log_start_offset
        if start > 0 and start not in ends:
            self.violated(event.replica, start, snapshot_ends=tuple(ends))
