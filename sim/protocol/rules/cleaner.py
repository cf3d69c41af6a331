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
from sim.protocol.compaction.tombstones import TombstoneMark

HeaderForm = Literal["last_long", "first_varint", "unchecked_varint", "last_bytes"]
"""Ways to find and read the version of a record in its headers."""


class CleanerRules(Struct, frozen=True, gc=False):
    """Rules of the cleaner: what a pass keeps and removes, and when."""

    strategy: Annotated[str, STRATEGIES] = "offset"
    """Decides which record of a key wins."""
    header_form: HeaderForm = "last_long"
    """Decides how the header strategy finds and reads a version.

    last_long: the last header of that very name; 8 bytes, signed, or else no version
        Source: KIP-280, Proposed Changes
        Example: kip280/kip280_52_long_read_as_a_long.yaml
    first_varint: the first header of that name, in upper or lower case, that is not empty; a varint
        above 0, or else no version
        Source: apache/kafka PR 8103, RecordVersion
        Example: kip280/kip280_51_long_read_as_a_varint.yaml
    unchecked_varint: the header of first_varint; any varint counts, any other value stops the pass
        Source: microsoft/kafka PR 45 (4e9967880), SkimpyOffsetMap.extractVersion
        Example: kip280/kip280_61_unreadable_version_stops_cleaning.yaml
    last_bytes: the last header of that very name; its bytes are compared, however many
        Source: KIP-280, Rejected Alternatives
        Example: kip280/kip280_88_negative_version_by_its_bytes.yaml
    """
    ties: Literal["latest", "first"] = "latest"
    """Decides which of two records of a key wins that have the same version.

    latest: the one with the higher offset
        Source: KIP-280, Proposed Changes
        Example: kip280/kip280_78_ties_go_to_the_last_record.yaml
    first: the one with the lower offset: a map that replaces only a lower version
        Source: this project: what the rule of KIP-280 for equal versions protects from
        Example: kip280/kip280_77_ties_go_to_the_first_record.yaml
    """
    fix: Annotated[str, FIXES] = "none"
    """Decides what a pass keeps for the sake of the last offset, of its round or of the log."""
    map_range: Literal["full", "dirty"] = "full"
    """Decides among which records a pass looks for the winner of a key.

    full: all from the log start to the bound, clean ones as well
        Source: KIP-280, Proposed Changes: its promise needs this; PR 8103 lacks it
        Example: kip280/kip280_21_full_map_keeps_the_winner.yaml
    dirty: those from the first dirty offset to the bound
        Source: Cleaner.buildOffsetMap; apache/kafka PR 8103
        Example: kip280/kip280_20_dirty_map_keeps_both_versions.yaml
    """
    map_reads_from: Literal["segment_start", "offset_index"] = "segment_start"
    """With dirty: from where the map reads the segment that holds the first dirty offset, and which
    aborted transactions it knows.

    segment_start: from its first batch; those whose marker is in the dirty section
        Source: this project: what buildOffsetMapForSegment needs, to see the marker that ends an
            aborted transaction
        Example: transactions/log_index_seek_segment_start.json
    offset_index: from where its offset index says; all in the index of aborted transactions from
        this segment on: if reading begins after the marker of one, what its producer commits later
        counts as aborted, too
        Source: Cleaner.buildOffsetMapForSegment; LocalLog.collectAbortedTransactions
        Example: transactions/log_index_seek.json
    """
    index_entries: Literal["per_batch", "per_append"] = "per_batch"
    """Decides how many entries an append may add to the offset index of a segment.

    per_batch: one for each of its batches
        Source: LogSegment.append since KAFKA-806 (3.9.1, 4.0.1, 4.1.0)
        Example: transactions/log_index_seek.json
    per_append: one; a cleaner appends all that it keeps of one read buffer at once
        Source: LogSegment.append before KAFKA-806; Cleaner.cleanInto
        Example: transactions/log_index_seek_per_append.json
    """
    cleaner_bound: Literal["hw", "leo"] = "hw"
    """Decides up to where a pass may go, but never past an open transaction.

    hw: up to the high watermark
        Source: KAFKA-13194; LogCleanerManager.cleanableOffsets
        Example: bounds/bound_02_cleaning_stops_at_the_high_watermark.yaml
    leo: up to the log end
        Source: LogCleanerManager.cleanableOffsets before KAFKA-13194
        Example: bounds/bound_01_uncommitted_evicts_committed.yaml
    """
    tombstone_removal: Annotated[str, TOMBSTONE_REMOVALS] = "horizon"
    """Decides when a winning tombstone may go."""
    horizon_stamp: Literal["on_sight", "mapped", "each_pass"] = "on_sight"
    """Decides which of the tombstones that a pass keeps get their delete horizon.

    on_sight: all, also those that the map has not reached
        Source: MemoryRecords.filterTo
        Example: kip534/log_partial_round_stamp.json
    mapped: those that the map has reached, so that older values are gone by then
        Source: apache/kafka PR 10914, review
        Example: kip534/log_partial_round_mapped.json
    each_pass: all, and those that have one get another: the tombstone outlives frequent passes
        Source: this project: what a horizon that is set once protects from; KIP-534
        Example: kip534/kip534_19_horizon_of_each_pass.yaml
    """
    horizon_rebase: Literal["deltas_rewritten", "deltas_kept"] = "deltas_rewritten"
    """Decides what becomes of the records' time deltas when a horizon becomes the base of their
    batch.

    deltas_rewritten: they count from the horizon, so that timestamps read back as they were
        Source: MemoryRecords.buildRetainedRecordsInto; KIP-534, Proposed Changes
        Example: kip534/kip534_23_timestamps_read_back.yaml
    deltas_kept: they stay as they are: every timestamp of the batch moves with the base
        Source: this project: why KIP-534 rewrites them; Redpanda before PR 30998 kept them when
            another base was set
        Example: kip534/kip534_22_horizon_moves_the_timestamps.yaml
    """
    unstamped_tombstones: Literal["stamped", "last_modified"] = "stamped"
    """With a horizon: what decides about a tombstone that has none yet, as after an upgrade.

    stamped: the pass that meets it gives it one, and a later pass goes by that
        Source: KIP-534, Proposed Changes; MemoryRecords.filterTo
        Example: kip534/kip534_25_header_from_the_first_pass.yaml
    last_modified: the modification time of its segment, as before KIP-534; if it stays, it gets one
        Source: KIP-534, Rejected Alternatives: how to upgrade to a header in each record
        Example: kip534/kip534_24_no_header_falls_back.yaml
    """
    marker_removal: Literal["as_tombstones", "horizon"] = "as_tombstones"
    """With last_modified: when a transaction marker may go.

    as_tombstones: by the modification time of its segment
        Source: Cleaner.shouldDiscardBatch in 2.8
        Example: transactions/txn_08_marker_goes_by_its_segment.yaml
    horizon: by a delete horizon of its own
        Source: KIP-534, Proposed Changes
        Example: transactions/txn_09_marker_waits_beside_old_tombstones.yaml
    """
    marker_lookup: Literal["never", "by_key", "last_abort"] = "never"
    """Decides whether a transaction marker is looked up in the map by the bytes of its key.

    never: a marker has no key
        Source: KAFKA-14055; Cleaner.cleanInto
        Example: transactions/txn_11_markers_are_not_looked_up.yaml
    by_key: a record whose key has these bytes evicts it
        Source: Cleaner.cleanInto before KAFKA-14055
        Example: transactions/txn_10_user_key_evicts_a_marker.yaml
    last_abort: all ABORT markers count as one key, so only the last one stays
        Source: Redpanda before PR 16295; crabka before PR 528
        Example: bootstrap/boot_01_abort_markers_as_one_key.yaml
    """
    marker_watermark: Literal["shared", "own"] = "shared"
    """With coordinated: below which offset transaction markers may go.

    shared: that of tombstones, which every replica has compacted past
        Source: Redpanda PR 28087
        Example: transactions/txn_12_marker_below_the_tombstones_watermark.yaml
    own: one of their own, below which no replica holds data of a transaction
        Source: Redpanda PR 29043: maximum transaction-free and transaction removal offsets
        Example: transactions/txn_13_marker_below_its_own_watermark.yaml
    """
    lost_disk_report: Literal["kept", "dropped"] = "kept"
    """With coordinated: whether what a replica reported last outlives its disk.

    kept: it counts for the new disk, until that has something to report itself
        Source: this project: what a coordinator does that knows replicas by their names
        Example: kip630/kip630_14_report_of_a_lost_disk.yaml
    dropped: a new disk is a new replica, which has reported nothing
        Source: Redpanda PR 28087: a replica is known by its number and its revision
        Example: kip630/kip630_15_report_goes_with_the_disk.yaml
    """
    empty_segments: Literal["joined", "in_range"] = "joined"
    """Decides whether an empty segment is merged with the one before it.

    joined: always
        Source: KAFKA-12889; Cleaner.groupSegmentsBySize
        Example: segments/log_empty_segment_joins.json
    in_range: only while the merged segment spans less than 2^31 offsets, as for any other
        Source: Cleaner.groupSegmentsBySize before KAFKA-12889
        Example: segments/log_empty_segment_out_of_range.json
    """
    old_formats: Literal["kept", "converted"] = "kept"
    """Decides what a pass makes of batches of magic 0 and 1, which have no place for a horizon.

    kept: they keep their format, and their tombstones go by the times of segments
        Source: MemoryRecords.filterTo before KAFKA-13093
        Example: kip534/log_old_format_kept.json
    converted: it rewrites them as magic 2, and a tombstone that stays gets its horizon
        Source: KAFKA-13093 (KIP-724); MemoryRecords.filterTo since 4.0
        Example: kip534/log_old_format_converted.json
    """
    cleanup: Literal["compact_and_snapshot", "compact", "snapshot"] = "compact_and_snapshot"
    """Decides whether replicas use the cleaners, the snapshots or both, where they are set up.

    compact_and_snapshot: both
        Source: this project: what one of them hides, the other may show
        Example: snapshots/snap_12_prefix_deleted_above_the_high_watermark.yaml
    compact: the cleaners alone
        Source: cleanup.policy
        Example: kip630/kip630_12_cleaned_by_key_alone.yaml
    snapshot: the snapshots alone, as KRaft does
        Source: KIP-630, Changes to the compact cleanup policy
        Example: kip630/kip630_13_snapshots_alone.yaml
    """
    tombstone_mark: Literal["null_value", "flag", "magic", "header", "explicit"] = "null_value"
    """Decides what marks a tombstone.

    null_value: it has no value
        Source: Record.hasValue; KIP-87, Motivation
        Example: kip87/kip87_02_null_value.yaml
    flag: its tombstone attribute is set, with any value
        Source: KIP-87, Proposed Changes
        Example: kip87/kip87_01_flag.yaml
    magic: the record's own format says: no value before magic 2, the attribute from then on
        Source: KIP-87, Migration Plan
        Example: kip87/kip87_04_magic.yaml
    header: its header 5 is true: no attribute is needed, but 4 bytes in each delete, and clients
        and cleaners that know no headers take it for data
        Source: KIP-87, Rejected Alternatives: use a header field to be explicit
        Example: kip87/kip87_05_header.yaml
    explicit: the step of a story says tombstone=true, which sets the flag
        Source: the story format of this project
        Example: kip87/kip87_03_explicit.yaml
    """
    late_versions: Literal["accepted", "floor", "stub"] = "accepted"
    """Decides what becomes of a write whose version is below that of a removed tombstone.

    accepted: it wins, as nothing remembers the tombstone
        Source: KIP-280 with KIP-534, left open
        Example: kip280/kip280_65_late_write_accepted_for_good.yaml
    floor: leaders refuse all versions below the highest of a removed tombstone, for any key
        Source: this project; the hazard is that of Scylla #23712 and #24415
        Example: kip280/kip280_63_late_write_refused_by_a_floor.yaml
    stub: the next pass removes it: cleaners keep the version of each deleted key
        Source: this project; the hazard is that of Scylla #23712 and #24415
        Example: kip280/kip280_64_late_write_beaten_by_a_stub.yaml
    """
    roll: Literal["on_append", "timer"] = "on_append"
    """Decides when the active segment is closed for its age.

    on_append: only when something is appended
        Source: UnifiedLog.maybeRoll; KAFKA-20664
        Example: kip354/kip354_02_idle_partition.yaml
    timer: also when nothing is appended
        Source: KIP-354, Proposed Changes, as its bound needs it on an idle partition
        Example: kip354/timed_idle_partition_timer.yaml
    """
    lag_metric: Literal["every_scan", "on_clean"] = "every_scan"
    """Decides what the metric max-compaction-delay-secs says.

    every_scan: the delay that the newest scan saw
        Source: KIP-354, Public Interfaces
        Example: kip354/timed_lag_metric_of_every_scan.yaml
    on_clean: the delay that was seen by the last scan that led to a pass
        Source: CleanerThread.cleanFilthiestLog; PreCleanStats.updateMaxCompactionDelay
        Example: kip354/timed_lag_metric_of_the_last_round.yaml
    """
    lag_estimate: LagEstimate = "first_timestamp"
    """Decides how the age of a segment's oldest record is estimated, for max.compaction.lag.ms.

    first_timestamp: what its first record says; without timestamps the lag has no bound
        Source: KIP-354, Proposed Changes; LogSegment.getFirstBatchTimestamp
        Example: kip354/timed_estimate_first_timestamp.yaml
    previous_segment: from the second segment on, the largest timestamp of the one before it
        Source: KIP-354 as it was first proposed: no record has to be read for it
        Example: kip354/timed_estimate_previous_segment.yaml
    largest_less_roll: without timestamps, its last modification less the longest it may be active
        Source: KIP-354, Rejected Alternatives: topics without timestamps
        Example: kip354/eligible_no_timestamps_estimated.json
    """

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
