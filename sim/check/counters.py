"""Counters of a run: what happened how often, and what it cost.

A counter stands in `COUNTER` with all there is to say about it. Its number is the one of an event,
or `RunCounters` counts it, or somebody reports it under its name: the simulated cluster, the
scenario, an invariant.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Mapping

from sim import trace
from sim.check.checker import Checker
from sim.check.counter import Counter
from sim.check.history import ClusterHistory
from sim.check.intent import unmeant
from sim.check.listening import handlers_of
from sim.check.queries import HistoryQueries
from sim.check.removal_delays import DELAYS, RemovalDelays
from sim.check.replica_view import EMPTY
from sim.log.record import BATCH_HEADER_BYTES, size_of

_EXPOSURE, _WORLD = "sim.scenario.exposure", "sim.cluster"
_CHECKS, _LOADS = "workload.check_before_send", "rule coordinator_loads"
_RETURNS = "invariant no-transient-resurrection"

COUNTER: dict[str, Counter] = {
    # The cluster and the world around it.
    "events": Counter(
        2, "events", "Events of the core, all of which are in the digest.", "sim.trace"
    ),
    "elections": Counter(3, "elections", "Leaders that were elected.", of=trace.LeaderElected),
    "isr_changes": Counter(4, "changes", "Changes of the in-sync set.", of=trace.IsrChanged),
    "leader_changes": Counter(40, "elections", "Of another replica than the leader before."),
    "faults": Counter(19, "faults", "That were injected.", of=trace.FaultInjected),
    "outages": Counter(46, "faults", "That keep a replica away or behind.", _EXPOSURE),
    "outages_beyond_retention": Counter(
        47, "faults", "Of those, longer than a tombstone lives (delete_retention_ms).", _EXPOSURE
    ),
    "rolls": Counter(48, "faults", "That make a replica start a new segment.", _EXPOSURE),
    "simulator_events": Counter(37, "events", "Of the simulated world, not of the core.", _WORLD),
    "messages": Counter(38, "messages", "Sent over the simulated network.", _WORLD),
    "messages_lost": Counter(39, "messages", "Of those, the ones that were lost.", _WORLD),
    # What is in logs.
    "records": Counter(0, "records", "Appended by leaders, markers included."),
    "committed": Counter(1, "offsets", "Offsets that were committed."),
    "truncations": Counter(5, "truncations", "Logs that were cut.", of=trace.Truncated),
    "bytes_appended": Counter(21, "bytes", "In batches that leaders appended."),
    "bytes_retained": Counter(
        24, "bytes", "In all logs at the end; one batch header for each record or empty batch."
    ).compared_as("bytes retained"),
    "bytes_replicated": Counter(
        22, "bytes", "In batches and snapshot chunks that followers copied."
    ).compared_as("bytes replicated"),
    "records_retained": Counter(25, "records", "In all logs at the end."),
    "empty_batches": Counter(26, "batches", "Without records, in all logs at the end.").compared_as(
        "empty batches"
    ),
    "tombstones_left": Counter(27, "records", "In all logs at the end."),
    # What cleaning passes do.
    "cleanings": Counter(6, "passes", "Cleaning passes.", of=trace.Cleaned),
    "records_removed": Counter(7, "records", "Removed by cleaning passes, of all replicas."),
    "tombstones_removed": Counter(8, "records", "Of those, tombstones whose time was over."),
    "markers_removed": Counter(
        42, "records", "Transaction markers that passes removed.", "KIP-534"
    ),
    "log_ends_cleaned": Counter(41, "passes", "That removed the last record of a log.", "KIP-280"),
    "oversized_batches": Counter(
        12, "batches", "Rebuilt by a cleaner to more bytes than max.message.bytes."
    ),
    "stubs_kept": Counter(
        13,
        "tombstones",
        "Removed ones that all cleaners remember at the end.",
        "rule late_versions",
    ),
    "gaps_learned": Counter(
        16,
        "answers",
        "By which a follower learned that nothing is left up to an offset.",
        "fix gap_fetch",
        trace.GapLearned,
    ).compared_as("gaps told to followers"),
    "log_ends_persisted": Counter(
        17, "writes", "Ends of passes that were written down.", "fix persisted_leo"
    ).compared_as("log ends written down"),
    # What the invariants that judge deletes count, and what waits to be removed.
    "tombstones_removed_early": Counter(
        9,
        "records",
        "Tombstones that went while a log ended at or below them.",
        "KIP-630; invariant tombstone-until-log-end",
    ).compared_as("tombstones removed that KIP-630's sentence keeps"),
    "resurrections": Counter(
        10, "times", "Times that a live replica that was caught up showed a deleted key.", _RETURNS
    ).compared_as("times that a replica showed a deleted key"),
    "resurrection_ms": Counter(11, "ms", "The longest of those.", _RETURNS).compared_as(
        "longest time that a replica showed a deleted key, ms"
    ),
    **DELAYS,
    # Logs that are fetched again.
    "rebuilds": Counter(
        32, "logs", "Thrown away since they were too far behind.", "rule lag_guard"
    ).compared_as("logs thrown away"),
    "bytes_rebuilt": Counter(33, "bytes", "Fetched again for those.", "rule lag_guard").compared_as(
        "bytes fetched again for them"
    ),
    "snapshots_fetched": Counter(
        18, "snapshots", "Installed by followers.", "KIP-630", trace.SnapshotInstalled
    ).compared_as("snapshots installed"),
    # What readers are given, and what is sent and refused.
    "reads": Counter(20, "records", "That consumers were given."),
    "bytes_down_converted": Counter(
        23,
        "bytes",
        "Of stored batches that were rewritten for who has an older format, without zero copy.",
        "KIP-87",
    ),
    "stale_reads_last": Counter(
        36,
        "keys",
        "For which a reader of the leader's log ends on a record that loses.",
        "rule consumer_order",
    ).compared_as("stale records a consumer reads last"),
    "sends": Counter(44, "sends", "Of the scenario's producers, retries not counted.", _EXPOSURE),
    "late_sends": Counter(
        45, "sends", "Of those, not the newest of their key when sent.", _EXPOSURE
    ),
    "sends_refused": Counter(
        14,
        "batches",
        "Kept out by a leader: by a floor, their format, or a later instance of their producer.",
        "KIP-87; KIP-98; rule late_versions",
    ),
    "not_enough_replicas": Counter(
        15,
        "batches",
        "Refused since fewer than min.insync.replicas were in sync.",
        "NOT_ENOUGH_REPLICAS",
    ),
    "checks": Counter(
        49, "fetches", "Of applications that read before they send.", _CHECKS
    ).compared_as("fetches to check before a send"),
    "check_wait_ms": Counter(
        50, "ms", "The longest that a send waited for that.", _CHECKS
    ).compared_as("longest wait of a send for its check, ms"),
    "sends_withheld": Counter(51, "sends", "Left out for what was found.", _CHECKS).compared_as(
        "sends left out after a check"
    ),
    # What coordinators load, and on what keys end.
    "logs_loaded": Counter(
        52,
        "logs",
        "That a new coordinator has read to the end.",
        "rule coordinator",
        trace.CoordinatorLoaded,
    ),
    "coordinator_load_ms": Counter(53, "ms", "The longest that took.", _LOADS).compared_as(
        "longest load of a coordinator, ms"
    ),
    "asks_refused": Counter(
        54, "answers", "COORDINATOR_LOAD_IN_PROGRESS to who asked for a key.", _LOADS
    ),
    "keys": Counter(34, "keys", "With a committed, decided record."),
    "keys_won_earlier": Counter(
        35, "keys", "Of those, whose winner is not the last of their committed records.", "KIP-280"
    ),
    "unmeant_keys": Counter(
        43, "keys", "That end on what their producer did not mean.", "invariant key-ends-as-meant"
    ).compared_as("keys that end on what their producer did not mean"),
}

COUNTERS: tuple[str, ...] = tuple(sorted(COUNTER, key=lambda name: COUNTER[name].column))
"""Names of the counters, in the order of every table. All are integers."""

COSTS: dict[str, str] = {name: one.title for name, one in COUNTER.items() if one.title}
"""The counters that say what rules cost, with what reports call them."""

_OF_EVENTS: dict[type, str] = {one.of: name for name, one in COUNTER.items() if one.of is not None}


class RunCounters:
    """Counts what a checker is told; the rest is read off its history at the end.

    Attributes:
        counts: Name of each counter -> what was counted so far, in the order of every table.
    """

    def __init__(
        self, checker: Checker, *, persists_log_end: bool = False, faults_end_ms: int = 0
    ) -> None:
        """All zero.

        `persists_log_end` is what the fix does with the end of each pass. What waits to be removed
        is counted in passes before `faults_end_ms`.
        """
        self.counts: dict[str, int] = dict.fromkeys(COUNTERS, 0)
        self._queries = checker.queries
        self._persists_log_end = persists_log_end
        self._leader: str | None = None
        self._stubs: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._refills: dict[str, int] = {}
        self._delays = RemovalDelays(checker.history, until_ms=faults_end_ms)
        checker.listen(dict.fromkeys(_OF_EVENTS, self._happened))
        checker.listen(handlers_of(self))
        checker.listen(handlers_of(self._delays))

    def values(self, reported: Mapping[str, int]) -> dict[str, int]:
        """All counters, when the run has ended.

        `reported` has those that others count: the simulated cluster, the invariants, who took the
        events, and what the scenario exposes it to.
        """
        queries, counts = self._queries, self.counts
        counts |= _retained(queries.history) | self._delays.counters()
        counts["committed"] = len(queries.history.committed)
        counts["stubs_kept"] = sum(self._stubs.values())
        counts["log_ends_persisted"] = counts["cleanings"] * self._persists_log_end
        counts["keys"] = len(queries.history.winners)
        counts["keys_won_earlier"] = _keys_won_earlier(queries)
        counts["stale_reads_last"] = _stale_keys(queries)
        counts["unmeant_keys"] = sum(1 for _ in unmeant(queries))
        return {name: reported.get(name, count) for name, count in counts.items()}

    def _happened(self, event: trace.Event) -> None:
        self.counts[_OF_EVENTS[type(event)]] += 1

    def on_appended(self, event: trace.Appended) -> None:
        """Add up records and bytes."""
        counts, batch = self.counts, event.batch
        counts["records"] += len(batch.records)
        counts["bytes_appended"] += batch.size_bytes

    def on_append_refused(self, event: trace.AppendRefused) -> None:
        """The cluster counts those that too few replicas refused."""
        self.counts["sends_refused"] += event.reason != "not_enough_replicas"

    def on_cleaned(self, event: trace.Cleaned) -> None:
        """Count what went, by its reason."""
        counts, removals = self.counts, event.removals
        if removals:
            counts["records_removed"] += len(removals)
            reasons = [removal.reason for removal in removals]
            counts["tombstones_removed"] += reasons.count("tombstone")
            counts["markers_removed"] += reasons.count("marker")
            counts["log_ends_cleaned"] += removals[-1].offset == event.log_end_offset - 1
        counts["oversized_batches"] += len(event.oversized)
        self._stubs[event.replica] = event.stubs

    def on_consumed(self, event: trace.Consumed) -> None:
        """Count records."""
        self.counts["reads"] += len(event.records)

    def on_converted(self, event: trace.Converted) -> None:
        """Add up bytes."""
        self.counts["bytes_down_converted"] += event.size_bytes

    def on_coordinator_answered(self, event: trace.CoordinatorAnswered) -> None:
        """Count refusals."""
        self.counts["asks_refused"] += event.error != "NONE"

    def on_coordinator_loaded(self, event: trace.CoordinatorLoaded) -> None:
        """Keep the longest time."""
        counts = self.counts
        counts["coordinator_load_ms"] = max(counts["coordinator_load_ms"], event.took_ms)

    def on_leader_elected(self, event: trace.LeaderElected) -> None:
        """Compare with the leader before."""
        self.counts["leader_changes"] += self._leader not in (None, event.replica)
        self._leader = event.replica

    def on_replica_removed(self, event: trace.ReplicaRemoved) -> None:
        """What its cleaner remembered is gone."""
        self._stubs.pop(event.replica, None)

    def on_replica_wiped(self, event: trace.ReplicaWiped) -> None:
        """What its cleaner remembered is gone."""
        self._stubs.pop(event.replica, None)
        if event.reason == trace.REBUILT:
            self.counts["rebuilds"] += 1
            self._refills[event.replica] = self._ends.get(event.replica, 0)

    def on_snapshot_chunk_fetched(self, event: trace.SnapshotChunkFetched) -> None:
        """Add up bytes."""
        self.counts["bytes_replicated"] += event.size_bytes

    def on_copied(self, event: trace.Copied) -> None:
        """Add up bytes; a rebuilt log fetches again what is below its old end."""
        replica, _, _, batches, log_end_offset = event
        counts = self.counts
        for batch in batches:
            counts["bytes_replicated"] += batch.size_bytes
            if self._refills and batch.base_offset < self._refills.get(replica, 0):
                counts["bytes_rebuilt"] += batch.size_bytes
        self._ends[replica] = log_end_offset


def _retained(history: ClusterHistory) -> dict[str, int]:
    """What all logs together still hold."""
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


def _keys_won_earlier(queries: HistoryQueries) -> int:
    """Keys whose winner would be another record under the offset strategy."""
    history, count = queries.history, 0
    for key, winner in history.winners.items():
        offset = history.written[winner].offset
        later = [uid for uid in history.uids_of_key[key] if history.written[uid].offset > offset]
        count += any(queries.is_committed(uid) for uid in later)
    return count


def _stale_keys(queries: HistoryQueries) -> int:
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
