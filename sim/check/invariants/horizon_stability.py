"""Delete horizons are set once (KIP-534)."""

from __future__ import annotations

from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.check.replica_view import HOLE
from sim.trace import (
    Cleaned,
    ReplicaCrashed,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)


class HorizonStability(Invariant):
    """A delete horizon, once set, does not change as long as the log has the batch."""

    name = "horizon-stability"
    source = "KIP-534"
    in_stories = False
    unusual_only = True

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """No horizons yet."""
        super().__init__(queries, report)
        self._horizons: dict[str, dict[int, int]] = {}

    def on_cleaned(self, event: Cleaned) -> None:
        """Compare with the horizon the same batch had."""
        if not event.horizons:
            return
        view = self.history.replicas[event.replica]
        known = self._horizons.setdefault(event.replica, {})
        for base, horizon in event.horizons:
            first = known.setdefault(base, horizon)
            if first != horizon and view.uid_at(base) != HOLE:
                self.violated(
                    event.replica,
                    base,
                    None,
                    f"{event.replica} moved the delete horizon of the batch at {base} from "
                    f"{first} ms to {horizon} ms.",
                )

    def on_truncated(self, event: Truncated) -> None:
        """What comes to the cut offsets is another batch, or another copy."""
        self._forget(event.replica, event.target)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """The same for a lost tail."""
        self._forget(event.replica, event.log_end_offset)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """The same for a new disk."""
        self._forget(event.replica, 0)

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """The same for a log that was replaced."""
        self._forget(event.replica, 0)

    def _forget(self, replica: str, end: int) -> None:
        known = self._horizons.get(replica)
        if known:
            self._horizons[replica] = {base: at for base, at in known.items() if base < end}
