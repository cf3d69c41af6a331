"""What each column of a sweep's tables means, with its unit and where it comes from.

One table for `replog list columns`, for whoever documents data frames, and for the tests that hold
it against the tables themselves. Nothing here is needed to run a sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sim.check.counters import COUNTERS
from sim.sweeps.shapes import MEASURES


class Column(NamedTuple):
    """One column.

    Attributes:
        table: `runs`, `violations` or `summary.csv`.
        name: As in the table.
        kind: `int64`, `string`, `double` or `bool`, as in Parquet; all may be null but keys.
        unit: Such as `ms`, `bytes`; empty for names and texts.
        means: In a sentence.
        source: What it is taken from: a module, or a KIP or ticket that defines it.
    """

    table: str
    name: str
    kind: str
    unit: str
    means: str
    source: str


SWEPT = "(swept rules)"
"""Stands for the columns that a plan's swept rules make, one each, under their own names."""

_Told = tuple[str, str, str]
"""Unit, meaning, source."""

_CORE, _EXPOSURE, _WORLD = "sim.check.counters", "sim.scenario.exposure", "sim.cluster"

COUNTERS_TOLD: Mapping[str, _Told] = {
    "records": ("records", "Appended by leaders, markers included.", _CORE),
    "committed": ("offsets", "Offsets that were committed.", _CORE),
    "events": ("events", "Events of the core, all of which are in the digest.", "sim.trace"),
    "elections": ("elections", "Leaders that were elected.", _CORE),
    "isr_changes": ("changes", "Changes of the in-sync set.", _CORE),
    "truncations": ("truncations", "Logs that were cut.", _CORE),
    "cleanings": ("passes", "Cleaning passes.", _CORE),
    "records_removed": ("records", "Removed by cleaning passes, of all replicas.", _CORE),
    "tombstones_removed": ("records", "Of those, tombstones whose time was over.", _CORE),
    "tombstones_removed_early": (
        "records",
        "Tombstones that went while a log ended at or below them.",
        "KIP-630; invariant tombstone-until-log-end",
    ),
    "resurrections": (
        "times",
        "Times that a live replica that was caught up showed a deleted key.",
        "invariant no-transient-resurrection",
    ),
    "resurrection_ms": ("ms", "The longest of those.", "invariant no-transient-resurrection"),
    "oversized_batches": (
        "batches",
        "Rebuilt by a cleaner to more bytes than max.message.bytes.",
        _CORE,
    ),
    "stubs_kept": (
        "tombstones",
        "Removed ones that all cleaners remember at the end.",
        "rule late_versions",
    ),
    "sends_refused": (
        "batches",
        "Kept out by a leader: by a floor, their format, or a later instance of their producer.",
        "KIP-87; KIP-98; rule late_versions",
    ),
    "not_enough_replicas": (
        "batches",
        "Refused since fewer than min.insync.replicas were in sync.",
        "NOT_ENOUGH_REPLICAS",
    ),
    "gaps_learned": (
        "answers",
        "By which a follower learned that nothing is left up to an offset.",
        "fix gap_fetch",
    ),
    "log_ends_persisted": ("writes", "Ends of passes that were written down.", "fix persisted_leo"),
    "snapshots_fetched": ("snapshots", "Installed by followers.", "KIP-630"),
    "faults": ("faults", "That were injected.", _CORE),
    "reads": ("records", "That consumers were given.", _CORE),
    "bytes_appended": ("bytes", "In batches that leaders appended.", _CORE),
    "bytes_replicated": ("bytes", "In batches and snapshot chunks that followers copied.", _CORE),
    "bytes_down_converted": (
        "bytes",
        "Of stored batches that were rewritten for who has an older format, without zero copy.",
        "KIP-87",
    ),
    "bytes_retained": (
        "bytes",
        "In all logs at the end; one batch header for each record or empty batch.",
        _CORE,
    ),
    "records_retained": ("records", "In all logs at the end.", _CORE),
    "empty_batches": ("batches", "Without records, in all logs at the end.", _CORE),
    "tombstones_left": ("records", "In all logs at the end.", _CORE),
    "tombstone_wait_ms": ("ms", "The longest that cleaners passed over a due tombstone.", _CORE),
    "marker_wait_ms": ("ms", "The longest that cleaners passed over a due marker.", _CORE),
    "tombstones_waiting": (
        "records",
        "Due tombstones that the last passes before the faults end left.",
        _CORE,
    ),
    "markers_waiting": (
        "records",
        "Due markers that the last passes before the faults end left.",
        _CORE,
    ),
    "rebuilds": ("logs", "Thrown away since they were too far behind.", "rule lag_guard"),
    "bytes_rebuilt": ("bytes", "Fetched again for those.", "rule lag_guard"),
    "keys": ("keys", "With a committed, decided record.", _CORE),
    "keys_won_earlier": (
        "keys",
        "Of those, whose winner is not the last of their committed records.",
        "KIP-280",
    ),
    "stale_reads_last": (
        "keys",
        "For which a reader of the leader's log ends on a record that loses.",
        "rule consumer_order",
    ),
    "simulator_events": ("events", "Of the simulated world, not of the core.", _WORLD),
    "messages": ("messages", "Sent over the simulated network.", _WORLD),
    "messages_lost": ("messages", "Of those, the ones that were lost.", _WORLD),
    "leader_changes": ("elections", "Of another replica than the leader before.", _CORE),
    "log_ends_cleaned": ("passes", "That removed the last record of a log.", "KIP-280"),
    "markers_removed": ("records", "Transaction markers that passes removed.", "KIP-534"),
    "unmeant_keys": (
        "keys",
        "That end on what their producer did not mean.",
        "invariant key-ends-as-meant",
    ),
    "sends": ("sends", "Of the scenario's producers, retries not counted.", _EXPOSURE),
    "late_sends": ("sends", "Of those, not the newest of their key when sent.", _EXPOSURE),
    "outages": ("faults", "That keep a replica away or behind.", _EXPOSURE),
    "outages_beyond_retention": (
        "faults",
        "Of those, longer than a tombstone lives (delete_retention_ms).",
        _EXPOSURE,
    ),
    "rolls": ("faults", "That make a replica start a new segment.", _EXPOSURE),
    "checks": (
        "fetches",
        "Of applications that read before they send.",
        "workload.check_before_send",
    ),
    "check_wait_ms": (
        "ms",
        "The longest that a send waited for that.",
        "workload.check_before_send",
    ),
    "sends_withheld": ("sends", "Left out for what was found.", "workload.check_before_send"),
    "logs_loaded": ("logs", "That a new coordinator has read to the end.", "rule coordinator"),
    "coordinator_load_ms": ("ms", "The longest that took.", "rule coordinator_loads"),
    "asks_refused": (
        "answers",
        "COORDINATOR_LOAD_IN_PROGRESS to who asked for a key.",
        "rule coordinator_loads",
    ),
}
"""Every counter: unit, meaning, source."""

