"""Pairs of stories for the laws from l to z."""

from tests.story.pairs.pair import Pair

PAIRS: dict[str, list[Pair]] = {
    "leader-append-only": [
        Pair(
            "raft_19_late_answer_is_acted_on",
            "raft_20_late_answer_is_ignored",
            "an answer to cut that reaches a leader is a cut",
        ),
        Pair(
            "raft_13_leader_cuts_its_own_log",
            "raft_14_leader_asks_nobody_older",
            "who led once may never be cut",
        ),
    ],
    "leader-completeness": [
        Pair(
            "kip280_16_believed_position_epoch_truncation_no_fix",
            "kip280_17_believed_position_epoch_truncation_empty_batch",
            "an empty batch is no record",
        ),
        Pair(
            "isr_03_leader_alone_in_sync",
            "isr_04_too_few_in_sync_commit_nothing",
            "what one replica has is committed",
        ),
    ],
    "leader-never-loads-snapshot": [
        Pair(
            "snap_14_leader_loads_a_snapshot",
            "snap_15_follower_loads_a_snapshot",
            "who led once may load none",
        ),
        Pair(
            "snap_34_elected_with_its_download",
            "snap_35_elected_without_its_download",
            "who is elected in the middle of a download has loaded it",
        ),
    ],
    "leo-convergence": [
        Pair(
            "kip280_09_quiet_partition_never_catches_up",
            "kip280_10_quiet_partition_empty_batch",
            "a log that ends with an empty batch is shorter",
        ),
        Pair(
            "kip280_09_quiet_partition_never_catches_up",
            "kip280_55_quiet_partition_gap_fetch",
            "a log that ends with a hole is shorter",
        ),
    ],
    "leo-preservation": [
        Pair(
            "kip280_49_cleaning_moves_the_log_end",
            "kip280_50_cleaning_leaves_the_log_end",
            "a log ends behind its last record",
        ),
        Pair(
            "checkpoint_03_finish_mark_missing",
            "checkpoint_04_begun_and_done",
            "a restart in the middle of a pass is a loss",
        ),
        Pair(
            "kip280_07_log_end_from_last_record",
            "kip280_11_log_end_from_last_record_empty_batch",
            "a restarted log ends behind its last record",
        ),
    ],
    "log-matching": [
        Pair(
            "kip279_01_one_question_is_not_enough",
            "kip279_02_ask_until_the_epochs_match",
            "logs that once differed share nothing",
        ),
        Pair(
            "raft_11_epochs_fall_along_the_log",
            "raft_12_epochs_rise_along_the_log",
            "an offset has one record",
        ),
        Pair(
            "raft_04_leader_resumes_its_epoch",
            "raft_05_leader_needs_a_new_epoch",
            "two records of one offset are a clash, whatever their epochs",
        ),
    ],
    "lso-progress": [
        Pair(
            "txn_02_commit_marker_lost",
            "txn_06_commit_marker_coordinated",
            "a marker that is due has to be gone",
        ),
        Pair(
            "boot_01_abort_markers_as_one_key",
            "boot_02_abort_markers_have_no_key",
            "aborted data in a log is open",
        ),
    ],
    "materialized-state-equivalence": [
        Pair(
            "kip630_01_tombstone_removed_too_early",
            "kip630_02_gated_by_every_log_end",
            "logs have to be equal, not what they fold to",
        ),
        Pair(
            "delta_01_increments_cleaned_by_key",
            "delta_02_increments_in_a_snapshot",
            "the log alone makes the state",
        ),
        Pair(
            "epochcache_01_a_cleaned_epoch_is_unknown",
            "epochcache_02_a_kept_tombstone_keeps_the_epoch",
            "a tombstone is a value",
        ),
    ],
    "no-offset-reuse": [
        Pair(
            "kip280_15_believed_position_hw_truncation_no_fix",
            "kip280_26_believed_position_hw_truncation_empty_batch",
            "an empty batch frees its offset",
        ),
        Pair(
            "isr_03_leader_alone_in_sync",
            "isr_04_too_few_in_sync_commit_nothing",
            "an offset that was written is taken, committed or not",
        ),
    ],
    "no-resurrection": [
        Pair(
            "kip630_07_rebuild_forgotten_by_the_next_leader",
            "kip630_08_rebuild_handed_on",
            "a replica that held the value once holds it for good",
        ),
        Pair(
            "kip280_41_dirty_map_forgets_the_tombstone",
            "kip280_42_full_map_applies_the_tombstone_first",
            "a tombstone that is gone deletes nothing",
        ),
        Pair(
            "kip280_23_late_write_after_an_expired_tombstone",
            "kip280_43_tombstones_kept_for_ever",
            "a value that a held tombstone beats is back",
        ),
        Pair(
            "kip630_21_an_aborted_value_hides_nothing",
            "kip630_22_a_committed_value_takes_its_place",
            "a deleted value that is still in the log is back, whatever beats it",
        ),
        Pair(
            "kip630_24_a_tombstone_below_the_value_deletes_nothing",
            "kip630_23_a_lesser_tombstone_deletes_as_well",
            "only the winning tombstone keeps a key deleted",
        ),
    ],
    "no-transient-resurrection": [
        Pair(
            "kip280_81_late_version_shown_until_the_next_write",
            "kip280_82_late_version_meets_its_tombstone",
            "a late version that the held tombstone beats is shown",
        ),
        Pair(
            "kip280_67_stub_is_lost_with_the_disk",
            "kip280_68_floor_is_told_to_followers",
            "a late version that is refused was shown for a while",
        ),
    ],
    "no-truncation-below-hw": [
        Pair(
            "raft_09_stale_leader_is_followed",
            "raft_10_stale_leader_is_refused",
            "a stale leader's question is a cut",
        ),
        Pair(
            "isr_03_leader_alone_in_sync",
            "isr_04_too_few_in_sync_commit_nothing",
            "a cut at the high watermark is below it",
        ),
    ],
    "offset-epoch-uniqueness": [
        Pair(
            "raft_04_leader_resumes_its_epoch",
            "raft_05_leader_needs_a_new_epoch",
            "an offset is assigned once, whatever the epoch",
        ),
        Pair(
            "raft_25_voters_compare_logs_only",
            "raft_26_one_vote_per_epoch",
            "who campaigns in an epoch assigns offsets in it",
        ),
    ],
    "prefix-deletion-safety": [
        Pair(
            "snap_06_prefix_deleted_without_a_snapshot",
            "snap_11_prefix_deleted_behind_a_snapshot",
            "a snapshot that ends at the log start does not cover what is below",
        ),
        Pair(
            "snap_12_prefix_deleted_above_the_high_watermark",
            "snap_36_prefix_deleted_at_the_high_watermark",
            "a log start at the high watermark is above it",
        ),
    ],
    "reader-reaches-end": [
        Pair(
            "readers_12_position_never_reaches_the_end",
            "readers_13_empty_batch_moves_the_position",
            "there has to be a record at the end",
        ),
        Pair(
            "readers_14_no_record_at_the_last_offset",
            "readers_15_the_last_record_is_kept",
            "the last record has to be at the end, not right below",
        ),
        Pair(
            "readers_16_fewer_records_than_offsets",
            "readers_17_as_many_records_as_offsets",
            "there have to be more records than offsets",
        ),
    ],
    "record-immutable": [
        Pair(
            "kip534_22_horizon_moves_the_timestamps",
            "kip534_23_timestamps_read_back",
            "how a batch writes its timestamps down may not change",
        ),
        Pair(
            "kip534_18_readers_see_the_header",
            "kip534_17_horizon_in_the_record",
            "no header may be added, not even among replicas",
        ),
    ],
    "record-offset-uniqueness": [
        Pair(
            "kip280_01_followers_assign_offsets",
            "kip280_04_followers_assign_offsets_leo_retention",
            "who numbers records itself moves them",
        ),
        Pair(
            "kip280_01_followers_assign_offsets",
            "kip280_83_followers_assign_the_same_offsets",
            "a pushed copy is another record",
        ),
    ],
    "replica-convergence": [
        Pair(
            "kip279_01_one_question_is_not_enough",
            "kip279_03_diverging_epoch_in_the_fetch",
            "logs that once differed never agree",
        ),
        Pair(
            "kip101_03_hw_truncation_forks_after_power_failure",
            "kip101_04_epoch_truncation_joins_the_lineages",
            "a second history is a difference, whoever still holds the first",
        ),
    ],
    "slot-agreement": [
        Pair(
            "kip280_15_believed_position_hw_truncation_no_fix",
            "kip280_16_believed_position_epoch_truncation_no_fix",
            "one of both high watermarks is enough",
        ),
        Pair(
            "kip101_03_hw_truncation_forks_after_power_failure",
            "kip101_04_epoch_truncation_joins_the_lineages",
            "above the high watermarks logs may not differ either",
        ),
    ],
    "snapshot-at-log-start": [
        Pair(
            "snap_06_prefix_deleted_without_a_snapshot",
            "snap_11_prefix_deleted_behind_a_snapshot",
            "a snapshot has to end below the log start",
        ),
        Pair(
            "snap_37_prefix_deleted_below_the_snapshot",
            "snap_11_prefix_deleted_behind_a_snapshot",
            "a snapshot that covers the prefix and more is not one that ends there",
        ),
    ],
    "snapshot-bound": [
        Pair(
            "snap_05_above_the_high_watermark",
            "snap_10_at_the_high_watermark",
            "a snapshot that ends at the high watermark ends above it",
        ),
        Pair(
            "snap_05_above_the_high_watermark",
            "snap_38_above_what_others_know",
            "what the others know to be committed bounds it",
        ),
    ],
    "snapshot-consistency": [
        Pair(
            "snap_05_above_the_high_watermark",
            "snap_10_at_the_high_watermark",
            "a snapshot holds what the log folds to now",
        ),
        Pair(
            "snap_05_above_the_high_watermark",
            "snap_38_above_what_others_know",
            "what is committed later is no part of it",
        ),
    ],
    "snapshot-fetch-progress": [
        Pair(
            "snap_20_deleted_faster_than_read",
            "snap_21_read_before_it_is_deleted",
            "one that is lost to a deletion is one too many",
        ),
    ],
    "snapshot-install-atomic": [
        Pair(
            "snap_16_log_emptied_by_the_first_chunk",
            "snap_17_log_kept_until_the_last_chunk",
            "the log of a replica may never be emptied, not even by the whole snapshot",
        ),
    ],
    "snapshot-never-regresses": [
        Pair(
            "snap_18_whatever_arrives_is_installed",
            "snap_19_a_snapshot_behind_the_log_is_dropped",
            "one that arrives late takes the replica back",
        ),
    ],
    "state-machine-safety": [
        Pair(
            "raft_01_commit_old_epoch_by_counting",
            "raft_03_commit_only_above_the_epoch_start",
            "what a majority has is committed",
        ),
        Pair(
            "isr_03_leader_alone_in_sync",
            "isr_04_too_few_in_sync_commit_nothing",
            "what was written is committed",
        ),
    ],
    "tombstone-eventually-removed": [
        Pair(
            "kip534_04_merged_segment_never_looks_old",
            "kip534_05_horizon_does_not_move",
            "a tombstone that stayed for its horizon stays for ever",
        ),
        Pair(
            "kip630_05_coordinated_with_an_absent_replica",
            "kip630_16_absent_replica_is_decommissioned",
            "who has left holds the tombstone",
        ),
    ],
    "tombstone-safety": [
        Pair(
            "kip630_01_tombstone_removed_too_early",
            "kip630_02_gated_by_every_log_end",
            "a replica that has the tombstone needs it, too",
        ),
        Pair(
            "kip630_09_new_replica_copied_in_two_parts",
            "kip630_10_new_replica_counts",
            "a replica that was added since counts as if it had always been there",
        ),
        Pair(
            "kip630_18_an_aborted_delete_saves_nobody",
            "kip630_17_lagging_log_deletes_the_key_itself",
            "a replica that holds the value needs this very tombstone",
        ),
        Pair(
            "kip630_20_the_newer_value_is_aborted",
            "kip630_19_a_newer_value_is_on_its_way",
            "a tombstone wins as long as its own log has nothing newer",
        ),
    ],
    "tombstone-until-log-end": [
        Pair(
            "kip630_25_to_the_letter",
            "kip630_26_everybody_has_the_second_tombstone",
            "who is away needs every tombstone",
        ),
        Pair(
            "kip630_01_tombstone_removed_too_early",
            "kip630_02_gated_by_every_log_end",
            "a log that ends right above the tombstone does not have it",
        ),
    ],
    "traffic-accounting": [
        Pair(
            "snap_22_snapshot_in_the_log",
            "snap_23_snapshot_beside_the_log",
            "a snapshot goes to everybody",
        ),
        Pair(
            "snap_34_elected_with_its_download",
            "snap_35_elected_without_its_download",
            "a download that begins again sends bytes twice",
        ),
    ],
    "truncation-below-log-start": [
        Pair(
            "log_start_01_truncation_below_the_log_start",
            "log_start_02_truncation_to_the_log_start",
            "a cut at the log start is below it",
        ),
    ],
    "txn-isolation": [
        Pair(
            "txn_01_abort_marker_lost",
            "txn_04_abort_marker_coordinated",
            "aborted data may not be in a log",
        ),
        Pair(
            "txn_12_marker_below_the_tombstones_watermark",
            "txn_13_marker_below_its_own_watermark",
            "a transaction without its marker has another verdict, whoever has the data",
        ),
    ],
    "txn-marker-safety": [
        Pair(
            "txn_01_abort_marker_lost",
            "txn_04_abort_marker_coordinated",
            "who has the marker needs it, too",
        ),
        Pair(
            "boot_01_abort_markers_as_one_key",
            "boot_02_abort_markers_have_no_key",
            "a marker that has met its horizon is removed",
        ),
        Pair(
            "txn_12_marker_below_the_tombstones_watermark",
            "txn_13_marker_below_its_own_watermark",
            "a watermark of the tombstones holds markers back",
        ),
    ],
    "winner-retained": [
        Pair(
            "kip280_77_ties_go_to_the_first_record",
            "kip280_78_ties_go_to_the_last_record",
            "the loser of a tie has to stay",
        ),
        Pair(
            "bound_04_winner_missing_on_a_replica",
            "bound_05_winner_kept_on_every_replica",
            "an uncommitted record wins",
        ),
    ],
}
