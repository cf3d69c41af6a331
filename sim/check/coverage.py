"""Situations a suite has to reach: where they never occur, a green result proves nothing."""

from __future__ import annotations

from collections.abc import Callable

from sim.check.durability import OUTSIDE, DurabilityContract
from sim.check.expiry import lost_keys
from sim.check.history import ClusterHistory
from sim.log.record import Batch, Control
from sim.trace import (
    AppendRefused,
    Cleaned,
    CleaningFailed,
    ConfigChanged,
    Converted,
    Event,
    FaultInjected,
    IsrChanged,
    LeaderElected,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    ReplicaWiped,
    SnapshotFetchDropped,
    SnapshotInstalled,
    Truncated,
    UncleanElection,
)

SITUATIONS: dict[str, str] = {
    "record-removed": "a cleaning pass removed a record",
    "earlier-record-won": "a record was superseded by one at a lower offset",
    "tail-removed": "the last batch below the log end was removed",
    "tail-emptied": "the last batch below the log end was kept without records",
    "tail-missing-at-fetch": "a leader recorded a position above what it sent",
    "tombstone-removed": "a tombstone was removed past its horizon",
    "tombstone-removed-while-follower-lagged": "a tombstone was removed that a replica had not got",
    "marker-removed": "a transaction marker was removed",
    "aborted-data-removed": "data of an aborted transaction was removed",
    "transaction-aborted": "an ABORT marker was appended",
    "leader-migrated": "another replica than the last leader was elected",
    "unclean-election": "a controller made a leader that need not have all that is committed",
    "migrated-after-tail-removed": "leadership moved while a leader's last batch was gone",
    "isr-shrunk": "a replica left the in-sync set",
    "isr-expanded": "a replica joined the in-sync set",
    "follower-truncated": "a follower cut a conflicting tail",
    "replica-rebuilt": "a replica lost its log and started over",
    "snapshot-installed": "a follower replaced its log by a snapshot",
    "snapshot-fetch-dropped": "a follower gave up a snapshot that it was fetching",
    "partial-round": "a cleaning pass ended below its bound, since the offset map was full",
    "cleaning-failed": "a cleaning pass could not go on, and there is none before a restart",
    "batch-oversized": "a delete horizon made a batch larger than max.message.bytes",
    "old-segments-deleted": "a replica deleted segments by retention.ms or retention.bytes",
    "live-key-expired": "retention deleted the latest record of a key, which no snapshot has",
    "follower-started-afresh": "a follower was below the leader's log start and began anew there",
    "unversioned-write-lost": "a record without version lost to an earlier one with a version",
    "append-refused": "a leader refused what a producer sent",
    "delete-value-dropped": "a replica stored a delete without the value it was sent with",
    "delete-value-withheld": "a consumer without the flag was given null for what a delete says",
    "settings-changed": "new settings reached a broker or a producer during the run",
    OUTSIDE: "a crash took a committed record from the last replica that had to keep it",
    "fault-injected": "the world did something to the cluster",
}
"""Every situation by name, with what it means."""


_ALONE: dict[type, str] = {
    Truncated: "follower-truncated",
    ReplicaWiped: "replica-rebuilt",
    SnapshotInstalled: "snapshot-installed",
    SnapshotFetchDropped: "snapshot-fetch-dropped",
    FaultInjected: "fault-injected",
    AppendRefused: "append-refused",
    CleaningFailed: "cleaning-failed",
    LogStartedAfresh: "follower-started-afresh",
    UncleanElection: "unclean-election",
}
"""Events that are a situation whatever is in them."""


