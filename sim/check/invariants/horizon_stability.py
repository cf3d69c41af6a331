"""Delete horizons are set once (KIP-534)."""

from __future__ import annotations

from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.trace import (
    Cleaned,
    Copied,
    LogEmptied,
    LogStartedAfresh,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)


class HorizonStability(Invariant):
    """A delete horizon, once set, does not change as long as the log has the batch.

    For all passes of r that give the batch at base offset b a horizon h: no earlier pass gave it
    another, nor was it copied with another.
    Judged: after each pass. Excused: what was cut or lost and copied again is another batch.
    Not judged: that a horizon is at least one retention after the pass that took the last older
    value on this replica. Kafka promises less: a follower inherits horizons with the batches that
    it copies, and a round whose map was full may stamp a tombstone before it takes the value.
    """

    name = "horizon-stability"
    source = "KIP-534"
    explained_by = "horizon_changed"
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
        known = self._horizons.setdefault(event.replica, {})
        for base, horizon in event.horizons:
            first = known.setdefault(base, horizon)
            if first != horizon:
                self.violated(
                    event.replica,
                    base,
                    None,
                    f"{event.replica} moved the delete horizon of the batch at {base} from "
                    f"{first} ms to {horizon} ms.",
                )

    def on_copied(self, event: Copied) -> None:
        """A batch is copied with the horizon that it has (KIP-534)."""
        for batch in event.batches:
            if batch.delete_horizon_ms is not None:
                known = self._horizons.setdefault(event.replica, {})
                known[batch.base_offset] = batch.delete_horizon_ms

    def on_truncated(self, event: Truncated) -> None:
        """What comes to the cut offsets is another batch, or another copy."""
        self._forget(event.replica, event.target)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """The same for a lost tail."""
        self._forget(event.replica, event.log_end_offset)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """The same for a new disk."""
        self._forget(event.replica, 0)

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """The same for a log end that comes from the last record (`leo_source: last_record`)."""
        self._forget(event.replica, event.log_end_offset)

    def on_replica_added(self, event: ReplicaAdded) -> None:
        """The same for a new replica of an old name."""
        self._forget(event.replica, 0)

    def on_log_emptied(self, event: LogEmptied) -> None:
        """The same for a log that makes room for a snapshot."""
        self._forget(event.replica, 0)

    def on_log_started_afresh(self, event: LogStartedAfresh) -> None:
        """The same for a log that starts anew."""
        self._forget(event.replica, 0)

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """The same for a log that was replaced."""
        self._forget(event.replica, 0)

    def _forget(self, replica: str, end: int) -> None:
        known = self._horizons.get(replica)
        if known:
            self._horizons[replica] = {base: at for base, at in known.items() if base < end}
