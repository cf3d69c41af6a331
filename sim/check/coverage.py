"""Situations that a suite has to reach: where they never occur, a green result proves nothing.

Events that only bring a finished run to rest do not count.
"""

from __future__ import annotations

from typing import Final

from sim.check.checker import OUTSIDE, Checker
from sim.check.counters import RunCounters
from sim.check.facts import ReplicaView
from sim.check.folding import lost_keys
from sim.check.listening import handlers_of
from sim.protocol import events
from sim.protocol.log.record import Batch, Control

SITUATIONS: dict[str, str] = {
    "record-removed": "a cleaning pass removed a record",
    "earlier-record-won": "a record was superseded by one at a lower offset",
    "tail-removed": "the last batch below the log end was removed",
    "tail-emptied": "the last batch below the log end was kept without records",
    "tail-missing-at-fetch": "a leader recorded a position above the follower's log end",
    "tombstone-removed": "a winning tombstone was removed",
    "tombstone-removed-while-follower-lagged": "a tombstone was removed that a replica had not got",
    "marker-removed": "a transaction marker was removed",
    "aborted-data-removed": "data of an aborted transaction was removed",
    "transaction-aborted": "an ABORT marker was appended",
    "leader-migrated": "another replica than the last leader was elected",
    "unclean-election": "a controller made a leader that need not have all that is committed",
    "migrated-after-tail-removed": "leadership moved after the leader's last batch was removed",
    "isr-shrunk": "a replica left the in-sync set",
    "isr-expanded": "a replica joined the in-sync set",
    "follower-truncated": "a follower cut a conflicting tail",
    "replica-rebuilt": "a replica lost its log and started over",
    "snapshot-installed": "a follower replaced its log by a snapshot",
    "snapshot-fetch-dropped": "a follower gave up a snapshot that it was fetching",
    "partial-round": "a cleaning pass ended below its bound, since the offset map was full",
    "cleaning-failed": "a cleaning pass failed; its log is not cleaned before a restart",
    "batch-oversized": "a delete horizon made a batch larger than max.message.bytes",
    "old-segments-deleted": "a replica deleted segments by retention.ms or retention.bytes",
    "live-key-expired": "retention deleted the latest record of a key, which no snapshot has",
    "follower-started-afresh": "a follower was below the leader's log start and restarted there",
    "unversioned-write-lost": "a record without version lost to an earlier one with a version",
    "fetching-failed": "a follower could not append what it fetched, and fetches no more",
    "append-refused": "a leader refused a batch, but not for its timestamp or sequence number",
    "delete-value-dropped": "a replica stored a delete without the value it was sent with",
    "delete-value-withheld": "a consumer that knows no flag was given a delete without its value",
    "settings-changed": "new settings reached a broker or a producer during the run",
    OUTSIDE: "a crash took a committed record from the last replica that had to keep it",
    "fault-injected": "a fault hit the cluster",
}
"""Every situation by name, with its meaning."""

_COUNTED: Final = {
    "record-removed": "records_removed",
    "tombstone-removed": "tombstones_removed",
    "marker-removed": "markers_removed",
    "leader-migrated": "leader_changes",
    "follower-truncated": "truncations",
    "snapshot-installed": "snapshots_fetched",
    "batch-oversized": "oversized_batches",
    "fault-injected": "faults",
}
"""Situations that occurred if a counter is above 0, with the counter."""

_SHOWN_BY: Final[dict[type, str]] = {
    events.UncleanElection: "unclean-election",
    events.ReplicaWiped: "replica-rebuilt",
    events.SnapshotFetchDropped: "snapshot-fetch-dropped",
    events.CleaningFailed: "cleaning-failed",
    events.FetchingFailed: "fetching-failed",
    events.LogStartMoved: "old-segments-deleted",
    events.LogStartedAfresh: "follower-started-afresh",
    events.AppendRefused: "append-refused",
}
"""The situations that every event of a class shows."""


