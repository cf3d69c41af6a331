"""Scenario files and log files that differ in one thing, and in what."""

KAFKA_4 = {
    "rules.cleaner_bound",
    "rules.empty_segments",
    "rules.fix",
    "rules.high_watermark_waits_for",
    "rules.index_entries",
    "rules.marker_lookup",
    "rules.old_formats",
    "rules.tombstone_removal",
}
"""What a broker of 4.0 does otherwise than one of 2.8, in these scenarios."""

LAST_SEND = {"workload.sends.2.at_ms", "workload.sends.2.timestamp_ms"}

ORDER_OF_THE_ROLLOUT = {
    *[f"changes.{number}.{field}" for number in range(1, 6) for field in ("at_ms", "replica")],
    *[f"changes.{number}.{kind}" for number in (1, 2, 4, 5) for kind in ("producer", "settings")],
}
MOMENTS_OF_THE_ROLLBACK = {f"changes.{number}.at_ms" for number in range(3)}

TWINS = (
    (
        "snapshots/timed_deltas_cleaned_by_key",
        "snapshots/timed_deltas_in_snapshots",
        {"rules.cleanup"},
    ),
    (
        "snapshots/timed_deleted_under_the_reader",
        "snapshots/timed_kept_for_the_reader",
        {"snapshots.retention_bytes"},
    ),
    (
        "snapshots/timed_log_emptied_by_the_first_chunk",
        "snapshots/timed_install_finished_by_a_restart",
        {"rules.snapshot_install"},
    ),
    ("snapshots/timed_prefix_at_once", "snapshots/timed_prefix_waits", {"rules.prefix_gate"}),
    (
        "snapshots/timed_prefix_waits",
        "snapshots/timed_prefix_waits_too_short",
        {"rules.start_offset_lag_ms"},
    ),
    ("snapshots/timed_away_cleaned_by_key", "snapshots/timed_away_snapshots", {"rules.cleanup"}),
    ("snapshots/timed_away_both", "snapshots/timed_away_snapshots", {"rules.cleanup"}),
    (
        "upgrade/timed_02_late_write_before_the_strategy",
        "upgrade/timed_03_strategy_before_the_producers",
        ORDER_OF_THE_ROLLOUT,
    ),
    (
        "upgrade/timed_04_one_broker_still_goes_by_offset",
        "upgrade/timed_05_one_broker_is_late",
        {"changes"},
    ),
    (
        "upgrade/timed_06_one_producer_sends_no_versions",
        "upgrade/timed_07_every_producer_sends_versions",
        {"changes"},
    ),
    (
        "upgrade/timed_08_rollback_after_cleaning",
        "upgrade/timed_09_rollback_before_cleaning",
        MOMENTS_OF_THE_ROLLBACK,
    ),
    (
        "upgrade/timed_09_rollback_before_cleaning",
        "upgrade/timed_10_rollback_reaches_one_broker_late",
        {"changes.2.at_ms"},
    ),
    (
        "liveness/timed_tombstone_stays",
        "liveness/timed_tombstone_goes",
        {"rules.tombstone_removal"},
    ),
    (
        "liveness/timed_coordinated_one_never_cleans",
        "liveness/timed_coordinated_everybody_cleans",
        {"replicas.2.cleaner_backoff_ms"},
    ),
    (
        "bootstrap/timed_cleaned_while_copied",
        "bootstrap/timed_cleaned_while_copied_coordinated",
        {"rules.tombstone_removal"},
    ),
    (
        "bootstrap/timed_two_sources",
        "bootstrap/timed_two_sources_coordinated",
        {"rules.tombstone_removal"},
    ),
    (
        "bootstrap/timed_epoch_cache_rebuilt",
        "bootstrap/timed_epoch_cache_copied",
        {"rules.epoch_cache"},
    ),
    (
        "bootstrap/timed_abort_markers_as_one_key",
        "bootstrap/timed_abort_markers_have_no_key",
        {"rules.marker_lookup"},
    ),
    (
        "bootstrap/timed_copy_without_end",
        "bootstrap/timed_copy_with_an_end",
        {"rules.fix"},
    ),
    (
        "readers/timed_aborted_data_read",
        "readers/timed_aborted_data_kept_back",
        {"rules.tombstone_removal"},
    ),
    (
        "readers/timed_position_carried_over",
        "readers/timed_position_checked",
        {"rules.consumer_validation"},
    ),
    ("readers/timed_end_never_reached", "readers/timed_end_reached", {"rules.fix"}),
    (
        "raft/timed_back_from_a_partition",
        "raft/timed_back_from_a_partition_pre_vote",
        {"rules.pre_vote"},
    ),
    (
        "raft/timed_leader_without_a_majority",
        "raft/timed_leader_without_a_majority_resigns",
        {"rules.check_quorum"},
    ),
    (
        "raft/timed_leader_resumes",
        "raft/timed_restarted_leader_has_resigned",
        {"rules.leader_restart"},
    ),
    ("raft/timed_leader_names_nobody", "raft/timed_leader_retires", {"rules.successors"}),
    (
        "isr/timed_nobody_but_the_in_sync_set",
        "isr/timed_eligible_leader_replicas",
        {"rules.eligible_leaders"},
    ),
    ("isr/timed_unclean_election", "isr/timed_clean_election_waits", {"rules.unclean_election"}),
    ("isr/timed_unclean_election_min_isr", "isr/timed_unclean_election", {"rules.min_isr"}),
    ("isr/timed_enough_replicas", "isr/timed_not_enough_replicas", {"rules.min_isr"}),
    ("isr/timed_acknowledged_by_the_leader", "isr/timed_acknowledged_by_all", {"workload.acks"}),
    ("raft/timed_votes_that_do_not_bind", "raft/timed_votes_on_disk", {"rules.vote_storage"}),
    (
        "durability/timed_old_file_of_epochs",
        "durability/timed_epochs_from_the_batches",
        {"rules.epoch_recovery"},
    ),
    (
        "durability/timed_old_high_watermark",
        "durability/timed_high_watermark_of_the_crash",
        {"faults.0.high_watermark"},
    ),
    (
        "durability/timed_power_failure",
        "durability/timed_power_failure_every_append_flushed",
        {"rules.flush"},
    ),
    (
        "durability/timed_power_failure_flushed_by_time",
        "durability/timed_power_failure",
        {"topic.flush_ms"},
    ),
    (
        "durability/timed_last_in_sync_replica_lost_its_tail",
        "durability/timed_eligible_leader_instead_of_it",
        {"rules.eligible_leaders"},
    ),
    (
        "durability/timed_last_in_sync_replica_lost_its_tail",
        "durability/timed_last_in_sync_replica_flushed_it",
        {"rules.flush"},
    ),
    (
        "durability/timed_swap_segments_missing",
        "durability/timed_swap_finished",
        {"rules.segment_swap"},
    ),
    ("durability/timed_power_failure_of_one", "durability/timed_power_failure", {"faults"}),
    ("kip280/timed_low_rate", "kip280/timed_low_rate_maximum_lag", {"topic.max_compaction_lag_ms"}),
    *(
        (f"kip280/timed_{name}_offset", f"kip280/timed_{name}_{other}", {"rules.strategy"})
        for name, other in (
            ("async_producer", "header"),
            ("async_producer", "timestamp"),
            ("two_producers", "header"),
            ("late_retry", "header"),
            ("two_transactional_producers", "header"),
        )
    ),
    (
        "kip280/timed_async_producer_offset",
        "kip280/timed_async_producer_one_in_flight",
        {"workload.idempotent"},
    ),
    (
        "kip280/timed_two_version_headers_last_counts",
        "kip280/timed_two_version_headers_first_counts",
        {"rules.header_form"},
    ),
    (
        "upgrade/timed_12_rollback_producers_first",
        "upgrade/timed_13_rollback_producers_first_before_cleaning",
        {f"changes.{number}.at_ms" for number in (2, 3, 4)},
    ),
    (
        "transactions/timed_index_seek",
        "transactions/timed_index_seek_interval",
        {"rules.index_interval_bytes"},
    ),
    ("kip354/kip354_02_idle_partition", "kip354/timed_idle_partition_timer", {"rules.roll"}),
    ("kip354/kip354_01_worst_case", "kip354/timed_worst_case_one_ms_late", LAST_SEND),
    (
        "kip354/timed_worst_case_one_ms_late",
        "kip354/timed_worst_case_one_ms_late_timer",
        {"rules.roll"},
    ),
    (
        "kip354/timed_refused_delete",
        "kip354/timed_accepted_delete",
        {"topic.timestamp_difference_max_ms"},
    ),
    (
        "kip354/timed_lag_metric_of_the_last_round",
        "kip354/timed_lag_metric_of_every_scan",
        {"rules.lag_metric"},
    ),
    (
        "kip354/timed_merged_segment_outlives_retention",
        "kip354/timed_small_segments_keep_retention",
        {"topic.segment_bytes"},
    ),
    (
        "kip354/timed_estimate_previous_segment",
        "kip354/timed_estimate_first_timestamp",
        {"rules.lag_estimate"},
    ),
    ("kip630/timed_replica_is_away", "kip630/timed_replica_is_removed", {"faults"}),
    (
        "kip630/timed_isolated_replica_coordinated",
        "kip630/timed_isolated_replica_horizon",
        {"rules.tombstone_removal"},
    ),
    (
        "kip630/timed_stalled_recovery_coordinated",
        "kip630/timed_stalled_recovery_horizon",
        {"rules.tombstone_removal"},
    ),
    ("kip534/timed_tombstone_too_early", "kip534/timed_tombstone_in_time", KAFKA_4),
    ("kip534/timed_tombstone_never", "kip534/timed_tombstone_after_all", KAFKA_4),
    (
        "kip534/timed_partial_round_stamp",
        "kip534/timed_partial_round_mapped",
        {"rules.horizon_stamp"},
    ),
    ("kip534/timed_times_move", "kip534/timed_times_read_back", {"rules.horizon_rebase"}),
    (
        "kip534/timed_checkpoint_under_frequent_rounds",
        "kip534/timed_horizon_under_frequent_rounds",
        {"rules.tombstone_removal"},
    ),
    (
        "kip534/timed_checkpoint_on_a_new_disk",
        "kip534/timed_horizon_on_a_new_disk",
        {"rules.tombstone_removal"},
    ),
    (
        "kip534/timed_upgrade_header_falls_back",
        "kip534/timed_upgrade_header_stamped",
        {"rules.unstamped_tombstones"},
    ),
    (
        "kip534/timed_upgrade_checkpoint_rewritten",
        "kip534/timed_upgrade_horizon_waits",
        {"changes.0.settings.0.1"},
    ),
    (
        "kip534/timed_batch_growth",
        "kip534/timed_batch_growth_fits",
        {"topic.max_message_bytes"},
    ),
    (
        "kip534/timed_marker_goes_in_three_rounds",
        "kip534/timed_marker_without_maximum_lag",
        {"topic.max_compaction_lag_ms"},
    ),
)
"""Two timed scenarios, and the only settings in which they differ."""

