"""Who leads: one per epoch, with everything that is committed, and append-only."""

from __future__ import annotations

from sim.check.ledger import Ledger
from sim.check.registry import Invariant, Reporter, invariant
from sim.trace import (
    LeaderElected,
    SnapshotInstalled,
    Truncated,
)


@invariant
class ElectionSafety(Invariant):
    """At most one replica ever leads an epoch."""

    name = "election-safety"
    source = "Raft 5.2; KIP-595"

    def __init__(self, ledger: Ledger, report: Reporter) -> None:
        """Nobody has led yet."""
        super().__init__(ledger, report)
        self._leaders: dict[int, str] = {}

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare with who led the epoch before."""
        first = self._leaders.setdefault(event.epoch, event.replica)
        if first != event.replica:
            self.violated(
                event.replica,
                event.epoch_start_offset,
                None,
                f"{event.replica} was elected in epoch {event.epoch}, which {first} led already.",
            )


@invariant
class LeaderCompleteness(Invariant):
    """A new leader has every committed offset: the record, an empty slot or a justified hole."""

    name = "leader-completeness"
    source = "Raft 5.4; StrongIsr (Kip320.tla)"

    def on_leader_elected(self, event: LeaderElected) -> None:
        """Compare the new leader's disk with the ledger."""
        ledger = self.ledger
        disk = ledger.disks[event.replica]
        committed = len(ledger.committed)
        missing = ledger.first_missing(disk, committed, twice_counts=True)
        if missing is not None:
            uid = ledger.committed[missing]
            self.violated(
                event.replica,
                missing,
                None,
                f"{event.replica} was elected in epoch {event.epoch} with log end offset "
                f"{disk.leo} but lacks committed offset {missing} ({ledger.describe(uid)}); "
                f"{committed} offsets are committed.",
            )


@invariant
class LeaderAppendOnly(Invariant):
    """A leader never truncates or replaces its log while it leads."""

    name = "leader-append-only"
    source = "Raft 5.3"
    in_stories = False

    def on_truncated(self, event: Truncated) -> None:
        """A leader that cuts its own log."""
        if event.leading:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated from {event.log_end_offset} to {event.target} while "
                "it was leading.",
            )


@invariant
class LeaderNeverLoadsSnapshot(Invariant):
    """An active leader's state machine is never replaced by a snapshot."""

    name = "leader-never-loads-snapshot"
    source = "LeaderNeverLoadSnapshot (RaftEventSimulationTest)"
    in_stories = False

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """A leader that installs one."""
        if event.leading:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} installed snapshot ({event.end_offset}, {event.epoch}) while it "
                "was leading.",
            )