class Coverage:
    """Listens to a run and notes the situations that occur."""

    def __init__(self, checker: Checker, counters: RunCounters) -> None:
        """Starts with no situation reached."""
        self._history = checker.history
        self._contract = checker.contract
        self._counters = counters
        self._names: set[str] = set()
        self._isr: tuple[str, ...] = ()
        self._leader: str | None = None
        self._tails_gone: dict[str, Batch] = {}
        checker.listen(dict.fromkeys(_SHOWN_BY, self._happened))
        checker.listen(handlers_of(self))

    @property
    def names(self) -> tuple[str, ...]:
        """The situations that occurred, in the order of `SITUATIONS`."""
        names = {name for name, counter in _COUNTED.items() if self._counters.counts[counter]}
        if self._contract.outside is not None:
            names.add(OUTSIDE)
        if Control.ABORT in self._history.controls:
            names.add("transaction-aborted")
        return tuple([name for name in SITUATIONS if name in names or name in self._names])

    def _happened(self, event: events.Event) -> None:
        self._names.add(_SHOWN_BY[type(event)])

    def on_position_recorded(self, event: events.PositionRecorded) -> None:
        """Notes a position above the end of the follower's log."""
        if event.position > len(self._history.replicas[event.follower].slots):
            self._names.add("tail-missing-at-fetch")

    def on_config_changed(self, event: events.ConfigChanged) -> None:
        """Notes new settings; the first ones that a broker or producer gets are not new."""
        if not event.initial:
            self._names.add("settings-changed")

    def on_log_start_moved(self, event: events.LogStartMoved) -> None:
        """Notes whether deleted segments alone held the value of a key."""
        history = self._history
        if lost_keys(history, history.replicas[event.replica], history.previous_log_start):
            self._names.add("live-key-expired")

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Notes what a pass removed, and for which reasons."""
        history, names = self._history, self._names
        if event.partial:
            names.add("partial-round")
        for removal in event.removals:
            if removal.reason == "aborted":
                names.add("aborted-data-removed")
            elif removal.reason == "tombstone":
                if any(len(v.slots) <= removal.offset for v in history.replicas.values()):
                    names.add("tombstone-removed-while-follower-lagged")
            elif removal.winner_offset is not None and removal.winner_offset < removal.offset:
                names.add("earlier-record-won")
                if self._is_bare(removal.uid):
                    names.add("unversioned-write-lost")
        if event.removals or event.dropped:
            self._look_at_tail(event, history.replicas[event.replica])

    def _is_bare(self, uid: int) -> bool:
        """True for a record without version under a strategy that asks for one."""
        rules, record = self._history.rules, self._history.written[uid].record
        return rules.cleaner.strategy == "header" and all(
            name != rules.topic.strategy_header for name, _ in record.headers
        )

    def _look_at_tail(self, event: events.Cleaned, view: ReplicaView) -> None:
        """Notes whether a pass removed or emptied the last batch below the log end."""
        tail = view.last_batch
        if tail is None or tail.last_offset != event.log_end_offset - 1:
            return
        if tail.last_offset in event.emptied:
            self._names.add("tail-emptied")
        went = max([one.offset for one in event.removals[-1:]] + list(event.dropped))
        if went >= tail.base_offset and not any(view.slots[tail.base_offset :]):
            self._names.add("tail-removed")
            self._tails_gone[event.replica] = tail

    def on_converted(self, event: events.Converted) -> None:
        """Notes a delete that was stored or handed on without its value."""
        if event.values_lost:
            stored = event.reader in self._history.replicas
            self._names.add("delete-value-dropped" if stored else "delete-value-withheld")

    def on_leader_elected(self, event: events.LeaderElected) -> None:
        """Notes a new leader, and whether the log of the former one lacked its last batch."""
        before, tail = self._leader, self._tails_gone.get(self._leader or "")
        if tail is not None and before != event.replica:
            view = self._history.replicas.get(before or "")
            if view is None or view.last_batch in (None, tail):
                self._names.add("migrated-after-tail-removed")
        self._leader, self._isr = event.replica, event.isr

    def on_isr_changed(self, event: events.IsrChanged) -> None:
        """Notes whether replicas joined or left the in-sync set."""
        if set(self._isr) - set(event.isr):
            self._names.add("isr-shrunk")
        if set(event.isr) - set(self._isr):
            self._names.add("isr-expanded")
        self._isr = event.isr
