"""A log that holds state keeps the state of each key, whatever retention says."""

from sim.check.expiry import lost_keys
from sim.check.invariant import Invariant
from sim.protocol.events import LogStartedAfresh, LogStartMoved, ReplicaWiped


class StateKept(Invariant):
    """Retention takes no record that alone says what the state of a key is.

    With `log_holds: state`, for a log of r whose old segments were deleted up to s, and keys k with
    winner(k) below s: winner(k) is in the newest snapshot of r, or is a tombstone of a key that the
    snapshot has not. Where records are deltas: r has a snapshot with an end at or above all of k
    that went.
    Judged: when the log start moves by retention. Excused: logs that hold events, whose old ones
    are meant to go; prefixes that go for a snapshot, see `prefix-deletion-safety`.
    """

    source = "KIP-630, Motivation: with the delete policy the log does not hold the latest state"
    explained_by = "prefix"
    in_stories = False
    says = "{replica} deleted below {log_start} ({cause}) what alone holds the state of {key}"

    def begin(self) -> None:
        """Every log starts at 0."""
        self._starts: dict[str, int] = {}

    def on_log_start_moved(self, event: LogStartMoved) -> None:
        """Look for keys whose state was below the new start, and nowhere else."""
        if self.history.rules.snapshots.log_holds != "state":
            return
        start, view = event.log_start_offset, self.replicas[event.replica]
        lost = lost_keys(self.history, view, self._starts.get(event.replica, 0))
        self._starts[event.replica] = start
        for key in lost[:1]:
            winner, more = self.history.winners.get(key, 0), len(lost) - 1
            says = self.says + (": {winner}" if winner else "")
            says += ", and {more_keys} more keys." if more else "."
            at = self.written[winner].offset if winner else start
            told = {"log_start": start, "winner": winner, "more_keys": more}
            self.violated(event.replica, at, key, says, cause=event.cause, **told)

    def on_replica_wiped(self, event: ReplicaWiped) -> None:
        """A new disk begins anew."""
        self._starts.pop(event.replica, None)

    def on_log_started_afresh(self, event: LogStartedAfresh) -> None:
        """What went was the leader's to keep."""
        self._starts[event.replica] = event.log_start_offset
