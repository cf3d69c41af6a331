"""Counters of a run: what happened how often, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from sim.check.history import ClusterHistory
from sim.check.intent import unmeant_keys
from sim.check.queries import HistoryQueries
from sim.check.replica_view import EMPTY
from sim.log.record import BATCH_HEADER_BYTES, size_of
from sim.trace import (
    REBUILT,
    Appended,
    AppendRefused,
    Cleaned,
    Consumed,
    Converted,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Copied,
    Event,
    FaultInjected,
    GapLearned,
    IsrChanged,
    LeaderElected,
    ReplicaRemoved,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotInstalled,
    Truncated,
)

COUNTERS: tuple[str, ...] = (
    "records",
    "committed",
    "events",
    "elections",
    "isr_changes",
    "truncations",
    "cleanings",
    "records_removed",
    "tombstones_removed",
    "tombstones_removed_early",
    "resurrections",
    "resurrection_ms",
    "oversized_batches",
    "stubs_kept",
    "sends_refused",
    "not_enough_replicas",
    "gaps_learned",
    "log_ends_persisted",
    "snapshots_fetched",
    "faults",
    "reads",
    "bytes_appended",
    "bytes_replicated",
    "bytes_down_converted",
    "bytes_retained",
    "records_retained",
    "empty_batches",
    "tombstones_left",
    "tombstone_wait_ms",
    "marker_wait_ms",
    "tombstones_waiting",
    "markers_waiting",
    "rebuilds",
    "bytes_rebuilt",
    "keys",
    "keys_won_earlier",
    "stale_reads_last",
    "simulator_events",
    "messages",
    "messages_lost",
    "leader_changes",
    "log_ends_cleaned",
    "markers_removed",
    "unmeant_keys",
    "sends",
    "late_sends",
    "outages",
    "outages_beyond_retention",
    "rolls",
    "checks",
    "check_wait_ms",
    "sends_withheld",
    "logs_loaded",
    "coordinator_load_ms",
    "asks_refused",
)
"""Names of the counters, in the order of every table. All are integers.

