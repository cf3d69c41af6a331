"""Pairs of stories for the laws from a to k."""

from tests.story.pairs.pair import Pair

PAIRS: dict[str, list[Pair]] = {
    "clean-prefix": [
        Pair(
            "kip280_20_dirty_map_keeps_both_versions",
            "kip280_21_full_map_keeps_the_winner",
            "a late record stands beside the one that beats it until the next pass",
        ),
        Pair(
            "kip280_13_retained_loser_stays_with_a_dirty_map",
            "kip280_14_retained_loser_goes_with_a_full_map",
            "a loser that the fix kept while it was last counts from the first pass on",
        ),
        Pair(
            "checkpoint_02_saved_before_the_work",
            "checkpoint_05_begun_is_not_done",
            "what a pass began with is clean, whether it ended or not",
        ),
    ],
    "committed-never-lost": [
        Pair(
            "bound_06_uncommitted_winner_is_lost_with_the_tail",
            "bound_04_winner_missing_on_a_replica",
            "only a committed record makes up for a committed one, not one that the leader holds",
        ),
        Pair(
            "kip101_05_committed_record_nowhere_on_the_leader",
            "kip101_06_committed_record_on_the_leader",
            "what the leader does not know to be committed is lost",
        ),
        Pair(
            "swap_02_old_segments_deleted_first",
            "swap_04_cleaned_segment_first",
            "what a pass was about to take is lost when it is interrupted",
        ),
    ],
    "committed-replicated": [
        Pair(
            "isr_01_join_by_high_watermark_only",
            "isr_02_join_by_epoch_start",
            "who asks to join has joined",
        ),
        Pair(
            "kip280_16_believed_position_epoch_truncation_no_fix",
            "kip280_17_believed_position_epoch_truncation_empty_batch",
            "an empty batch is no record",
        ),
        Pair(
            "isr_03_leader_alone_in_sync",
            "isr_04_too_few_in_sync_commit_nothing",
            "what the leader alone has is committed as soon as it is written",
        ),
    ],
    "compaction-bound": [
        Pair(
            "bound_01_uncommitted_evicts_committed",
            "bound_02_cleaning_stops_at_the_high_watermark",
            "a log that holds an uncommitted record may not be cleaned at all",
        ),
        Pair(
            "bound_04_winner_missing_on_a_replica",
            "bound_07_committed_evicts_committed",
            "the last committed record, at the high watermark minus one, may beat nothing yet",
        ),
    ],
    "consistent-read": [
        Pair(
            "readers_01_two_records_at_one_offset",
            "readers_02_one_record_at_one_offset",
            "readers of two replicas differ, whatever they are given",
        ),
        Pair(
            "readers_07_position_checked_with_the_new_leader",
            "readers_06_position_carried_to_another_history",
            "a reader that goes on in another history, and never reads back, is inconsistent",
        ),
    ],
    "consumer-ends-current": [
        Pair(
            "kip280_69_consumer_takes_the_last_record",
            "kip280_70_consumer_applies_the_strategy",
            "a consumer keeps the last record it is given, whatever its order",
        ),
        Pair(
            "kip280_07_log_end_from_last_record",
            "kip280_08_log_end_stored",
            "a consumer that has read up to the last record has not read everything",
        ),
    ],
    "consumer-no-skip": [
        Pair(
            "kip280_07_log_end_from_last_record",
            "kip280_08_log_end_stored",
            "an offset whose record was cleaned away was skipped",
        ),
        Pair(
            "kip280_16_believed_position_epoch_truncation_no_fix",
            "kip280_37_believed_position_request",
            "a record above the position was skipped",
        ),
        Pair(
            "readers_03_a_record_nobody_delivers",
            "readers_04_superseded_records_may_be_passed",
            "every committed record has to be given, superseded or not",
        ),
    ],
    "consumer-reads-committed": [
        Pair(
            "readers_10_aborted_data_read_as_committed",
            "readers_11_aborted_data_kept_from_readers",
            "data of an aborted transaction may not be in the log that is read",
        ),
        Pair(
            "readers_10_aborted_data_read_as_committed",
            "readers_19_uncommitted_reader_is_given_aborted_data",
            "no reader may be given aborted data, not even one that reads uncommitted",
        ),
    ],
    "coordinator-serves-loaded": [
        Pair(
            "coord_02_serves_while_it_loads",
            "coord_01_loads_before_it_serves",
            "a coordinator that is loading has to answer",
        ),
        Pair(
            "coord_04_high_watermark_lags_and_answers_with_it",
            "coord_03_high_watermark_lags_and_all_that_was_loaded_counts",
            "what the new leader does not know to be committed may not be told",
        ),
        Pair(
            "coord_05_expired_group_returns",
            "coord_09_expired_group_stays_away",
            "a replica that was away may not coordinate",
        ),
    ],
    "consumer-tombstone-visibility": [
        Pair(
            "kip534_03_merged_segment_looks_old",
            "kip534_09_true_modification_times",
            "a tombstone that is due has to be given",
        ),
        Pair(
            "kip534_02_removed_at_once",
            "kip534_12_a_newer_value_is_as_good",
            "only the tombstone itself will do, not a later record of the key",
        ),
        Pair(
            "kip534_06_each_replica_has_its_own_horizon",
            "kip534_10_one_replica_in_time",
            "reads of two replicas never see the delete",
        ),
    ],
    "election-safety": [
        Pair(
            "raft_23_vote_kept_in_memory",
            "raft_24_vote_kept_on_disk",
            "who campaigns in an epoch leads it",
        ),
        Pair(
            "raft_07_forgotten_vote", "raft_08_vote_in_a_new_epoch", "there is one leader for ever"
        ),
        Pair(
            "raft_25_voters_compare_logs_only",
            "raft_26_one_vote_per_epoch",
            "two candidates of an epoch are two leaders",
        ),
    ],
    "epoch-cache-consistency": [
        Pair(
            "epochcache_05_two_answers_about_one_epoch",
            "epochcache_06_one_answer_about_every_epoch",
            "caches have to be equal, entry by entry",
        ),
        Pair(
            "files_03_file_of_epochs_is_ahead",
            "files_04_epochs_above_the_log_go",
            "an epoch above the log is an answer",
        ),
        Pair(
            "finding_09_ghost_of_an_old_leader",
            "finding_10_no_ghost_where_the_epoch_is_known",
            "ends above a high watermark count",
        ),
        Pair(
            "finding_09_ghost_of_an_old_leader",
            "finding_13_no_ghost_where_a_leader_writes_first",
            "one of both ends below the high watermarks is enough",
        ),
    ],
    "epoch-monotonic": [
        Pair(
            "raft_21_epoch_kept_in_memory", "raft_22_epoch_kept_on_disk", "a restart is a new epoch"
        ),
        Pair(
            "raft_11_epochs_fall_along_the_log",
            "raft_12_epochs_rise_along_the_log",
            "a log holds records of one epoch",
        ),
    ],
    "follower-position-sound": [
        Pair(
            "kip280_16_believed_position_epoch_truncation_no_fix",
            "kip280_37_believed_position_request",
            "a position at the follower's log end is above its last record",
        ),
        Pair(
            "kip280_18_expired_last_tombstone",
            "kip280_19_expired_last_tombstone_empty_batch",
            "a follower does not have an offset that it holds no record at",
        ),
    ],
    "hole-justified": [
        Pair(
            "bound_01_uncommitted_evicts_committed",
            "bound_02_cleaning_stops_at_the_high_watermark",
            "the end of an uncommitted tail is a hole",
        ),
        Pair(
            "kip280_15_believed_position_hw_truncation_no_fix",
            "kip280_26_believed_position_hw_truncation_empty_batch",
            "an empty batch is a hole",
        ),
        Pair(
            "kip280_77_ties_go_to_the_first_record",
            "kip280_78_ties_go_to_the_last_record",
            "what was superseded has to be there",
        ),
    ],
    "horizon-stability": [
        Pair(
            "kip534_19_horizon_of_each_pass",
            "kip534_20_horizon_of_the_first_pass",
            "every pass that meets a tombstone sets its horizon",
        ),
        Pair(
            "kip534_19_horizon_of_each_pass",
            "kip534_21_horizon_once_mapped",
            "a horizon that comes with a later pass has changed",
        ),
    ],
    "hw-monotonic": [
        Pair(
            "raft_28_high_watermark_taken_as_it_is",
            "raft_29_high_watermark_never_falls",
            "an answer with a lower high watermark is a lower high watermark",
        ),
        Pair(
            "raft_28_high_watermark_taken_as_it_is",
            "raft_32_high_watermark_of_a_new_disk",
            "a new disk, whose high watermark starts over, takes it back",
        ),
    ],
    "hw-within-log": [
        Pair(
            "raft_30_high_watermark_above_the_log",
            "raft_31_high_watermark_falls_with_the_log",
            "a high watermark never falls, not even with the tail",
        ),
        Pair(
            "raft_30_high_watermark_above_the_log",
            "raft_33_all_of_the_log_is_committed",
            "a high watermark at the log end is above the last record",
        ),
    ],
    "key-ends-as-meant": [
        Pair(
            "kip280_84_late_write_wins_by_offset",
            "kip280_85_late_write_loses_by_its_version",
            "the last record of a key was meant to win",
        ),
        Pair(
            "kip280_84_late_write_wins_by_offset",
            "kip280_87_slow_clock_is_no_late_write",
            "the record with the newer timestamp was meant to win, whatever the versions say",
        ),
    ],
}
