"""Counters of a run: numbers of events, and costs.

`COUNTER` describes each of them. It adds up events of one class, or `RunCounters` counts it, or it
is reported under its name by the simulated cluster, the scenario or an invariant.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from sim.check.checker import Checker
from sim.check.facts import EMPTY, ReplicaView
from sim.check.folding import unmeant
from sim.check.history import ClusterHistory
from sim.check.listening import handlers_of
from sim.protocol import events
from sim.protocol.log.record import BATCH_HEADER_BYTES, Control, size_of


def _one(_: object) -> int:
    return 1


class Counter(NamedTuple):
    """A number of events in a run, or a cost of it.

    Attributes:
        unit: Unit, such as `ms` or `bytes`.
        means: Meaning in a sentence.
        source: Module that counts it, or a KIP, rule or invariant that defines it.
        event: Class of the events that are added up; None where it is counted in another way.
        amount: Amount that one such event adds.
    """

    unit: str
    means: str
    source: str = "sim.check.counters"
    event: type | None = None
    amount: Callable[[Any], int] = _one

    def of(self, event: type, amount: Callable[[Any], int] = _one) -> Counter:
        """Returns the counter as one that adds up events of a class, each as 1 or its `amount`."""
        return self._replace(event=event, amount=amount)


_EXPOSURE, _WORLD = "sim.simulate.scenario.derived", "sim.simulate.cluster"
_RETURNS, _GUARD = "invariant no-transient-resurrection", "rule lag_guard"

COUNTER: dict[str, Counter] = {
    "records": Counter("records", "Appended by leaders, markers included."),
    "committed": Counter("offsets", "Offsets that were committed."),
    "events": Counter(
        "events", "Events of the core; in the digest are those at rest, too.", "sim.protocol.events"
    ),
    "elections": Counter("elections", "Leaders that were elected.").of(events.LeaderElected),
    "isr_changes": Counter("changes", "Changes of the in-sync set.").of(events.IsrChanged),
    "truncations": Counter("truncations", "Logs that were cut.").of(events.Truncated),
    "cleanings": Counter("passes", "Cleaning passes.").of(events.Cleaned),
    "records_removed": Counter("records", "Removed by cleaning passes, of all replicas.").of(
        events.Cleaned, lambda event: len(event.removals)
    ),
    "tombstones_removed": Counter("records", "Of those, tombstones whose time was over.").of(
        events.Cleaned, lambda event: _gone(event, "tombstone")
    ),
    "tombstones_removed_early": Counter(
        "records",
        "Tombstones that went while a log ended at or below them.",
        "KIP-630; invariant tombstone-until-log-end",
    ),
    "resurrections": Counter(
        "times", "Times that a live replica that was caught up showed a deleted key.", _RETURNS
    ),
    "resurrection_ms": Counter("ms", "The longest of those.", _RETURNS),
    "oversized_batches": Counter(
        "batches", "Rebuilt by a cleaner to more bytes than max.message.bytes."
    ).of(events.Cleaned, lambda event: len(event.oversized)),
    "stubs_kept": Counter(
        "tombstones",
        "Removed ones that all cleaners remember when the run is over.",
        "rule late_versions",
    ),
    "sends_refused": Counter(
        "batches",
        "Kept out by a leader: by a floor, their format, or a later instance of their producer.",
        "KIP-87; KIP-98; rule late_versions",
    ).of(events.AppendRefused, lambda event: event.reason != "not_enough_replicas"),
    "not_enough_replicas": Counter(
        "batches",
        "Refused since fewer than min.insync.replicas were in sync.",
        "NOT_ENOUGH_REPLICAS",
    ).of(events.AppendRefused, lambda event: event.reason == "not_enough_replicas"),
    "gaps_learned": Counter(
        "answers",
        "By which a follower learned that nothing is left up to an offset.",
        "fix gap_fetch",
    ).of(events.GapLearned),
    "log_ends_persisted": Counter(
        "writes", "Ends of passes that were written down.", "fix persisted_leo"
    ),
    "snapshots_fetched": Counter("snapshots", "Installed by followers.", "KIP-630").of(
        events.SnapshotInstalled
    ),
    "faults": Counter("faults", "That were injected.").of(events.FaultInjected),
    "reads": Counter("records", "That consumers were given.").of(
        events.Consumed, lambda event: len(event.records)
    ),
    "bytes_appended": Counter("bytes", "In batches that leaders appended.").of(
        events.Appended, lambda event: event.batch.size_bytes
    ),
    "bytes_replicated": Counter("bytes", "In batches and snapshot chunks that followers copied."),
    "bytes_down_converted": Counter(
        "bytes",
        "Of stored batches that were rewritten for an older format, without zero copy.",
        "KIP-87",
    ).of(events.Converted, lambda event: event.size_bytes),
    "bytes_retained": Counter(
        "bytes",
        "In all logs when the run is over; one batch header for each record or empty batch.",
    ),
    "records_retained": Counter("records", "In all logs when the run is over."),
    "empty_batches": Counter("batches", "Without records, in all logs when the run is over."),
    "tombstones_left": Counter("records", "In all logs when the run is over."),
    "tombstone_wait_ms": Counter("ms", "The longest that cleaners passed over a due tombstone."),
    "marker_wait_ms": Counter("ms", "The longest that cleaners passed over a due marker."),
    "tombstones_waiting": Counter(
        "records", "Due tombstones that the last passes before the faults end left."
    ),
    "markers_waiting": Counter(
        "records", "Due markers that the last passes before the faults end left."
    ),
    "rebuilds": Counter("logs", "Thrown away since they were too far behind.", _GUARD).of(
        events.ReplicaWiped, lambda event: event.reason == events.REBUILT
    ),
    "bytes_rebuilt": Counter("bytes", "Fetched again for those.", _GUARD),
    "keys": Counter("keys", "With a committed, decided record."),
    "keys_won_earlier": Counter(
        "keys", "Of those, whose winner is not the last of their committed records.", "KIP-280"
    ),
    "stale_reads_last": Counter(
        "keys",
        "For which a reader of the leader's log ends on a record that loses.",
        "rule consumer_order",
    ),
    "simulator_events": Counter("events", "Of the simulated world, not of the core.", _WORLD),
    "messages": Counter("messages", "Sent over the simulated network.", _WORLD),
    "messages_lost": Counter("messages", "Of those, the ones that were lost.", _WORLD),
    "leader_changes": Counter("elections", "Of another replica than the leader before."),
    "log_ends_cleaned": Counter("passes", "That removed the last record of a log.", "KIP-280").of(
        events.Cleaned, lambda event: _takes(event, event.log_end_offset - 1)
    ),
    "markers_removed": Counter("records", "Transaction markers that passes removed.", "KIP-534").of(
        events.Cleaned, lambda event: _gone(event, "marker")
    ),
    "unmeant_keys": Counter(
        "keys",
        "That end on another record than their producer meant.",
        "invariant key-ends-as-meant",
    ),
    "sends": Counter("sends", "Of the scenario's producers, retries not counted.", _EXPOSURE),
    "late_sends": Counter("sends", "Of those, not the newest of their key when sent.", _EXPOSURE),
    "outages": Counter("faults", "That keep a replica away or behind.", _EXPOSURE),
    "outages_beyond_retention": Counter(
        "faults", "Of those, longer than delete_retention_ms.", _EXPOSURE
    ),
    "rolls": Counter("faults", "That make a replica start a new segment.", _EXPOSURE),
}
"""Every counter by name. The order is that of published tables: a new one goes to the end."""

COUNTERS: tuple[str, ...] = tuple(COUNTER)
"""The names of the counters, in the order of every table. All are integers."""

COSTS: dict[str, str] = {
    "bytes_retained": "bytes retained",
    "bytes_replicated": "bytes replicated",
    "empty_batches": "empty batches",
    "gaps_learned": "gaps announced to followers",
    "log_ends_persisted": "log ends written down",
    "tombstones_removed_early": "tombstones removed that KIP-630's sentence keeps",
    "resurrections": "times that a replica showed a deleted key",
    "resurrection_ms": "longest time that a replica showed a deleted key, ms",
    "tombstone_wait_ms": "longest wait of a tombstone that is due, ms",
    "marker_wait_ms": "longest wait of a marker that is due, ms",
    "tombstones_waiting": "tombstones that wait when the faults end",
    "markers_waiting": "markers that wait when the faults end",
    "rebuilds": "logs thrown away",
    "bytes_rebuilt": "bytes fetched again for them",
    "snapshots_fetched": "snapshots installed",
    "stale_reads_last": "stale records a consumer reads last",
    "unmeant_keys": "keys that end on what their producer did not mean",
}
"""The counters of what rules cost, with their names in reports."""


_AMOUNTS: Final = {
    kind: [(name, one.amount) for name, one in COUNTER.items() if one.event is kind]
    for kind in [one.event for one in COUNTER.values() if one.event is not None]
}
"""The counters that add up events of a class, each with the amount of one event."""


class RunCounters:
    """Counts the events of a run; other counters are computed from the history at the end.

    Attributes:
        counts: The counts so far by name of the counter, in the order of every table.
    """

    def __init__(self, checker: Checker, *, faults_end_ms: int = 0) -> None:
        """Starts with all counters at 0.

        Tombstones and markers that wait are counted in passes before `faults_end_ms`.
        """
        self.counts: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self._history = checker.history
        self._persists_log_end = checker.history.rules.cleaner.fix_applied.persists_log_end
        self._leader: str | None = None
        self._stubs: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._refills: dict[str, int] = {}
        self._delays = RemovalDelays(checker.history, until_ms=faults_end_ms)
        checker.listen({kind: partial(self._add, added) for kind, added in _AMOUNTS.items()})
        checker.listen(handlers_of(self))
        checker.listen(handlers_of(self._delays))

    def values(self, reported: Mapping[str, int]) -> dict[str, int]:
        """All counters, as of now.

        `reported` has the counts of the simulated cluster, the invariants, the recorder of events
        and the scenario.
        """
        history, counts = self._history, self.counts
        counts |= _retained(history) | self._delays.counters()
        counts["records"] = len(history.written)
        counts["committed"] = len(history.committed)
        counts["stubs_kept"] = sum(self._stubs.values())
        counts["log_ends_persisted"] = counts["cleanings"] * self._persists_log_end
        counts["keys"] = len(history.winners)
        counts["keys_won_earlier"] = _keys_won_earlier(history)
        counts["stale_reads_last"] = _stale_keys(history)
        counts["unmeant_keys"] = sum(1 for _ in unmeant(history))
        return {name: reported.get(name, count) for name, count in counts.items()}

    def _add(self, amounts: list[tuple[str, Callable[[Any], int]]], event: events.Event) -> None:
        for name, amount in amounts:
            self.counts[name] += amount(event)

    def on_cleaned(self, event: events.Cleaned) -> None:
        """Notes how many stubs the cleaner of the replica remembers."""
        self._stubs[event.replica] = event.stubs

    def on_leader_elected(self, event: events.LeaderElected) -> None:
        """Counts a change of the leader."""
        self.counts["leader_changes"] += self._leader not in (None, event.replica)
        self._leader = event.replica

    def on_replica_removed(self, event: events.ReplicaRemoved) -> None:
        """Forgets the stubs of the replica's cleaner."""
        self._stubs.pop(event.replica, None)

    def on_replica_wiped(self, event: events.ReplicaWiped) -> None:
        """Forgets the stubs of the replica's cleaner; notes a log that is fetched again."""
        self._stubs.pop(event.replica, None)
        if event.reason == events.REBUILT:
            self._refills[event.replica] = self._ends.get(event.replica, 0)

    def on_snapshot_chunk_fetched(self, event: events.SnapshotChunkFetched) -> None:
        """Adds the bytes of a chunk."""
        self.counts["bytes_replicated"] += event.size_bytes

    def on_copied(self, event: events.Copied) -> None:
        """Adds the bytes of batches; a rebuilt log fetches those below its old end again."""
        replica, batches, log_end_offset = event.replica, event.batches, event.log_end_offset
        counts, refilled_below = self.counts, self._refills.get(replica, 0)
        for batch in batches:
            counts["bytes_replicated"] += batch.size_bytes
            if batch.base_offset < refilled_below:
                counts["bytes_rebuilt"] += batch.size_bytes
        self._ends[replica] = log_end_offset


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

    def on_replica_removed(self, event: events.ReplicaRemoved) -> None:
        """Forgets the records that the replica had left."""
        self._left.pop(event.replica, None)

    def on_cleaned(self, event: events.Cleaned) -> None:
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

    def _met(self, event: events.Cleaned, view: ReplicaView) -> list[int]:
        """The uids of records that this pass left, and may have met for the first time."""
        written = self._history.written
        passed = view.slots[event.first_dirty_offset : event.upper_bound]
        met = [uid for uid in passed if uid > 0 and written[uid].tombstone]
        for offset, _ in event.horizons:
            uid = view.uid_at(offset)
            if uid > 0 and written[uid].batch.control in (Control.COMMIT, Control.ABORT):
                met.append(uid)
        return met


