"""For each invariant the story that violates it, and its nearest neighbour that does not.

Most neighbours are one rule apart, the others a step or two.
"""

PAIRS: dict[str, tuple[str, str]] = {
    "record-immutable": (
        "kip534_22_horizon_moves_the_timestamps",
        "kip534_23_timestamps_read_back",
    ),
    "clean-prefix": (
        "kip280_20_dirty_map_keeps_both_versions",
        "kip280_21_full_map_keeps_the_winner",
    ),
    "committed-never-lost": (
        "kip101_05_committed_record_nowhere_on_the_leader",
        "kip101_06_committed_record_on_the_leader",
    ),
    "committed-replicated": (
        "isr_01_join_by_high_watermark_only",
        "isr_02_join_by_epoch_start",
    ),
    "compaction-bound": (
        "bound_01_uncommitted_evicts_committed",
        "bound_02_cleaning_stops_at_the_high_watermark",
    ),
    "consistent-read": (
        "readers_01_two_records_at_one_offset",
        "readers_02_one_record_at_one_offset",
    ),
    "consumer-reads-committed": (
        "readers_10_aborted_data_read_as_committed",
        "readers_11_aborted_data_kept_from_readers",
    ),
    "reader-reaches-end": (
        "readers_12_position_never_reaches_the_end",
        "readers_13_empty_batch_moves_the_position",
    ),
    "consumer-ends-current": (
        "kip280_69_consumer_takes_the_last_record",
        "kip280_70_consumer_applies_the_strategy",
    ),
    "consumer-no-skip": (
        "kip280_07_log_end_from_last_record",
        "kip280_08_log_end_stored",
    ),
    "consumer-tombstone-visibility": (
        "kip534_03_merged_segment_looks_old",
        "kip534_09_true_modification_times",
    ),
    "election-safety": ("raft_23_vote_kept_in_memory", "raft_24_vote_kept_on_disk"),
    "epoch-cache-consistency": (
        "epochcache_05_two_answers_about_one_epoch",
        "epochcache_06_one_answer_about_every_epoch",
    ),
    "epoch-monotonic": ("raft_21_epoch_kept_in_memory", "raft_22_epoch_kept_on_disk"),
    "follower-position-sound": (
        "kip280_16_believed_position_epoch_truncation_no_fix",
        "kip280_37_believed_position_request",
    ),
    "hole-justified": (
        "bound_01_uncommitted_evicts_committed",
        "bound_02_cleaning_stops_at_the_high_watermark",
    ),
    "horizon-stability": (
        "kip534_19_horizon_of_each_pass",
        "kip534_20_horizon_of_the_first_pass",
    ),
    "hw-monotonic": (
        "raft_28_high_watermark_taken_as_it_is",
        "raft_29_high_watermark_never_falls",
    ),
    "hw-within-log": (
        "raft_30_high_watermark_above_the_log",
        "raft_31_high_watermark_falls_with_the_log",
    ),
    "leader-append-only": ("raft_19_late_answer_is_acted_on", "raft_20_late_answer_is_ignored"),
    "leader-completeness": (
        "kip280_16_believed_position_epoch_truncation_no_fix",
        "kip280_17_believed_position_epoch_truncation_empty_batch",
    ),
    "leader-never-loads-snapshot": (
        "snap_14_leader_loads_a_snapshot",
        "snap_15_follower_loads_a_snapshot",
    ),
    "leo-convergence": (
        "kip280_09_quiet_partition_never_catches_up",
        "kip280_10_quiet_partition_empty_batch",
    ),
    "leo-preservation": (
        "kip280_49_cleaning_moves_the_log_end",
        "kip280_50_cleaning_leaves_the_log_end",
    ),
    "log-matching": (
        "kip279_01_one_question_is_not_enough",
        "kip279_02_ask_until_the_epochs_match",
    ),
    "lso-progress": ("txn_02_commit_marker_lost", "txn_06_commit_marker_coordinated"),
    "materialized-state-equivalence": (
        "kip630_01_tombstone_removed_too_early",
        "kip630_02_gated_by_every_log_end",
    ),
    "no-offset-reuse": (
        "kip280_15_believed_position_hw_truncation_no_fix",
        "kip280_26_believed_position_hw_truncation_empty_batch",
    ),
    "no-resurrection": (
        "kip630_07_rebuild_forgotten_by_the_next_leader",
        "kip630_08_rebuild_handed_on",
    ),
    "no-transient-resurrection": (
        "kip280_81_late_version_shown_until_the_next_write",
        "kip280_82_late_version_meets_its_tombstone",
    ),
    "no-truncation-below-hw": (
        "raft_09_stale_leader_is_followed",
        "raft_10_stale_leader_is_refused",
    ),
    "offset-epoch-uniqueness": (
        "raft_04_leader_resumes_its_epoch",
        "raft_05_leader_needs_a_new_epoch",
    ),
    "prefix-deletion-safety": (
        "snap_06_prefix_deleted_without_a_snapshot",
        "snap_11_prefix_deleted_behind_a_snapshot",
    ),
    "record-offset-uniqueness": (
        "kip280_01_followers_assign_offsets",
        "kip280_04_followers_assign_offsets_leo_retention",
    ),
    "replica-convergence": (
        "kip279_01_one_question_is_not_enough",
        "kip279_03_diverging_epoch_in_the_fetch",
    ),
    "slot-agreement": (
        "kip280_15_believed_position_hw_truncation_no_fix",
        "kip280_16_believed_position_epoch_truncation_no_fix",
    ),
    "snapshot-at-log-start": (
        "snap_06_prefix_deleted_without_a_snapshot",
        "snap_11_prefix_deleted_behind_a_snapshot",
    ),
    "snapshot-bound": ("snap_05_above_the_high_watermark", "snap_10_at_the_high_watermark"),
    "snapshot-fetch-progress": (
        "snap_20_deleted_faster_than_read",
        "snap_21_read_before_it_is_deleted",
    ),
    "snapshot-install-atomic": (
        "snap_16_log_emptied_by_the_first_chunk",
        "snap_17_log_kept_until_the_last_chunk",
    ),
    "snapshot-never-regresses": (
        "snap_18_whatever_arrives_is_installed",
        "snap_19_a_snapshot_behind_the_log_is_dropped",
    ),
    "snapshot-consistency": ("snap_05_above_the_high_watermark", "snap_10_at_the_high_watermark"),
    "state-machine-safety": (
        "raft_01_commit_old_epoch_by_counting",
        "raft_03_commit_only_above_the_epoch_start",
    ),
    "tombstone-eventually-removed": (
        "kip534_04_merged_segment_never_looks_old",
        "kip534_05_horizon_does_not_move",
    ),
    "tombstone-safety": (
        "kip630_01_tombstone_removed_too_early",
        "kip630_02_gated_by_every_log_end",
    ),
    "tombstone-until-log-end": (
        "kip630_25_to_the_letter",
        "kip630_26_everybody_has_the_second_tombstone",
    ),
    "traffic-accounting": (
        "snap_22_snapshot_in_the_log",
        "snap_23_snapshot_beside_the_log",
    ),
    "truncation-below-log-start": (
        "log_start_01_truncation_below_the_log_start",
        "log_start_02_truncation_to_the_log_start",
    ),
    "txn-isolation": ("txn_01_abort_marker_lost", "txn_04_abort_marker_coordinated"),
    "txn-marker-safety": ("txn_01_abort_marker_lost", "txn_04_abort_marker_coordinated"),
    "winner-retained": (
        "kip280_77_ties_go_to_the_first_record",
        "kip280_78_ties_go_to_the_last_record",
    ),
}
"""Invariant -> (id of a story that violates it, id of the nearest one that does not)."""

