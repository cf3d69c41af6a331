"""The rules of the cleaner: what a pass keeps, what it removes when, and when it runs."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.protocol.compaction import (
    FIXES,
    STRATEGIES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    Fix,
    TombstoneRemoval,
)
from sim.protocol.compaction.eligibility import LagEstimate
from sim.protocol.compaction.strategies import HEADER_FORMS
from sim.protocol.compaction.tombstones import TombstoneMark
from sim.protocol.rules.spec import Value

LateVersions = Literal["accepted", "floor", "stub"]
"""Treatment of a version below that of a removed tombstone."""


class CleanerRules(Struct, frozen=True, gc=False):
    """Rules of the cleaner: what a pass keeps and removes, and when."""

    strategy: Annotated[str, "which record of a key wins", STRATEGIES] = "offset"
    header_form: Annotated[
        Literal["last_long", "first_varint", "unchecked_varint", "last_bytes"],
        "how the header strategy finds and reads a version",
        Value(
            "the last header of that very name; 8 bytes, signed, or else no version",
            HEADER_FORMS["last_long"]("version").source,
            "kip280/kip280_52_long_read_as_a_long.yaml",
        ),
        Value(
            "the first header so named in any case that is not empty; a varint above 0, or"
            " else no version",
            HEADER_FORMS["first_varint"]("version").source,
            "kip280/kip280_51_long_read_as_a_varint.yaml",
        ),
        Value(
            "found as by first_varint; any varint counts, and what is none stops the pass",
            HEADER_FORMS["unchecked_varint"]("version").source,
            "kip280/kip280_61_unreadable_version_stops_cleaning.yaml",
        ),
        Value(
            "the last header of that very name; its bytes are compared, however many",
            HEADER_FORMS["last_bytes"]("version").source,
            "kip280/kip280_88_negative_version_by_its_bytes.yaml",
        ),
    ] = "last_long"
    ties: Annotated[
        Literal["latest", "first"],
        "which of two records of a key wins that have the same version",
        Value(
            "the one with the higher offset",
            "KIP-280, Proposed Changes",
            "kip280/kip280_78_ties_go_to_the_last_record.yaml",
        ),
        Value(
            "the one with the lower offset: a map that replaces only what is less",
            "this project: what the rule of KIP-280 for equal versions protects from",
            "kip280/kip280_77_ties_go_to_the_first_record.yaml",
        ),
    ] = "latest"
    fix: Annotated[str, "what stays of the last offset of a round, or of the log", FIXES] = "none"
    map_range: Annotated[
        Literal["full", "dirty"],
        "among which records a pass looks for the winner of a key",
        Value(
            "all from the log start to the bound, clean ones as well",
            "KIP-280, Proposed Changes: its promise needs it, its code has not got it",
            "kip280/kip280_21_full_map_keeps_the_winner.yaml",
        ),
        Value(
            "those from the first dirty offset to the bound",
            "Cleaner.buildOffsetMap; apache/kafka PR 8103",
            "kip280/kip280_20_dirty_map_keeps_both_versions.yaml",
        ),
    ] = "full"
    map_reads_from: Annotated[
        Literal["segment_start", "offset_index"],
        "with dirty: where the segment that holds the first dirty offset is read from for the"
        " map, and which aborted transactions are known by then",
        Value(
            "its first batch; those whose marker is in the dirty section",
            "this project: what buildOffsetMapForSegment needs, to see the marker that ends"
            " an aborted transaction",
            "transactions/log_index_seek_segment_start.json",
        ),
        Value(
            "where its offset index says, perhaps after the marker of an aborted transaction;"
            " those of the index of aborted transactions from this segment on, decided ones"
            " as well: what their producers commit later counts as aborted, too",
            "Cleaner.buildOffsetMapForSegment; LocalLog.collectAbortedTransactions",
            "transactions/log_index_seek.json",
        ),
    ] = "segment_start"
    index_entries: Annotated[
        Literal["per_batch", "per_append"],
        "how many entries an append may add to the offset index of a segment",
        Value(
            "one for each of its batches",
            "LogSegment.append since KAFKA-806 (3.9.1, 4.0.1, 4.1.0)",
            "transactions/log_index_seek.json",
        ),
        Value(
            "one; a cleaner appends all that it read into its buffer at once",
            "LogSegment.append before KAFKA-806; Cleaner.cleanInto",
            "transactions/log_index_seek_per_append.json",
        ),
    ] = "per_batch"
    cleaner_bound: Annotated[
        Literal["hw", "leo"],
        "up to where a pass may go, but never past an open transaction",
        Value(
            "up to the high watermark",
            "KAFKA-13194; LogCleanerManager.cleanableOffsets",
            "bounds/bound_02_cleaning_stops_at_the_high_watermark.yaml",
        ),
        Value(
            "up to the log end",
            "LogCleanerManager.cleanableOffsets before KAFKA-13194",
            "bounds/bound_01_uncommitted_evicts_committed.yaml",
        ),
    ] = "hw"
    tombstone_removal: Annotated[str, "when a winning tombstone may go", TOMBSTONE_REMOVALS] = (
        "horizon"
    )
    horizon_stamp: Annotated[
        Literal["on_sight", "mapped", "each_pass"],
        "which of the tombstones that a pass keeps get their delete horizon",
        Value(
            "all, also those that the map has not reached",
            "MemoryRecords.filterTo",
            "kip534/log_partial_round_stamp.json",
        ),
        Value(
            "those that the map has reached, so that older values are gone by then",
            "apache/kafka PR 10914, review",
            "kip534/log_partial_round_mapped.json",
        ),
        Value(
            "all, and those that have one get another: the tombstone outlives frequent passes",
            "this project: what a horizon that is set once protects from; KIP-534",
            "kip534/kip534_19_horizon_of_each_pass.yaml",
        ),
    ] = "on_sight"
    horizon_rebase: Annotated[
        Literal["deltas_rewritten", "deltas_kept"],
        "what becomes of the records' time deltas when a horizon becomes the base of their batch",
        Value(
            "they count from the horizon, so that timestamps read back as they were",
            "MemoryRecords.buildRetainedRecordsInto; KIP-534, Proposed Changes",
            "kip534/kip534_23_timestamps_read_back.yaml",
        ),
        Value(
            "they stay as they are: every timestamp of the batch moves with the base",
            "this project: why KIP-534 rewrites them; Redpanda before PR 30998 kept them when"
            " another base was set",
            "kip534/kip534_22_horizon_moves_the_timestamps.yaml",
        ),
    ] = "deltas_rewritten"
    unstamped_tombstones: Annotated[
        Literal["stamped", "last_modified"],
        "with a horizon: what decides of a tombstone that has none yet, as all have at an upgrade",
        Value(
            "the pass that meets it gives it one, and a later pass goes by that",
            "KIP-534, Proposed Changes; MemoryRecords.filterTo",
            "kip534/kip534_25_header_from_the_first_pass.yaml",
        ),
        Value(
            "the modification time of its segment, as before KIP-534; if it stays, it gets one",
            "KIP-534, Rejected Alternatives: how to upgrade to a header in each record",
            "kip534/kip534_24_no_header_falls_back.yaml",
        ),
    ] = "stamped"
    marker_removal: Annotated[
        Literal["as_tombstones", "horizon"],
        "with last_modified: when a transaction marker may go",
        Value(
            "by the modification time of its segment",
            "Cleaner.shouldDiscardBatch in 2.8",
            "transactions/txn_08_marker_goes_by_its_segment.yaml",
        ),
        Value(
            "by a delete horizon of its own",
            "KIP-534, Proposed Changes",
            "transactions/txn_09_marker_waits_beside_old_tombstones.yaml",
        ),
    ] = "as_tombstones"
    marker_lookup: Annotated[
        Literal["never", "by_key", "last_abort"],
        "whether a transaction marker is looked up in the map by the bytes of its key",
        Value(
            "a marker has no key",
            "KAFKA-14055; Cleaner.cleanInto",
            "transactions/txn_11_markers_are_not_looked_up.yaml",
        ),
        Value(
            "a record whose key has these bytes evicts it",
            "Cleaner.cleanInto before KAFKA-14055",
            "transactions/txn_10_user_key_evicts_a_marker.yaml",
        ),
        Value(
            "all ABORT markers are of one key, and the last one stays",
            "Redpanda before PR 16295; crabka before PR 528",
            "bootstrap/boot_01_abort_markers_as_one_key.yaml",
        ),
    ] = "never"
    marker_watermark: Annotated[
        Literal["shared", "own"],
        "with coordinated: below which offset transaction markers may go",
        Value(
            "the tombstones' one: every replica has compacted past it",
            "Redpanda PR 28087",
            "transactions/txn_12_marker_below_the_tombstones_watermark.yaml",
        ),
        Value(
            "one of their own: below it no replica holds data of a transaction",
            "Redpanda PR 29043: maximum transaction-free and transaction removal offsets",
            "transactions/txn_13_marker_below_its_own_watermark.yaml",
        ),
    ] = "shared"
    lost_disk_report: Annotated[
        Literal["kept", "dropped"],
        "with coordinated: whether what a replica reported last outlives its disk",
        Value(
            "it counts for the new disk, until that has something to report itself",
            "this project: what a coordinator does that knows replicas by their names",
            "kip630/kip630_14_report_of_a_lost_disk.yaml",
        ),
        Value(
            "a new disk is a new replica, which has reported nothing",
            "Redpanda PR 28087: a replica is known by its number and its revision",
            "kip630/kip630_15_report_goes_with_the_disk.yaml",
        ),
    ] = "kept"
    empty_segments: Annotated[
        Literal["joined", "in_range"],
        "whether an empty segment is merged with the one before it",
        Value(
            "always",
            "KAFKA-12889; Cleaner.groupSegmentsBySize",
            "segments/log_empty_segment_joins.json",
        ),
        Value(
            "only while the merged segment spans less than 2^31 offsets, as for any other",
            "Cleaner.groupSegmentsBySize before KAFKA-12889",
            "segments/log_empty_segment_out_of_range.json",
        ),
    ] = "joined"
    old_formats: Annotated[
        Literal["kept", "converted"],
        "what a pass makes of batches of magic 0 and 1, which have no place for a horizon",
        Value(
            "they keep their format, and their tombstones go by the times of segments",
            "MemoryRecords.filterTo before KAFKA-13093",
            "kip534/log_old_format_kept.json",
        ),
        Value(
            "it rewrites them as magic 2, and a tombstone that stays gets its horizon",
            "KAFKA-13093 (KIP-724); MemoryRecords.filterTo since 4.0",
            "kip534/log_old_format_converted.json",
        ),
    ] = "kept"
    cleanup: Annotated[
        Literal["compact_and_snapshot", "compact", "snapshot"],
        "which of the cleaners and the snapshots that are set up replicas use",
        Value(
            "both",
            "this project: what one of them hides, the other may show",
            "snapshots/snap_12_prefix_deleted_above_the_high_watermark.yaml",
        ),
        Value("the cleaners alone", "cleanup.policy", "kip630/kip630_12_cleaned_by_key_alone.yaml"),
        Value(
            "the snapshots alone, as KRaft does",
            "KIP-630, Changes to the compact cleanup policy",
            "kip630/kip630_13_snapshots_alone.yaml",
        ),
    ] = "compact_and_snapshot"
    tombstone_mark: Annotated[
        Literal["null_value", "flag", "magic", "header", "explicit"],
        "what marks a tombstone",
        Value(
            "it has no value",
            "Record.hasValue; KIP-87, Motivation",
            "kip87/kip87_02_null_value.yaml",
        ),
        Value(
            "its tombstone attribute is set, with any value",
            "KIP-87, Proposed Changes",
            "kip87/kip87_01_flag.yaml",
        ),
        Value(
            "the record's own format says: no value before magic 2, the attribute from then on",
            "KIP-87, Migration Plan",
            "kip87/kip87_04_magic.yaml",
        ),
        Value(
            "its header 5 is true: no attribute is needed, but 4 bytes in each delete, and"
            " clients and cleaners that know no headers take it for data",
            "KIP-87, Rejected Alternatives: use a header field to be explicit",
            "kip87/kip87_05_header.yaml",
        ),
        Value(
            "the step of a story says tombstone=true, which sets the flag",
            "the story format of this project",
            "kip87/kip87_03_explicit.yaml",
        ),
    ] = "null_value"
    late_versions: Annotated[
        LateVersions,
        "what becomes of a version below that of a tombstone which is gone already",
        Value(
            "it wins, as nothing remembers the tombstone",
            "KIP-280 with KIP-534, left open",
            "kip280/kip280_65_late_write_accepted_for_good.yaml",
        ),
        Value(
            "leaders refuse what is below the highest version removed, for any key",
            "this project; the hazard is that of Scylla #23712 and #24415",
            "kip280/kip280_63_late_write_refused_by_a_floor.yaml",
        ),
        Value(
            "the next pass removes it: cleaners keep the version of each deleted key",
            "this project; the hazard is that of Scylla #23712 and #24415",
            "kip280/kip280_64_late_write_beaten_by_a_stub.yaml",
        ),
    ] = "accepted"
    roll: Annotated[
        Literal["on_append", "timer"],
        "when the active segment is closed for its age",
        Value(
            "only when something is appended",
            "UnifiedLog.maybeRoll; KAFKA-20664",
            "kip354/kip354_02_idle_partition.yaml",
        ),
        Value(
            "also when nothing is appended",
            "KIP-354, Proposed Changes, as its bound needs it on an idle partition",
            "kip354/timed_idle_partition_timer.yaml",
        ),
    ] = "on_append"
    lag_metric: Annotated[
        Literal["every_scan", "on_clean"],
        "what the metric max-compaction-delay-secs says",
        Value(
            "the delay that the newest scan saw",
            "KIP-354, Public Interfaces",
            "kip354/timed_lag_metric_of_every_scan.yaml",
        ),
        Value(
            "the delay that the last scan saw which led to a pass",
            "CleanerThread.cleanFilthiestLog; PreCleanStats.updateMaxCompactionDelay",
            "kip354/timed_lag_metric_of_the_last_round.yaml",
        ),
    ] = "every_scan"
    lag_estimate: Annotated[
        LagEstimate,
        "from when max.compaction.lag.ms counts: the age of the oldest record of a segment",
        Value(
            "what its first record says; without timestamps the lag has no bound",
            "KIP-354, Proposed Changes; LogSegment.getFirstBatchTimestamp",
            "kip354/timed_estimate_first_timestamp.yaml",
        ),
        Value(
            "from the second segment on, the largest timestamp of the one before it",
            "KIP-354 as it was first proposed: no record has to be read for it",
            "kip354/timed_estimate_previous_segment.yaml",
        ),
        Value(
            "without timestamps, its last modification less the longest time it was active",
            "KIP-354, Rejected Alternatives: topics without timestamps",
            "kip354/eligible_no_timestamps_estimated.json",
        ),
    ] = "first_timestamp"

    @property
    def fix_applied(self) -> Fix:
        """The fix that the rule `fix` names."""
        return FIXES[self.fix]

    @property
    def removal(self) -> TombstoneRemoval:
        """The removal rule that `tombstone_removal` names."""
        return TOMBSTONE_REMOVALS[self.tombstone_removal]

    @property
    def is_tombstone(self) -> TombstoneMark:
        """The function that decides by `tombstone_mark` whether a keyed record is a tombstone."""
        return TOMBSTONE_MARKS[self.tombstone_mark]
