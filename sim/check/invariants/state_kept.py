"""A log that holds state keeps the state of each key, whatever retention says."""

from __future__ import annotations

from sim.check.expiry import lost_keys
from sim.check.queries import HistoryQueries
from sim.check.registry import Invariant, Report
from sim.trace import LogStartedAfresh, LogStartMoved, ReplicaWiped


class StateKept(Invariant):
    """Retention takes no record that alone says what the state of a key is.

    With `log_holds: state`, or a coordinator, for a log of r whose old segments were deleted up to
    s, and keys k with winner(k) below s: winner(k) is in the newest snapshot of r, or is a
    tombstone of a key that the snapshot has not. Where records are deltas: r has a snapshot with an
    end at or above all of k that went.
    Judged: when the log start moves by retention. Excused: logs that hold events, whose old ones
    are meant to go; prefixes that go for a snapshot, see `prefix-deletion-safety`.
    """

    name = "state-kept"
    source = "KIP-630, Motivation: with the delete policy the log does not hold the latest state"
    explained_by = "prefix"
    in_stories = False

    def __init__(self, queries: HistoryQueries, report: Report) -> None:
        """Every log starts at 0."""
        super().__init__(queries, report)
        self._starts: dict[str, int] = {}

    def needs(self, event: type) -> bool:
        """Only a log that holds state can lose any."""
        rules = self.history.rules
        return rules.snapshots.log_holds == "state" or rules.coordinator.coordinator != "none"

    def on_log_start_moved(self, event: LogStartMoved) -> None:
        """Look for keys whose state was below the new start, and nowhere else."""
        view = self.history.replicas[event.replica]
        lost = lost_keys(self.history, view, self._starts.get(event.replica, 0))
        self._starts[event.replica] = event.log_start_offset
        if not lost:
            return
        winner, offset = self.history.winners.get(lost[0]), event.log_start_offset
        if winner is not None:
            offset = self.history.written[winner].offset
        more = f", and {len(lost) - 1} more keys" if len(lost) > 1 else ""
        had = "" if winner is None else f": {self.describe(winner)}"
        self.violated(
            event.replica,
            offset,
            lost[0],
            f"{event.replica} deleted below {event.log_start_offset} ({event.cause}) what alone "
            f"holds the state of {lost[0]}{had}{more}.",
        )

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """A new disk begins anew."""
        self._starts.pop(event.replica, None)

    def on_log_started_afresh(self, event: LogStartedAfresh) -> None:
        """What went was the leader's to keep."""
        self._starts[event.replica] = event.log_start_offset