records: appended by leaders; committed: offsets committed; events: events of the core;
tombstones_removed_early: against the letter of KIP-630, see `tombstone-until-log-end`;
resurrections: times that a live replica that was caught up showed a deleted key, resurrection_ms:
the longest, see `no-transient-resurrection`;
oversized_batches: rebuilt by a cleaner to more bytes than `max.message.bytes`; stubs_kept: removed
tombstones that all cleaners remember at the end, by `late_versions`; sends_refused: batches that a
leader kept out, by a floor, by their format (KIP-87), or for a later instance of their producer;
not_enough_replicas: times a leader refused a batch for `acks: all`, since fewer than
`min.insync.replicas` were in sync;
gaps_learned: answers by which a follower learned that nothing is left up to an offset (fix
gap_fetch), log_ends_persisted: ends of a pass that were written down beside the records (fix
persisted_leo): a number each;
bytes_replicated: batches copied and snapshot chunks; bytes_down_converted: of stored batches that
were rewritten for consumers and followers of an older format, without zero copy (KIP-87);
bytes_retained, records_retained, empty_batches, tombstones_left: in all logs at the end, in the
model's bytes (one batch header for each record or empty batch);
tombstone_wait_ms, marker_wait_ms: the longest that cleaners passed over one that was due,
tombstones_waiting, markers_waiting: due, and left by the last pass before the faults end;
rebuilds: logs that were thrown away by `lag_guard`, bytes_rebuilt: fetched again after that;
keys: with a committed, decided record; keys_won_earlier: of those,
the ones whose winner is not the last of their committed records; stale_reads_last: keys for which
a reader of the leader's whole log ends on a record that the committed winner beats, by
`consumer_order`; checks: fetches of applications that read before they send, check_wait_ms: the
longest that a send has waited for that, sends_withheld: left out for what was found
(`check_before_send`); logs_loaded: logs that a new coordinator has read to the end,
coordinator_load_ms: the longest that took, asks_refused: answers COORDINATOR_LOAD_IN_PROGRESS to
who asked for a key; simulator_events, messages, messages_lost: of the world, not of the core.
"""


COSTS: dict[str, str] = {
    "bytes_retained": "bytes retained",
    "bytes_replicated": "bytes replicated",
    "empty_batches": "empty batches",
    "gaps_learned": "gaps told to followers",
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
    "checks": "fetches to check before a send",
    "check_wait_ms": "longest wait of a send for its check, ms",
    "sends_withheld": "sends left out after a check",
    "coordinator_load_ms": "longest load of a coordinator, ms",
    "unmeant_keys": "keys that end on what their producer did not mean",
}
"""The counters that say what rules cost, with what reports call them."""

_COUNTED = (
    Cleaned,
    FaultInjected,
    GapLearned,
    IsrChanged,
    LeaderElected,
    SnapshotInstalled,
    Truncated,
)
"""Events of which a counter tells how many there were."""


class RunCounters:
    """Counts what happens; the rest is read off the history at the end.

    Attributes:
        handlers: Class of event -> what counts it.
    """

    def __init__(self, *, persists_log_end: bool = False) -> None:
        """All zero. `persists_log_end` is what the fix does with the end of each pass."""
        self._persists_log_end = persists_log_end
        self._kinds: dict[type, int] = dict.fromkeys(_COUNTED, 0)
        self._records = 0
        self._removed = 0
        self._tombstones = 0
        self._markers = 0
        self._log_ends = 0
        self._leader: str | None = None
        self._leader_changes = 0
        self._oversized = 0
        self._refused = 0
        self._stubs: dict[str, int] = {}
        self._reads = 0
        self._bytes_appended = 0
        self._bytes_replicated = 0
        self._bytes_converted = 0
        self._rebuilds = 0
        self._bytes_rebuilt = 0
        self._loads: list[int] = []
        self._asks_refused = 0
        self._ends: dict[str, int] = {}
        self._refills: dict[str, int] = {}
        self.handlers: dict[type, Callable[..., None]] = {
            **dict.fromkeys(_COUNTED, self._happened),
            Appended: self._appended,
            AppendRefused: self._append_refused,
            Cleaned: self._cleaned,
            Consumed: self._consumed,
            Converted: self._converted,
            CoordinatorAnswered: self._coordinator_answered,
            CoordinatorLoaded: self._coordinator_loaded,
            Copied: self._copied,
            LeaderElected: self._elected,
            ReplicaRemoved: self._replica_removed,
            ReplicaWiped: self._replica_wiped,
            SnapshotChunkFetched: self._chunk_fetched,
        }

    def _happened(self, event: Event) -> None:
        self._kinds[type(event)] += 1

    def _appended(self, event: Appended) -> None:
        batch = event.batch
        self._records += len(batch.records)
        self._bytes_appended += batch.size_bytes

    def _append_refused(self, event: AppendRefused) -> None:
        self._refused += event.reason != "not_enough_replicas"

    def _cleaned(self, event: Cleaned) -> None:
        self._happened(event)
        if event.removals:
            self._removed += len(event.removals)
            reasons = [reason for _, _, _, reason, _ in event.removals]
            self._tombstones += reasons.count("tombstone")
            self._markers += reasons.count("marker")
            self._log_ends += event.removals[-1].offset == event.log_end_offset - 1
        self._oversized += len(event.oversized)
        self._stubs[event.replica] = event.stubs

    def _elected(self, event: LeaderElected) -> None:
        self._happened(event)
        self._leader_changes += self._leader not in (None, event.replica)
        self._leader = event.replica

    def _consumed(self, event: Consumed) -> None:
        self._reads += len(event.records)

    def _converted(self, event: Converted) -> None:
        self._bytes_converted += event.size_bytes

    def _coordinator_loaded(self, event: CoordinatorLoaded) -> None:
        self._loads.append(event.took_ms)

    def _coordinator_answered(self, event: CoordinatorAnswered) -> None:
        self._asks_refused += event.error != "NONE"

    def _replica_removed(self, event: ReplicaRemoved) -> None:
        self._stubs.pop(event.replica, None)

    def _replica_wiped(self, event: ReplicaWiped) -> None:
        self._stubs.pop(event.replica, None)
        if event.reason == REBUILT:
            self._rebuilds += 1
            self._refills[event.replica] = self._ends.get(event.replica, 0)

    def _chunk_fetched(self, event: SnapshotChunkFetched) -> None:
        self._bytes_replicated += event.size_bytes

    def _copied(self, event: Copied) -> None:
        replica, _, _, batches, log_end_offset = event
        for batch in batches:
            self._bytes_replicated += batch.size_bytes
        if self._refills:
            refilled_to = self._refills.get(replica, 0)
            for batch in batches:
                if batch.base_offset < refilled_to:
                    self._bytes_rebuilt += batch.size_bytes
        self._ends[replica] = log_end_offset

    def values(self, queries: HistoryQueries, cluster: Mapping[str, int]) -> dict[str, int]:
        """All counters, given how the run ended.

        `cluster` has those that others count: the simulated cluster, the invariants, who took the
        events, and what the scenario exposes it to.
        """
        kinds, history = self._kinds, queries.history
        found = {
            **cluster,
            "records": self._records,
            "committed": len(history.committed),
            "elections": kinds[LeaderElected],
            "isr_changes": kinds[IsrChanged],
            "truncations": kinds[Truncated],
            "cleanings": kinds[Cleaned],
            "records_removed": self._removed,
            "tombstones_removed": self._tombstones,
            "oversized_batches": self._oversized,
            "stubs_kept": sum(self._stubs.values()),
            "sends_refused": self._refused,
            "gaps_learned": kinds[GapLearned],
            "log_ends_persisted": kinds[Cleaned] * self._persists_log_end,
            "snapshots_fetched": kinds[SnapshotInstalled],
            "faults": kinds[FaultInjected],
            "rebuilds": self._rebuilds,
            "bytes_rebuilt": self._bytes_rebuilt,
            "reads": self._reads,
            "bytes_appended": self._bytes_appended,
            "bytes_replicated": self._bytes_replicated,
            "bytes_down_converted": self._bytes_converted,
            "logs_loaded": len(self._loads),
            "coordinator_load_ms": max(self._loads, default=0),
            "asks_refused": self._asks_refused,
            "keys": len(history.winners),
            "keys_won_earlier": keys_won_earlier(queries),
            "stale_reads_last": stale_keys(queries),
            "leader_changes": self._leader_changes,
            "log_ends_cleaned": self._log_ends,
            "markers_removed": self._markers,
            "unmeant_keys": unmeant_keys(queries),
        }
        found |= retained(history)
        return {name: found.get(name, 0) for name in COUNTERS}


def retained(history: ClusterHistory) -> dict[str, int]:
    """What all logs together still hold."""
    slots: Counter[int] = Counter()
    for view in history.replicas.values():
        slots.update(view.slots)
    empty = slots[EMPTY]
    size, records, tombstones = empty * BATCH_HEADER_BYTES, 0, 0
    for slot, logs in slots.items():
        if slot > 0:
            known = history.written[slot]
            records += logs
            size += logs * size_of((known.record,), base_offset=known.offset)
            tombstones += logs * known.tombstone
    return {
        "bytes_retained": size,
        "records_retained": records,
        "empty_batches": empty,
        "tombstones_left": tombstones,
    }


def keys_won_earlier(queries: HistoryQueries) -> int:
    """Keys whose winner would be another record under the offset strategy."""
    history = queries.history
    count = 0
    for key, winner in history.winners.items():
        uids = history.uids_of_key[key]
        if uids[-1] != winner:
            offset = history.written[winner].offset
            count += any(
                history.written[uid].offset > offset and queries.is_committed(uid) for uid in uids
            )
    return count


def stale_keys(queries: HistoryQueries) -> int:
    """Keys for which a reader of the leader's log does not end on the winner.

    Only committed data counts. A reader that takes the last record it sees of each key, as every
    consumer of an offset-compacted topic does, ends with a wrong value for these; one that applies
    the strategy (`consumer_order`) does only where the winner is gone.
    """
    history = queries.history
    if history.leader is None:
        return 0
    view = history.replicas[history.leader]
    last: dict[str, int] = {}
    by_strategy = history.rules.reading.consumer_order == "strategy"
    for slot in view.slots[: view.high_watermark]:
        if slot > 0:
            key = history.written[slot].key
            if key is not None and slot not in history.aborted:
                known = last.get(key) if by_strategy else None
                if known is None or queries.beats(slot, known):
                    last[key] = slot
    return sum(
        1
        for key, uid in last.items()
        if (winner := history.winners.get(key)) is not None and queries.beats(winner, uid)
    )
