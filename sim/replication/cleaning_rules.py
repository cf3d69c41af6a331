"""The rules of cleaners and of those who write and read what is cleaned, each with its source."""

from __future__ import annotations

from sim.compaction import FIXES, STRATEGIES, TOMBSTONE_MARKS, TOMBSTONE_REMOVALS
from sim.compaction.strategies import HEADER_FORMS
from sim.replication.rule_spec import RuleSpec

CLEANING_RULES: tuple[RuleSpec, ...] = (
    RuleSpec(
        "strategy",
        STRATEGIES,
        "which record of a key wins",
        "KIP-280, compaction.strategy",
    ),
    RuleSpec(
        "strategy_header",
        (),
        "name of the header that the header strategy reads",
        "KIP-280, compaction.strategy.header",
    ),
    RuleSpec(
        "header_form",
        tuple(HEADER_FORMS),
        "last header of that very name, 8 bytes; first so named, varint above 0; or any varint",
        "KIP-280, compaction.strategy.header; apache/kafka PR 8103; microsoft/kafka PR 45",
    ),
    RuleSpec(
        "fix",
        FIXES,
        "what stays of the last offset of a round, or of the log",
        "KIP-280, Special case where we need to retain LEO; KAFKA-17076",
    ),
    RuleSpec(
        "map_range",
        ("full", "dirty"),
        "winners over [log start, bound) or over the dirty section only",
        "Cleaner.buildOffsetMap (dirty); what KIP-280 promises needs full",
    ),
    RuleSpec(
        "cleaner_bound",
        ("hw", "leo"),
        "hw: never past the last stable offset; leo: up to the log end",
        "KAFKA-13194; LogCleanerManager.cleanableOffsets",
    ),
    RuleSpec(
        "tombstone_removal",
        TOMBSTONE_REMOVALS,
        "when a winning tombstone may go",
        "KIP-534, KIP-630, Redpanda PR 28087",
    ),
    RuleSpec(
        "horizon_stamp",
        ("on_sight", "mapped"),
        "a kept tombstone gets its horizon on sight, or only once the map has reached it",
        "MemoryRecords.filterTo (on_sight); apache/kafka PR 10914, review",
    ),
    RuleSpec(
        "horizon_header",
        ("hidden", "visible"),
        "with record_horizon: whether consumers are given the header that holds the horizon",
        "KIP-534, Rejected Alternatives",
    ),
    RuleSpec(
        "marker_removal",
        ("as_tombstones", "horizon"),
        "with last_modified: markers go by their segment's time, too, or by their own horizon",
        "LogCleaner.shouldDiscardBatch in 2.8 (as_tombstones); KIP-534 (horizon)",
    ),
    RuleSpec(
        "marker_lookup",
        ("never", "by_key"),
        "whether a marker is looked up in the map by the bytes of its key",
        "KAFKA-14055",
    ),
    RuleSpec(
        "empty_segments",
        ("joined", "in_range"),
        "an empty segment joins its neighbour always, or within 2^31 offsets of its base",
        "KAFKA-12889; Cleaner.groupSegmentsBySize",
    ),
    RuleSpec(
        "cleanup",
        ("compact_and_snapshot", "compact", "snapshot"),
        "which of the cleaners and snapshots that are set up replicas use: both, or one alone",
        "cleanup.policy; KIP-630, Changes to the compact cleanup policy (KRaft: snapshot)",
    ),
    RuleSpec(
        "tombstone_mark",
        ("null_value", *(mark for mark in TOMBSTONE_MARKS if mark != "null_value")),
        "what marks a tombstone (magic: by the record's format; explicit: the story's step says)",
        "KIP-87; Record.hasValue",
    ),
    RuleSpec(
        "late_versions",
        ("accepted", "floor", "stub"),
        "below a removed tombstone: accepted; refused by leaders; beaten by what cleaners keep",
        "KIP-280 with KIP-534, left open; late writes in Cassandra and Scylla (#23712, #24415)",
    ),
    RuleSpec(
        "consumer_order",
        ("offset", "strategy"),
        "what a consumer keeps of a key: the last record it was given, or the winning one",
        "KIP-280, Recommendations: consumers should be aware of the strategy",
    ),
    RuleSpec(
        "delete_retention_ms",
        (),
        "ms from the first pass that keeps a tombstone to the first that may remove it",
        "delete.retention.ms, KIP-534",
        minimum=0,
    ),
)
"""In order of declaration in `Rules`."""
