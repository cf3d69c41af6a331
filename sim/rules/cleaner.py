"""The rules of the cleaner: what a pass keeps, what it removes when, and when it runs."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sim.compaction import FIXES, STRATEGIES, TOMBSTONE_REMOVALS
from sim.compaction.eligibility import LagEstimate
from sim.compaction.strategies import HEADER_FORMS
from sim.rules.cleaner_times import TIMES_TABLE
from sim.rules.spec import RuleSpec, Value

LateVersions = Literal["accepted", "floor", "stub"]
"""What becomes of a version below that of a tombstone which is gone."""


class CleanerRules(NamedTuple):
    """What a cleaning pass keeps and removes, and when it runs."""

    strategy: str = "offset"
    header_form: Literal["last_long", "first_varint", "unchecked_varint", "last_bytes"] = (
        "last_long"
    )
    ties: Literal["latest", "first"] = "latest"
    fix: str = "none"
    map_range: Literal["full", "dirty"] = "full"
    map_reads_from: Literal["segment_start", "offset_index"] = "segment_start"
    index_entries: Literal["per_batch", "per_append"] = "per_batch"
    cleaner_bound: Literal["hw", "leo"] = "hw"
    tombstone_removal: str = "horizon"
    horizon_stamp: Literal["on_sight", "mapped", "each_pass"] = "on_sight"
    horizon_rebase: Literal["deltas_rewritten", "deltas_kept"] = "deltas_rewritten"
    unstamped_tombstones: Literal["stamped", "last_modified"] = "stamped"
    marker_removal: Literal["as_tombstones", "horizon"] = "as_tombstones"
    marker_lookup: Literal["never", "by_key", "last_abort"] = "never"
    marker_watermark: Literal["shared", "own"] = "shared"
    lost_disk_report: Literal["kept", "dropped"] = "kept"
    empty_segments: Literal["joined", "in_range"] = "joined"
    old_formats: Literal["kept", "converted"] = "kept"
    cleanup: Literal["compact_and_snapshot", "compact", "snapshot"] = "compact_and_snapshot"
    tombstone_mark: Literal["null_value", "flag", "magic", "header", "explicit"] = "null_value"
    late_versions: LateVersions = "accepted"
    roll: Literal["on_append", "timer"] = "on_append"
    lag_metric: Literal["every_scan", "on_clean"] = "every_scan"
    lag_estimate: LagEstimate = "first_timestamp"


def _header_form(name: str, means: str, example: str) -> Value:
    """A value whose source is that of the strategy it stands for."""
    return Value(name, means, HEADER_FORMS[name]("version").source, example)


CLEANER_TABLE: tuple[RuleSpec, ...] = (
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
            _header_form(
                "last_bytes",
                "the last header of that very name; its bytes are compared, however many",
                "kip280/kip280_88_negative_version_by_its_bytes.yaml",
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
        "map_reads_from",
        "with dirty: where the segment that holds the first dirty offset is read from for the map,"
        " and which aborted transactions are known by then",
        (
            Value(
                "segment_start",
                "its first batch; those whose marker is in the dirty section",
                "this project: what buildOffsetMapForSegment needs, to see the marker that ends"
                " an aborted transaction",
                "transactions/log_index_seek_segment_start.json",
            ),
            Value(
                "offset_index",
                "where its offset index says, perhaps after the marker of an aborted transaction;"
                " those of the index of aborted transactions from this segment on, decided ones as"
                " well: what their producers commit later counts as aborted, too",
                "Cleaner.buildOffsetMapForSegment; LocalLog.collectAbortedTransactions",
                "transactions/log_index_seek.json",
            ),
        ),
    ),
    RuleSpec(
        "index_entries",
        "how many entries an append may add to the offset index of a segment",
        (
            Value(
                "per_batch",
                "one for each of its batches",
                "LogSegment.append since KAFKA-806 (3.9.1, 4.0.1, 4.1.0)",
                "transactions/log_index_seek.json",
            ),
            Value(
                "per_append",
                "one; a cleaner appends all that it read into its buffer at once",
                "LogSegment.append before KAFKA-806; Cleaner.cleanInto",
                "transactions/log_index_seek_per_append.json",
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
        "tombstone_removal",
        "when a winning tombstone may go",
        TOMBSTONE_REMOVALS,
        examples={
            "horizon": "kip534/kip534_01_horizon_of_the_batch.yaml",
            "immediate": "kip534/kip534_02_removed_at_once.yaml",
            "last_modified": "kip534/kip534_03_merged_segment_looks_old.yaml",
            "cleaning_checkpoint": "kip534/kip534_15_cleaning_checkpoint_waits_again.yaml",
            "record_horizon": "kip534/kip534_17_horizon_in_the_record.yaml",
            "leo_gated": "kip630/kip630_02_gated_by_every_log_end.yaml",
            "coordinated": "kip630/kip630_04_coordinated.yaml",
            "never": "kip534/kip534_13_never_removed.yaml",
        },
    ),
    RuleSpec(
        "horizon_stamp",
        "which of the tombstones that a pass keeps get their delete horizon",
        (
            Value(
                "on_sight",
                "all, also those that the map has not reached",
                "MemoryRecords.filterTo",
                "kip534/log_partial_round_stamp.json",
            ),
            Value(
                "mapped",
                "those that the map has reached, so that older values are gone by then",
                "apache/kafka PR 10914, review",
                "kip534/log_partial_round_mapped.json",
            ),
            Value(
                "each_pass",
                "all, and those that have one get another: the tombstone outlives frequent passes",
                "this project: what a horizon that is set once protects from; KIP-534",
                "kip534/kip534_19_horizon_of_each_pass.yaml",
            ),
        ),
    ),
    RuleSpec(
        "horizon_rebase",
        "what becomes of the records' time deltas when a horizon becomes the base of their batch",
        (
            Value(
                "deltas_rewritten",
                "they count from the horizon, so that timestamps read back as they were",
                "MemoryRecords.buildRetainedRecordsInto; KIP-534, Proposed Changes",
                "kip534/kip534_23_timestamps_read_back.yaml",
            ),
            Value(
                "deltas_kept",
                "they stay as they are: every timestamp of the batch moves with the base",
                "this project: why KIP-534 rewrites them; Redpanda before PR 30998 kept them when"
                " another base was set",
                "kip534/kip534_22_horizon_moves_the_timestamps.yaml",
            ),
        ),
    ),
    RuleSpec(
        "unstamped_tombstones",
        "with a horizon: what decides of a tombstone that has none yet, as all have at an upgrade",
        (
            Value(
                "stamped",
                "the pass that meets it gives it one, and a later pass goes by that",
                "KIP-534, Proposed Changes; MemoryRecords.filterTo",
                "kip534/kip534_25_header_from_the_first_pass.yaml",
            ),
            Value(
                "last_modified",
                "the modification time of its segment, as before KIP-534; if it stays, it gets one",
                "KIP-534, Rejected Alternatives: how to upgrade to a header in each record",
                "kip534/kip534_24_no_header_falls_back.yaml",
            ),
        ),
    ),
    RuleSpec(
        "marker_removal",
        "with last_modified: when a transaction marker may go",
        (
            Value(
                "as_tombstones",
                "by the modification time of its segment",
                "Cleaner.shouldDiscardBatch in 2.8",
                "transactions/txn_08_marker_goes_by_its_segment.yaml",
            ),
            Value(
                "horizon",
                "by a delete horizon of its own",
                "KIP-534, Proposed Changes",
                "transactions/txn_09_marker_waits_beside_old_tombstones.yaml",
            ),
        ),
    ),
    RuleSpec(
        "marker_lookup",
        "whether a transaction marker is looked up in the map by the bytes of its key",
        (
            Value(
                "never",
                "a marker has no key",
                "KAFKA-14055; Cleaner.cleanInto",
                "transactions/txn_11_markers_are_not_looked_up.yaml",
            ),
            Value(
                "by_key",
                "a record whose key has these bytes evicts it",
                "Cleaner.cleanInto before KAFKA-14055",
                "transactions/txn_10_user_key_evicts_a_marker.yaml",
            ),
            Value(
                "last_abort",
                "all ABORT markers are of one key, and the last one stays",
                "Redpanda before PR 16295; crabka before PR 528",
                "bootstrap/boot_01_abort_markers_as_one_key.yaml",
            ),
        ),
    ),
    RuleSpec(
        "marker_watermark",
        "with coordinated: below which offset transaction markers may go",
        (
            Value(
                "shared",
                "the tombstones' one: every replica has compacted past it",
                "Redpanda PR 28087",
                "transactions/txn_12_marker_below_the_tombstones_watermark.yaml",
            ),
            Value(
                "own",
                "one of their own: below it no replica holds data of a transaction",
                "Redpanda PR 29043: maximum transaction-free and transaction removal offsets",
                "transactions/txn_13_marker_below_its_own_watermark.yaml",
            ),
        ),
    ),
    RuleSpec(
        "lost_disk_report",
        "with coordinated: whether what a replica reported last outlives its disk",
        (
            Value(
                "kept",
                "it counts for the new disk, until that has something to report itself",
                "this project: what a coordinator does that knows replicas by their names",
                "kip630/kip630_14_report_of_a_lost_disk.yaml",
            ),
            Value(
                "dropped",
                "a new disk is a new replica, which has reported nothing",
                "Redpanda PR 28087: a replica is known by its number and its revision",
                "kip630/kip630_15_report_goes_with_the_disk.yaml",
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
        "old_formats",
        "what a pass makes of batches of magic 0 and 1, which have no place for a horizon",
        (
            Value(
                "kept",
                "they keep their format, and their tombstones go by the times of segments",
                "MemoryRecords.filterTo before KAFKA-13093",
                "kip534/log_old_format_kept.json",
            ),
            Value(
                "converted",
                "it writes them anew as magic 2, and a tombstone that stays gets its horizon",
                "KAFKA-13093 (KIP-724); MemoryRecords.filterTo since 4.0",
                "kip534/log_old_format_converted.json",
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
        "tombstone_mark",
        "what marks a tombstone",
        (
            Value(
                "null_value",
                "it has no value",
                "Record.hasValue; KIP-87, Motivation",
                "kip87/kip87_02_null_value.yaml",
            ),
            Value(
                "flag",
                "its tombstone attribute is set, whatever its value",
                "KIP-87, Proposed Changes",
                "kip87/kip87_01_flag.yaml",
            ),
            Value(
                "magic",
                "the record's own format says: no value before magic 2, the attribute from then on",
                "KIP-87, Migration Plan",
                "kip87/kip87_04_magic.yaml",
            ),
            Value(
                "header",
                "its header 5 is true: no attribute is needed, but 4 bytes in each delete, and"
                " clients and cleaners that know no headers take it for data",
                "KIP-87, Rejected Alternatives: use a header field to be explicit",
                "kip87/kip87_05_header.yaml",
            ),
            Value(
                "explicit",
                "the step of a story says tombstone=true, which sets the flag",
                "the story format of this project",
                "kip87/kip87_03_explicit.yaml",
            ),
        ),
    ),
    RuleSpec(
        "late_versions",
        "what becomes of a version below that of a tombstone which is gone already",
        (
            Value(
                "accepted",
                "it wins, as nothing remembers the tombstone",
                "KIP-280 with KIP-534, left open",
                "kip280/kip280_65_late_write_accepted_for_good.yaml",
            ),
            Value(
                "floor",
                "leaders refuse what is below the highest version removed, whatever its key",
                "this project; the hazard is that of Scylla #23712 and #24415",
                "kip280/kip280_63_late_write_refused_by_a_floor.yaml",
            ),
            Value(
                "stub",
                "the next pass removes it: cleaners keep the version of each deleted key",
                "this project; the hazard is that of Scylla #23712 and #24415",
                "kip280/kip280_64_late_write_beaten_by_a_stub.yaml",
            ),
        ),
    ),
    *TIMES_TABLE,
)
"""What each of them decides, in their order; each value with its source and an example."""
