"""Delays of removal: for how long cleaners pass over tombstones and markers that are due."""

from __future__ import annotations

from sim.check.facts import ReplicaView
from sim.check.history import ClusterHistory
from sim.protocol.events import Cleaned, ReplicaRemoved
from sim.protocol.log.record import Control


class RemovalDelays:
    """Listens to the passes of a run until its faults end.

    A tombstone is due `delete_retention_ms` after the first pass that met it in a log, a marker so
    long after the pass that found nothing left of its transaction (Delete horizons, KIP-534). A
    pass that leaves it in the log passes it over: that is the price of a rule that waits for other
    replicas.
    """

    def __init__(self, history: ClusterHistory, *, until_ms: int) -> None:
        """Starts with no record due; passes at or after `until_ms` are ignored."""
        self._history = history
        self._until_ms = until_ms
        self._due_ms: dict[str, dict[int, int]] = {}
        self._longest_ms = {"tombstone": 0, "marker": 0}
        self._left: dict[str, list[str]] = {}

    def counters(self) -> dict[str, int]:
        """The longest wait of a tombstone and a marker, in ms, and how many waited at the end."""
        left = [kind for passed_over in self._left.values() for kind in passed_over]
        waits = {f"{kind}_wait_ms": longest for kind, longest in self._longest_ms.items()}
        return waits | {f"{kind}s_waiting": left.count(kind) for kind in self._longest_ms}

    def on_replica_removed(self, event: ReplicaRemoved) -> None:
        """Forgets the records that the replica had left."""
        self._left.pop(event.replica, None)

    def on_cleaned(self, event: Cleaned) -> None:
        """Notes the due records that the pass left, and the records that it met."""
        name, now_ms = event.replica, self._history.at
        if now_ms >= self._until_ms:
            return
        view = self._history.replicas[name]
        retention_ms = self._history.rules.topic.delete_retention_ms
        before = self._due_ms.get(name, {})
        due_ms = {uid: at_ms for uid, at_ms in before.items() if self._history.holds(view, uid)}
        left = self._left[name] = []
        for uid, at_ms in due_ms.items():
            if at_ms <= now_ms:
                kind = "tombstone" if self._history.written[uid].tombstone else "marker"
                left.append(kind)
                self._longest_ms[kind] = max(self._longest_ms[kind], now_ms - at_ms)
        self._due_ms[name] = dict.fromkeys(self._met(event, view), now_ms + retention_ms) | due_ms

    def _met(self, event: Cleaned, view: ReplicaView) -> list[int]:
        """The uids of records that this pass left, and may have met for the first time."""
        written = self._history.written
        passed = view.slots[event.first_dirty_offset : event.upper_bound]
        met = [uid for uid in passed if uid > 0 and written[uid].tombstone]
        for offset, _ in event.horizons:
            uid = view.uid_at(offset)
            if uid > 0 and written[uid].batch.control in (Control.COMMIT, Control.ABORT):
                met.append(uid)
        return met