MORE_PAIRS: tuple[tuple[str, str, str], ...] = (
    (
        "tombstone-safety",
        "kip630_18_an_aborted_delete_saves_nobody",
        "kip630_17_lagging_log_deletes_the_key_itself",
    ),
    (
        "tombstone-safety",
        "kip630_20_the_newer_value_is_aborted",
        "kip630_19_a_newer_value_is_on_its_way",
    ),
    (
        "no-resurrection",
        "kip630_21_an_aborted_value_hides_nothing",
        "kip630_22_a_committed_value_takes_its_place",
    ),
    (
        "no-resurrection",
        "kip630_24_a_tombstone_below_the_value_deletes_nothing",
        "kip630_23_a_lesser_tombstone_deletes_as_well",
    ),
)
"""(invariant, id of a story that violates it, id of its neighbour): where a looser reading errs."""

UNREACHABLE: dict[str, str] = {
    "acknowledged-committed": "tests/check/test_promises.py",
    "acknowledged-kept": "tests/check/test_protocol.py",
    "consumer-continues": "tests/check/test_promises.py",
    "consumer-takes-deletes": "tests/check/test_readers.py",
    "compaction-lag-bound": "tests/check/test_lag.py",
    "high-watermark-advances": "tests/check/test_promises.py",
    "lag-metric": "tests/check/test_lag.py",
    "producer-sequences": "tests/check/test_promises.py",
}
"""Invariants that no rule of the core can violate: hand-made events do, in the file named."""
