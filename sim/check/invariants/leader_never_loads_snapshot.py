"""Leaders do not install snapshots."""

from sim.check.invariant import Invariant
from sim.protocol.events import SnapshotInstalled


class LeaderNeverLoadsSnapshot(Invariant):
    """An active leader's state machine is never replaced by a snapshot.

    For all snapshots that r installs: r does not lead.
    Judged: on each install. Excused: nothing.
    """

    source = "LeaderNeverLoadSnapshot (RaftEventSimulationTest)"
    explained_by = "installed"
    in_stories = False
    says = "{replica} installed snapshot ({offset}, {epoch}) while it was leading."

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """A leader that installs one."""
        if event.leading:
            self.violated(event.replica, event.end_offset, epoch=event.epoch)
