"""What waits to be removed: how long cleaners pass over tombstones and markers that are due."""

from __future__ import annotations

from typing import NamedTuple

from sim.check.counter import Counter
from sim.check.history import ClusterHistory
from sim.check.replica_view import ReplicaView
from sim.log.record import Control
from sim.trace import Cleaned, ReplicaRemoved

DELAYS = {
    "tombstone_wait_ms": Counter(
        28, "ms", "The longest that cleaners passed over a due tombstone."
    ).compared_as("longest wait of a tombstone that is due, ms"),
    "marker_wait_ms": Counter(
        29, "ms", "The longest that cleaners passed over a due marker."
    ).compared_as("longest wait of a marker that is due, ms"),
    "tombstones_waiting": Counter(
        30, "records", "Due tombstones that the last passes before the faults end left."
    ).compared_as("tombstones that wait when the faults end"),
    "markers_waiting": Counter(
        31, "records", "Due markers that the last passes before the faults end left."
    ).compared_as("markers that wait when the faults end"),
}


class _Due(NamedTuple):
    """Something that a pass at or after `at_ms` finds due; `uid` says whether it is still it."""

    uid: int
    at_ms: int
    is_marker: bool


class RemovalDelays:
    """Listens to the passes of a run while there are faults, not to those that end it.

    A tombstone is due `delete_retention_ms` after the first pass that met it in a log, a marker so
    long after the pass that found nothing left of its transaction (Delete horizons, KIP-534). A
    pass that leaves it where it is passes it over: that is the price of a rule that waits for other
    replicas.
    """

    def __init__(self, history: ClusterHistory, *, until_ms: int) -> None:
        """Nothing is due; passes at or after `until_ms` are not looked at."""
        self._history = history
        self._until_ms = until_ms
        self._retention_ms = history.rules.topic.delete_retention_ms
        self._due: dict[str, dict[int, _Due]] = {}
        self._met: dict[str, int] = {}
        self._longest_ms = [0, 0]
        self._left: dict[str, list[bool]] = {}

    def counters(self) -> dict[str, int]:
        """The longest wait of a tombstone and a marker, in ms, and how many waited at the end."""
        left = [is_marker for passed_over in self._left.values() for is_marker in passed_over]
        found = (*self._longest_ms, left.count(False), left.count(True))
        return dict(zip(DELAYS, found, strict=True))

    def on_replica_removed(self, event: ReplicaRemoved) -> None:
        """What it had left is gone with it."""
        self._left.pop(event.replica, None)

    def on_cleaned(self, event: Cleaned) -> None:
        """Look at what the pass left, and at what it met."""
        name, now_ms = event.replica, self._history.at
        if now_ms >= self._until_ms:
            return
        view = self._history.replicas[name]
        before = self._due.get(name, {})
        due = {offset: one for offset, one in before.items() if view.uid_at(offset) == one.uid}
        passed_over = [one for one in due.values() if one.at_ms <= now_ms]
        for _, at_ms, is_marker in passed_over:
            self._longest_ms[is_marker] = max(self._longest_ms[is_marker], now_ms - at_ms)
        self._left[name] = [one.is_marker for one in passed_over]
        self._meet(event, view, due)
        self._due[name] = due

    def _meet(self, event: Cleaned, view: ReplicaView, due: dict[int, _Due]) -> None:
        """Note what this pass met for the first time and left."""
        history, at_ms = self._history, self._history.at + self._retention_ms
        start = min(self._met.get(view.name, 0), event.first_dirty_offset)
        for offset, uid in enumerate(view.slots[start : event.upper_bound], start):
            if uid > 0 and history.written[uid].tombstone and offset not in due:
                due[offset] = _Due(uid, at_ms, is_marker=False)
        self._met[view.name] = event.upper_bound
        for offset, _ in event.horizons:
            uid = view.uid_at(offset)
            if uid > 0 and history.written[uid].batch.control in (Control.COMMIT, Control.ABORT):
                due.setdefault(offset, _Due(uid, at_ms, is_marker=True))