_RUN_HEAD: Mapping[str, tuple[str, str, str, str]] = {
    "run_id": ("int64", "", "Number of the run: what `replog replay` takes.", "sim.sweeps.plan"),
    "case_id": (
        "int64",
        "",
        "Number of the case: the same random scenario under every rule set.",
        "sim.sweeps.plan",
    ),
    "seed": ("int64", "", "Of the case; draws the scenario in its environment.", "sim.sweeps.plan"),
    "rule_set": ("int64", "", "Place of the rule set in the plan, from 0.", "sim.sweeps.plan"),
    SWEPT: ("", "", "One column for each rule that the plan varies.", "replog list rules"),
    "verdict": (
        "string",
        "",
        "holds, violated, inconclusive, or error (an exception).",
        "sim.timed_run",
    ),
    "reason": ("string", "", "Why it is inconclusive.", "sim.timed_run"),
    "first_invariant": ("string", "", "Which invariant was violated first.", "sim.check"),
    "first_violation_ms": ("int64", "ms", "When that was, in simulated time.", "sim.check"),
    "violation_count": ("int64", "violations", "All of them.", "sim.check"),
}
_RUN_TAIL: Mapping[str, tuple[str, str, str, str]] = {
    "reached": (
        "string",
        "",
        "Situations that occurred, sorted, joined by spaces.",
        "replog list reached",
    ),
    "digest": ("string", "", "Of every event with its time, 32 hex digits.", "sim.trace.digest"),
    "weather": (
        "string",
        "",
        "Digest of workload, faults, network and clocks: equal in the runs of a case.",
        "sim.scenario.environment",
    ),
    "wall_ms": ("double", "ms", "Real time; the only column that no seed decides.", "sim.sweeps"),
    "error": ("string", "", "The traceback of an exception.", "sim.sweeps.work"),
    "environment": ("string", "", "The plan's name for what the case is drawn from.", "the plan"),
    "hunted": ("bool", "", "Whether the case has a scripted hunt.", "tail_hunts of a mix"),
    "cause": ("string", "", "Why the first violation happened.", "sim.explain.signature"),
}
_VIOLATIONS: Mapping[str, tuple[str, str, str, str]] = {
    "run_id": ("int64", "", "The run it is of.", "runs"),
    "position": ("int64", "", "Its number in the run, from 0, as detected.", "sim.check"),
    "invariant": ("string", "", "What was violated.", "replog list invariants"),
    "at_ms": ("int64", "ms", "When it was found, in simulated time.", "sim.check"),
    "replica": ("string", "", "Where, if at one replica.", "sim.check"),
    "offset": ("int64", "", "The offset it is about, if about one.", "sim.check"),
    "key": ("string", "", "The key it is about, if about one.", "sim.check"),
    "sentence": ("string", "", "What happened, with the numbers.", "sim.check"),
    "family": ("string", "", "What goes wrong for whoever uses the log.", "sim.check.families"),
    "cause": (
        "string",
        "",
        "Why, of the first of each invariant and family in the run; null of the others.",
        "sim.explain.signature",
    ),
}
_SUMMARY: Mapping[str, tuple[str, str, str, str]] = {
    "rule_set": ("string", "", "Label of the rule set.", "the plan"),
    SWEPT: ("", "", "One column for each rule that the plan varies.", "replog list rules"),
    "measure": (
        "string",
        "",
        f"What is counted: {', '.join(MEASURES)}, or total (a counter).",
        "sim.sweeps.tally",
    ),
    "name": ("string", "", "Of what is counted, such as an invariant.", "sim.sweeps.tally"),
    "runs": ("int64", "runs", "What the value is out of.", "sim.sweeps.tally"),
    "value": (
        "int64",
        "",
        "In how many runs; of a total, the sum over the runs that came to an end.",
        "sim.sweeps.tally",
    ),
    "environment": ("string", "", "Its name; empty for all cases together.", "the plan"),
}


def columns() -> Iterator[Column]:
    """Every column, in the order of its table."""
    for name, told in _RUN_HEAD.items():
        yield Column("runs", name, *told)
    for name in COUNTERS:
        unit, means, source = COUNTERS_TOLD[name]
        yield Column("runs", name, "int64", unit, means, source)
    for table, rest in (
        ("runs", _RUN_TAIL),
        ("violations", _VIOLATIONS),
        ("summary.csv", _SUMMARY),
    ):
        for name, told in rest.items():
            yield Column(table, name, *told)