class Coverage:
    """Listens to a run and notes which situations occurred.

    Attributes:
        handlers: Class of event -> what looks at it, after the history has taken it in.
        unusual_handlers: The same for events that are of interest only when they are unusual.
    """

    def __init__(self, history: ClusterHistory, contract: DurabilityContract) -> None:
        """Nothing reached yet."""
        self._history = history
        self._contract = contract
        self._names: set[str] = set()
        self._isr: tuple[str, ...] = ()
        self._leader: str | None = None
        self._tails: dict[str, tuple[Batch, Batch]] = {}
        self._tail_gone: dict[str, Batch] = {}
        self._starts: dict[str, int] = {}
        self.handlers: dict[type, Callable[..., None]] = {
            **dict.fromkeys(_ALONE, self._reached),
            Cleaned: self._cleaned,
            ConfigChanged: self._configured,
            LeaderElected: self._elected,
            IsrChanged: self._isr_changed,
            Converted: self._converted,
            LogStartMoved: self._expired,
        }
        self.unusual_handlers: dict[type, Callable[..., None]] = {PositionRecorded: self._position}

    @property
    def names(self) -> tuple[str, ...]:
        """The situations that occurred, in the order of `SITUATIONS`."""
        names = set(self._names)
        if self._contract.outside is not None:
            names.add(OUTSIDE)
        if Control.ABORT in self._history.controls:
            names.add("transaction-aborted")
        return tuple([name for name in SITUATIONS if name in names])

    def _configured(self, event: ConfigChanged) -> None:
        if not event.initial:
            self._names.add("settings-changed")

    def _reached(self, event: Event) -> None:
        self._names.add(_ALONE[event.__class__])

    def _expired(self, event: LogStartMoved) -> None:
        self._names.add("old-segments-deleted")
        since = self._starts.get(event.replica, 0)
        if lost_keys(self._history, self._history.replicas[event.replica], since):
            self._names.add("live-key-expired")
        self._starts[event.replica] = event.log_start_offset

    def _cleaned(self, event: Cleaned) -> None:
        names, removed = self._names, self._history.removed
        if event.partial:
            names.add("partial-round")
        if event.oversized:
            names.add("batch-oversized")
        if removed:
            names.add("record-removed")
        for removal in self._history.beaten_by_earlier:
            if removal.reason == "superseded":
                names.add("earlier-record-won")
                if self._is_bare(removal.uid):
                    names.add("unversioned-write-lost")
        if "tombstone" in removed:
            names.add("tombstone-removed")
            highest = removed["tombstone"][-1].offset
            if any(len(view.slots) <= highest for view in self._history.replicas.values()):
                names.add("tombstone-removed-while-follower-lagged")
        if "marker" in removed:
            names.add("marker-removed")
        if "aborted" in removed:
            names.add("aborted-data-removed")
        if removed or event.dropped:
            self._clean_tail(event)

    def _is_bare(self, uid: int) -> bool:
        """It lost to an earlier record, but has no version under a strategy that asks for one."""
        rules, record = self._history.rules, self._history.written[uid].record
        return rules.cleaner.strategy == "header" and all(
            name != rules.topic.strategy_header for name, _ in record.headers
        )

    def _clean_tail(self, event: Cleaned) -> None:
        """A batch says where it ends as long as a record of it is left, or it is kept empty."""
        came = self._history.replicas[event.replica].last_batch
        if came is None or came.last_offset != event.log_end_offset - 1:
            return
        removed_from = event.removals[-1].offset if event.removals else -1
        if removed_from < came.base_offset and not event.emptied and not event.dropped:
            return
        known = self._tails.get(event.replica)
        tail = known[1] if known is not None and known[0] is came else came
        gone = {removal.offset for removal in event.removals if removal.offset >= tail.base_offset}
        left = tuple([record for record in tail.records if record.offset not in gone])
        if tail.last_offset in event.emptied:
            self._names.add("tail-emptied")
        elif tail.last_offset in event.dropped or (tail.records and not left):
            self._names.add("tail-removed")
            self._tail_gone[event.replica] = came
        self._tails[event.replica] = (came, tail._replace(records=left))

    def _tail_is_gone(self, replica: str) -> bool:
        """Nothing was written to that log since its last batch was removed."""
        view = self._history.replicas.get(replica)
        last = None if view is None else view.last_batch
        return replica in self._tail_gone and (last is None or last is self._tail_gone[replica])

    def _converted(self, event: Converted) -> None:
        if event.values_lost:
            stored = event.reader in self._history.replicas
            self._names.add("delete-value-dropped" if stored else "delete-value-withheld")

    def _elected(self, event: LeaderElected) -> None:
        if self._leader is not None and self._leader != event.replica:
            self._names.add("leader-migrated")
            if self._tail_is_gone(self._leader):
                self._names.add("migrated-after-tail-removed")
        self._leader, self._isr = event.replica, event.isr

    def _isr_changed(self, event: IsrChanged) -> None:
        if set(self._isr) - set(event.isr):
            self._names.add("isr-shrunk")
        if set(event.isr) - set(self._isr):
            self._names.add("isr-expanded")
        self._isr = event.isr

    def _position(self, event: PositionRecorded) -> None:
        if event.position > self._history.replicas[event.follower].log_end_offset:
            self._names.add("tail-missing-at-fetch")
