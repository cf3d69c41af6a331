"""The rules of what cleaning keeps and when it runs; tombstones have a table of their own."""

from __future__ import annotations

from sim.compaction import FIXES, STRATEGIES
from sim.compaction.strategies import HEADER_FORMS
from sim.rules.spec import RuleSpec, Value


def _header_form(name: str, means: str, example: str) -> Value:
    """A value whose source is that of the strategy it stands for."""
    return Value(name, means, HEADER_FORMS[name]("version").source, example)


CLEANING_RULES = (
    RuleSpec(
        "strategy",
        "which record of a key wins",
        STRATEGIES,
        examples={
            "offset": "kip280/kip280_47_offset_strategy_ignores_versions.yaml",
            "timestamp": "kip280/kip280_45_timestamp_wins_over_offset.yaml",
            "header": "kip280/kip280_21_full_map_keeps_the_winner.yaml",
        },
    ),
    RuleSpec(
        "strategy_header",
        "name of the header that the header strategy reads",
        source="KIP-280, compaction.strategy.header",
    ),
    RuleSpec(
        "header_form",
        "how the header strategy finds and reads a version",
        (
            _header_form(
                "last_long",
                "the last header of that very name; 8 bytes, signed, or else no version",
                "kip280/kip280_52_long_read_as_a_long.yaml",
            ),
            _header_form(
                "first_varint",
                "the first header so named in any case that is not empty; a varint above 0, or"
                " else no version",
                "kip280/kip280_51_long_read_as_a_varint.yaml",
            ),
            _header_form(
                "unchecked_varint",
                "found as by first_varint; any varint counts, and what is none stops the pass",
                "kip280/kip280_61_unreadable_version_stops_cleaning.yaml",
            ),
        ),
    ),
    RuleSpec(
        "ties",
        "which of two records of a key wins that have the same version",
        (
            Value(
                "latest",
                "the one with the higher offset",
                "KIP-280, Proposed Changes",
                "kip280/kip280_78_ties_go_to_the_last_record.yaml",
            ),
            Value(
                "first",
                "the one with the lower offset: a map that replaces only what is less",
                "this project: what the rule of KIP-280 for equal versions protects from",
                "kip280/kip280_77_ties_go_to_the_first_record.yaml",
            ),
        ),
    ),
    RuleSpec(
        "fix",
        "what stays of the last offset of a round, or of the log",
        FIXES,
        examples={
            "none": "kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml",
            "leo_retention": "findings/finding_07_leo_retention_brings_a_deleted_key_back.yaml",
            "empty_batch": "kip280/kip280_19_expired_last_tombstone_empty_batch.yaml",
            "empty_batch_at_hw": "kip280/kip280_59_narrow_empty_batch_and_an_unclean_election.yaml",
            "persisted_leo": "kip280/kip280_56_log_end_persisted_beside_the_records.yaml",
            "gap_fetch": "kip280/kip280_54_expired_last_tombstone_gap_fetch.yaml",
        },
    ),
    RuleSpec(
        "map_range",
        "among which records a pass looks for the winner of a key",
        (
            Value(
                "full",
                "all from the log start to the bound, clean ones as well",
                "KIP-280, Proposed Changes: its promise needs it, its code has not got it",
                "kip280/kip280_21_full_map_keeps_the_winner.yaml",
            ),
            Value(
                "dirty",
                "those from the first dirty offset to the bound",
                "Cleaner.buildOffsetMap; apache/kafka PR 8103",
                "kip280/kip280_20_dirty_map_keeps_both_versions.yaml",
            ),
        ),
    ),
    RuleSpec(
        "cleaner_bound",
        "up to where a pass may go, but never past an open transaction",
        (
            Value(
                "hw",
                "up to the high watermark",
                "KAFKA-13194; LogCleanerManager.cleanableOffsets",
                "bounds/bound_02_cleaning_stops_at_the_high_watermark.yaml",
            ),
            Value(
                "leo",
                "up to the log end",
                "LogCleanerManager.cleanableOffsets before KAFKA-13194",
                "bounds/bound_01_uncommitted_evicts_committed.yaml",
            ),
        ),
    ),
    RuleSpec(
        "empty_segments",
        "whether an empty segment is merged with the one before it",
        (
            Value(
                "joined",
                "always",
                "KAFKA-12889; Cleaner.groupSegmentsBySize",
                "segments/log_empty_segment_joins.json",
            ),
            Value(
                "in_range",
                "only while the merged segment spans less than 2^31 offsets, as for any other",
                "Cleaner.groupSegmentsBySize before KAFKA-12889",
                "segments/log_empty_segment_out_of_range.json",
            ),
        ),
    ),
    RuleSpec(
        "cleanup",
        "which of the cleaners and the snapshots that are set up replicas use",
        (
            Value(
                "compact_and_snapshot",
                "both",
                "this project: what one of them hides, the other may show",
                "snapshots/snap_12_prefix_deleted_above_the_high_watermark.yaml",
            ),
            Value(
                "compact",
                "the cleaners alone",
                "cleanup.policy",
                "kip630/kip630_12_cleaned_by_key_alone.yaml",
            ),
            Value(
                "snapshot",
                "the snapshots alone, as KRaft does",
                "KIP-630, Changes to the compact cleanup policy",
                "kip630/kip630_13_snapshots_alone.yaml",
            ),
        ),
    ),
    RuleSpec(
        "roll",
        "when the active segment is closed for its age",
        (
            Value(
                "on_append",
                "only when something is appended",
                "UnifiedLog.maybeRoll; KAFKA-20664",
                "kip354/kip354_02_idle_partition.yaml",
            ),
            Value(
                "timer",
                "also when nothing is appended",
                "KIP-354, Proposed Changes, as its bound needs it on an idle partition",
                "kip354/timed_idle_partition_timer.yaml",
            ),
        ),
    ),
    RuleSpec(
        "lag_metric",
        "what the metric max-compaction-delay-secs says",
        (
            Value(
                "every_scan",
                "the delay that the newest scan saw",
                "KIP-354, Public Interfaces",
                "kip354/timed_lag_metric_of_every_scan.yaml",
            ),
            Value(
                "on_clean",
                "the delay that the last scan saw which led to a pass",
                "CleanerThread.cleanFilthiestLog; PreCleanStats.updateMaxCompactionDelay",
                "kip354/timed_lag_metric_of_the_last_round.yaml",
            ),
        ),
    ),
)
"""In no particular order: `Rules` has the order."""