SEGMENTS = "segments"

LOG_TWINS = (
    ("kip354/eligible_idle_partition", "kip354/eligible_idle_partition_rolled", "logs"),
    ("kip354/eligible_deadline_missed", "kip354/eligible_deadline_faster_disk", "broker"),
    ("kip354/eligible_deadline_missed", "kip354/eligible_deadline_most_overdue_first", "schedule"),
    ("kip354/eligible_deadline_missed", "kip354/eligible_deadline_two_threads", "broker"),
    ("kip354/eligible_lag_per_topic", "kip354/eligible_lag_of_the_broker", "logs"),
    ("kip354/eligible_no_timestamps", "kip354/eligible_no_timestamps_estimated", "rules"),
    ("kip354/eligible_overdue_but_too_young", "kip354/eligible_overdue_and_old_enough", "logs"),
    ("kip354/eligible_quiet_topic", "kip354/eligible_quiet_topic_estimated", "rules"),
    ("kip354/eligible_ratio_zero", "kip354/eligible_maximum_lag_instead", "topic"),
    ("kip354/eligible_low_rate", "kip354/eligible_low_rate_with_maximum_lag", "topic"),
    ("kip354/eligible_worst_case", "kip354/eligible_worst_case_one_ms_later", "now_ms"),
    ("kip534/log_horizon_deltas_kept", "kip534/log_horizon_deltas_rewritten", "rules"),
    ("kip534/log_mixed_formats", "kip534/log_mixed_formats_kept", "rules"),
    ("kip534/log_old_format_kept", "kip534/log_old_format_converted", "rules"),
    ("kip534/log_old_tombstone_goes_at_sight", "kip534/log_old_tombstone_gets_a_horizon", SEGMENTS),
    ("kip534/log_old_unkeyed_tail_stops_cleaning", "kip534/log_new_unkeyed_tail", SEGMENTS),
    ("kip534/log_old_unkeyed_tail_stops_cleaning", "kip534/log_old_unkeyed_tail_before_4", "rules"),
    ("kip534/log_partial_round_stamp", "kip534/log_partial_round_mapped", "rules"),
    ("transactions/log_index_seek", "transactions/log_index_seek_small", SEGMENTS),
    ("transactions/log_index_seek", "transactions/log_index_seek_interval", "rules"),
    ("transactions/log_index_seek", "transactions/log_index_seek_per_append", "rules"),
    ("transactions/log_index_seek", "transactions/log_index_seek_segment_start", "rules"),
    ("transactions/log_evicted_abort_stops_cleaning", "transactions/log_evicted_commit", SEGMENTS),
    ("kip534/log_tombstone_never", "kip534/log_tombstone_after_all", "rules"),
)
"""Two log files, and the only part in which they differ; one may have more steps."""