def _gone(event: events.Cleaned, reason: str) -> int:
    """The number of records that a pass removed for a reason."""
    return [removal.reason for removal in event.removals].count(reason)


def _takes(event: events.Cleaned, offset: int) -> bool:
    """True if the last record that a pass removed was at an offset."""
    return bool(event.removals) and event.removals[-1].offset == offset


def _retained(history: ClusterHistory) -> dict[str, int]:
    """The counters of all logs' content at the end."""
    slots: Multiset[int] = Multiset()
    for view in history.replicas.values():
        slots.update(view.slots)
    size, records, tombstones = slots[EMPTY] * BATCH_HEADER_BYTES, 0, 0
    for slot, logs in slots.items():
        if slot > 0:
            known = history.written[slot]
            records += logs
            size += logs * size_of((known.record,), base_offset=known.offset)
            tombstones += logs * known.tombstone
    return {
        "bytes_retained": size,
        "records_retained": records,
        "empty_batches": slots[EMPTY],
        "tombstones_left": tombstones,
    }


def _keys_won_earlier(history: ClusterHistory) -> int:
    """Keys whose winner would be another record under the offset strategy."""
    written, found = history.written, 0
    for key, winner in history.winners.items():
        uids = history.uids_of_key[key]
        later = [uid for uid in uids if written[uid].offset > written[winner].offset]
        found += any(map(history.is_committed, later))
    return found


def _stale_keys(history: ClusterHistory) -> int:
    """Keys for which a reader of the leader's log does not end on the winner.

    Only committed data counts. A reader that takes the last record it sees of each key, as every
    consumer of an offset-compacted topic does, ends with a wrong value for these; a reader that
    applies the strategy (`consumer_order`) does so only where the winner is gone.
    """
    if history.leader is None:
        return 0
    view = history.replicas[history.leader]
    last: dict[str, int] = {}
    by_strategy = history.rules.reading.consumer_order == "strategy"
    for uid in view.slots[: view.high_watermark]:
        key = history.key_of(uid)
        if key is not None and uid not in history.aborted:
            known = last.get(key) if by_strategy else None
            if known is None or history.beats(uid, known):
                last[key] = uid
    return sum(history.beats(uid, last[key]) for key, uid in history.winners.items() if key in last)
