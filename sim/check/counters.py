"""Counters of a run: numbers of events, and costs.

`Counts` describes each of them. A counter adds up events of one class, or `RunCounters` counts it,
or the simulated cluster, the scenario or an invariant reports it under its name.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypedDict

from sim.check.checker import Checker
from sim.check.facts import EMPTY, ReplicaView
from sim.check.folding import unmeant
from sim.check.history import ClusterHistory
from sim.check.listening import handlers_of
from sim.files.attribute_docs import attribute_docs
from sim.protocol import events
from sim.protocol.log.record import BATCH_HEADER_BYTES, Control, size_of


class Counter(NamedTuple):
    """A number of events in a run, or a cost of it.

    Attributes:
        unit: Unit, such as `ms` or `bytes`.
        means: Meaning in a sentence.
        source: Module that counts it, or a KIP, rule or invariant that defines it.
    """

    unit: str
    means: str
    source: str


class Counts(TypedDict):
    """The counters of a run, in the order of published tables: a new one goes to the end.

    A field says its unit, its meaning and, where it is not counted here, its source.
    """

    records: int
    """records: Records appended by leaders, markers included."""
    committed: int
    """offsets: Offsets that were committed."""
    events: int
    """events: Events until the run was over; the digest also has those that bring it to rest.

    Source: sim.protocol.events
    """
    elections: int
    """elections: Leaders that were elected."""
    isr_changes: int
    """changes: Changes of the in-sync set."""
    truncations: int
    """truncations: Logs that were cut."""
    cleanings: int
    """passes: Cleaning passes."""
    records_removed: int
    """records: Records removed by cleaning passes, of all replicas."""
    tombstones_removed: int
    """records: Winning tombstones that cleaning passes removed, of all replicas."""
    tombstones_removed_early: int
    """records: Tombstones removed while a log that ended at or below them held a value they beat.

    Source: KIP-630; invariant tombstone-until-log-end
    """
    resurrections: int
    """times: Times that a live replica that was caught up showed a deleted key.

    Source: invariant no-transient-resurrection
    """
    resurrection_ms: int
    """ms: The longest time that a replica showed a deleted key.

    Source: invariant no-transient-resurrection
    """
    oversized_batches: int
    """batches: Batches that a cleaner rebuilt to more bytes than max.message.bytes."""
    stubs_kept: int
    """tombstones: Removed tombstones that cleaners remember when the run is over, of all replicas.

    Source: rule late_versions
    """
    sends_refused: int
    """batches: Batches that a leader refused: by a floor, their format, or a later instance of
    their producer.

    Source: KIP-87; KIP-98; rule late_versions
    """
    not_enough_replicas: int
    """batches: Batches refused since fewer than min.insync.replicas were in sync.

    Source: NOT_ENOUGH_REPLICAS
    """
    gaps_learned: int
    """answers: Answers by which a follower learned that nothing is left up to an offset.

    Source: fix gap_fetch
    """
    log_ends_persisted: int
    """writes: Ends of passes that were written down.

    Source: fix persisted_leo
    """
    snapshots_fetched: int
    """snapshots: Snapshots installed by followers.

    Source: KIP-630
    """
    faults: int
    """faults: Faults that were injected."""
    reads: int
    """records: Records that consumers were given."""
    bytes_appended: int
    """bytes: Bytes of batches that leaders appended."""
    bytes_replicated: int
    """bytes: Bytes of batches and snapshot chunks that followers copied."""
    bytes_down_converted: int
    """bytes: Bytes of stored batches that were rewritten for readers of an older format.

    Source: KIP-87
    """
    bytes_retained: int
    """bytes: Bytes in all logs when the run is over; a batch header per record or empty batch."""
    records_retained: int
    """records: Records in all logs when the run is over."""
    empty_batches: int
    """batches: Batches without records in all logs when the run is over."""
    tombstones_left: int
    """records: Tombstones in all logs when the run is over."""
    tombstone_wait_ms: int
    """ms: The longest time for which passes left a tombstone that was due."""
    marker_wait_ms: int
    """ms: The longest time for which passes left a marker that was due."""
    tombstones_waiting: int
    """records: Due tombstones that the last pass of each replica left, before the faults end."""
    markers_waiting: int
    """records: Due markers that the last pass of each replica left, before the faults end."""
    rebuilds: int
    """logs: Logs thrown away since they were too far behind.

    Source: rule lag_guard
    """
    bytes_rebuilt: int
    """bytes: Bytes fetched again for rebuilt logs.

    Source: rule lag_guard
    """
    keys: int
    """keys: Keys with a committed, decided record."""
    keys_won_earlier: int
    """keys: Keys whose winner is not the last of their committed records.

    Source: KIP-280
    """
    stale_reads_last: int
    """keys: Keys for which a reader of the leader's log ends on a record that loses.

    Source: rule consumer_order
    """
    simulator_events: int
    """events: Events that the simulator processed, such as timers and messages.

    Source: sim.simulate.cluster
    """
    messages: int
    """messages: Messages sent over the simulated network.

    Source: sim.simulate.cluster
    """
    messages_lost: int
    """messages: Messages that the simulated network lost.

    Source: sim.simulate.cluster
    """
    leader_changes: int
    """elections: Elections of another replica than the leader before."""
    log_ends_cleaned: int
    """passes: Passes that removed the last record of a log.

    Source: KIP-280
    """
    markers_removed: int
    """records: Transaction markers that passes removed.

    Source: KIP-534
    """
    unmeant_keys: int
    """keys: Keys that end on another record than their producers meant.

    Source: invariant key-ends-as-meant
    """
    sends: int
    """sends: Sends of the scenario's producers, retries not counted.

    Source: sim.simulate.scenario.derived
    """
    late_sends: int
    """sends: Sends that were not the newest of their key when sent.

    Source: sim.simulate.scenario.derived
    """
    outages: int
    """faults: Faults that keep a replica away or behind.

    Source: sim.simulate.scenario.derived
    """
    outages_beyond_retention: int
    """faults: Such faults that last longer than delete_retention_ms.

    Source: sim.simulate.scenario.derived
    """
    rolls: int
    """faults: Faults that make a replica start a new segment.

    Source: sim.simulate.scenario.derived
    """


@cache
def described_counters() -> dict[str, Counter]:
    """The counters by name, with unit, meaning and source, in the order of every table."""
    found = {}
    for name, text in attribute_docs(Counts).items():
        unit, _, said = text.partition(": ")
        means, _, source = said.partition(" Source: ")
        found[name] = Counter(unit, means, source or __name__)
    return found


COUNTERS: tuple[str, ...] = tuple(Counts.__annotations__)
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


def _one(_: object) -> int:
    return 1


_AMOUNTS: Final[dict[type, dict[str, Callable[[Any], int]]]] = {
    events.LeaderElected: {"elections": _one},
    events.IsrChanged: {"isr_changes": _one},
    events.Truncated: {"truncations": _one},
    events.Cleaned: {
        "cleanings": _one,
        "records_removed": lambda event: len(event.removals),
        "tombstones_removed": lambda event: _gone(event, "tombstone"),
        "markers_removed": lambda event: _gone(event, "marker"),
        "oversized_batches": lambda event: len(event.oversized),
        "log_ends_cleaned": lambda event: _takes(event, event.log_end_offset - 1),
    },
    events.AppendRefused: {
        "sends_refused": lambda event: event.reason != "not_enough_replicas",
        "not_enough_replicas": lambda event: event.reason == "not_enough_replicas",
    },
    events.GapLearned: {"gaps_learned": _one},
    events.SnapshotInstalled: {"snapshots_fetched": _one},
    events.FaultInjected: {"faults": _one},
    events.Consumed: {"reads": lambda event: len(event.records)},
    events.Appended: {"bytes_appended": lambda event: event.batch.size_bytes},
    events.Converted: {"bytes_down_converted": lambda event: event.size_bytes},
    events.ReplicaWiped: {"rebuilds": lambda event: event.reason == events.REBUILT},
}
"""Class of event -> counters that add up such events, with the amount that each event adds."""


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
        checker.listen(
            {kind: partial(self._add, [*added.items()]) for kind, added in _AMOUNTS.items()}
        )
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
    """Measures how long passes leave due tombstones and markers, until the faults of a run end.

    A tombstone is due `delete_retention_ms` after the first pass that met it in a log, a marker so
    long after the pass that found nothing left of its transaction (Delete horizons, KIP-534). A
    later pass that leaves a due record passes it over: the price of a rule that waits for other
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

    def on_replica_wiped(self, event: events.ReplicaWiped) -> None:
        """Forgets the records that went with the replica's disk."""
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
