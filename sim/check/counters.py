"""Counters of a run: what happened how often, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sim.check.history import ClusterHistory
from sim.check.queries import HistoryQueries
from sim.check.replica_view import EMPTY, ReplicaView
from sim.compaction import FIXES
from sim.log.record import BATCH_HEADER_BYTES, size_of
from sim.trace import (
    REBUILT,
    Appended,
    AppendRefused,
    Cleaned,
    Consumed,
    Converted,
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
)
"""Names of the counters, in the order of every table. All are integers.

records: appended by leaders; committed: offsets committed; events: events of the core;
oversized_batches: rebuilt by a cleaner to more bytes than `max.message.bytes`; stubs_kept: removed
tombstones that all cleaners remember at the end, by `late_versions`; sends_refused: batches that a
leader kept out, by a floor or by their format (KIP-87);
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
`consumer_order`; simulator_events, messages, messages_lost: of the world, not of the core.
"""


COSTS: dict[str, str] = {
    "bytes_retained": "bytes retained",
    "bytes_replicated": "bytes replicated",
    "empty_batches": "empty batches",
    "gaps_learned": "gaps told to followers",
    "log_ends_persisted": "log ends written down",
    "tombstone_wait_ms": "longest wait of a tombstone that is due, ms",
    "marker_wait_ms": "longest wait of a marker that is due, ms",
    "tombstones_waiting": "tombstones that wait when the faults end",
    "markers_waiting": "markers that wait when the faults end",
    "rebuilds": "logs thrown away",
    "bytes_rebuilt": "bytes fetched again for them",
    "snapshots_fetched": "snapshots installed",
    "stale_reads_last": "stale records a consumer reads last",
}
"""The counters that say what rules cost, with what reports call them."""

_LOOKED_INTO = frozenset(
    (
        Appended,
        AppendRefused,
        Copied,
        Consumed,
        Converted,
        Cleaned,
        ReplicaRemoved,
        ReplicaWiped,
        SnapshotChunkFetched,
    )
)


class RunCounters:
    """Counts events as they come; the rest is read off the history at the end."""

    def __init__(self) -> None:
        """All zero."""
        self._kinds: dict[type, int] = {}
        self._records = 0
        self._removed = 0
        self._tombstones = 0
        self._oversized = 0
        self._refused = 0
        self._stubs: dict[str, int] = {}
        self._reads = 0
        self._bytes_appended = 0
        self._bytes_replicated = 0
        self._bytes_converted = 0
        self._rebuilds = 0
        self._bytes_rebuilt = 0
        self._ends: dict[str, int] = {}
        self._refills: dict[str, int] = {}

    def count(self, events: Iterable[Event]) -> None:
        """Count some events; each has to be counted once."""
        kinds = self._kinds
        for event in events:
            kind = event.__class__
            kinds[kind] = kinds.get(kind, 0) + 1
            if kind in _LOOKED_INTO:
                self._look_into(event)

    def _look_into(self, event: Event) -> None:
        if isinstance(event, Appended):
            self._records += len(event.batch.records)
            self._bytes_appended += event.batch.size_bytes
        elif isinstance(event, Copied):
            self._copied(event)
        elif isinstance(event, Consumed):
            self._reads += len(event.records)
        elif isinstance(event, Converted):
            self._bytes_converted += event.size_bytes
        elif isinstance(event, Cleaned):
            self._removed += len(event.removals)
            self._tombstones += sum(1 for r in event.removals if r.reason == "tombstone")
            self._oversized += len(event.oversized)
            self._stubs[event.replica] = event.stubs
        elif isinstance(event, AppendRefused):
            self._refused += event.reason != "not_enough_replicas"
        elif isinstance(event, ReplicaRemoved):
            self._stubs.pop(event.replica, None)
        elif isinstance(event, ReplicaWiped):
            self._stubs.pop(event.replica, None)
            if event.reason == REBUILT:
                self._rebuilds += 1
                self._refills[event.replica] = self._ends.get(event.replica, 0)
        elif isinstance(event, SnapshotChunkFetched):
            self._bytes_replicated += event.size_bytes

    def _copied(self, event: Copied) -> None:
        refilled_to = self._refills.get(event.replica, 0)
        for batch in event.batches:
            size = batch.size_bytes
            self._bytes_replicated += size
            if batch.base_offset < refilled_to:
                self._bytes_rebuilt += size
        self._ends[event.replica] = event.log_end_offset

    def values(self, queries: HistoryQueries, cluster: Mapping[str, int]) -> dict[str, int]:
        """All counters, given how the run ended; `cluster` has those that no event tells."""
        kinds, history = self._kinds, queries.history
        persists = FIXES[history.rules.cleaner.fix].persists_log_end
        found = {
            **cluster,
            "records": self._records,
            "committed": len(history.committed),
            "events": sum(kinds.values()),
            "elections": kinds.get(LeaderElected, 0),
            "isr_changes": kinds.get(IsrChanged, 0),
            "truncations": kinds.get(Truncated, 0),
            "cleanings": kinds.get(Cleaned, 0),
            "records_removed": self._removed,
            "tombstones_removed": self._tombstones,
            "oversized_batches": self._oversized,
            "stubs_kept": sum(self._stubs.values()),
            "sends_refused": self._refused,
            "gaps_learned": kinds.get(GapLearned, 0),
            "log_ends_persisted": kinds.get(Cleaned, 0) * persists,
            "snapshots_fetched": kinds.get(SnapshotInstalled, 0),
            "faults": kinds.get(FaultInjected, 0),
            "rebuilds": self._rebuilds,
            "bytes_rebuilt": self._bytes_rebuilt,
            "reads": self._reads,
            "bytes_appended": self._bytes_appended,
            "bytes_replicated": self._bytes_replicated,
            "bytes_down_converted": self._bytes_converted,
            "keys": len(history.winners),
            "keys_won_earlier": keys_won_earlier(queries),
            "stale_reads_last": stale_keys(queries),
        }
        for view in history.replicas.values():
            for name, value in retained(history, view).items():
                found[name] = found.get(name, 0) + value
        return {name: found.get(name, 0) for name in COUNTERS}


def retained(history: ClusterHistory, view: ReplicaView) -> dict[str, int]:
    """What a log still holds."""
    size = records = empty = tombstones = 0
    written = history.written
    for slot in view.slots:
        if slot > 0:
            known = written[slot]
            record = known.record
            records += 1
            size += size_of((record,), base_offset=record.offset)
            tombstones += known.tombstone
        elif slot == EMPTY:
            empty += 1
            size += BATCH_HEADER_BYTES
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
            offset = history.written[winner].record.offset
            count += any(
                history.written[uid].record.offset > offset and queries.is_committed(uid)
                for uid in uids
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
            key = history.written[slot].record.key
            if key is not None and slot not in history.aborted:
                known = last.get(key) if by_strategy else None
                if known is None or queries.beats(slot, known):
                    last[key] = slot
    return sum(
        1
        for key, uid in last.items()
        if (winner := history.winners.get(key)) is not None and queries.beats(winner, uid)
    )
