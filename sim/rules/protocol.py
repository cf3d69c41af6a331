"""The rules of replication: offsets, elections, truncation, commit, and upgrades."""

from __future__ import annotations

from sim.rules.spec import RuleSpec, Value

PROTOCOL_RULES = (
    RuleSpec(
        "commit",
        "what makes the high watermark",
        (
            Value(
                "majority",
                "what a majority of the voters has",
                "LeaderState.maybeUpdateHighWatermark; KIP-595",
                "raft/raft_01_commit_old_epoch_by_counting.yaml",
            ),
            Value(
                "isr",
                "what every in-sync replica has",
                "Partition.maybeIncrementLeaderHW",
                "bounds/bound_01_uncommitted_evicts_committed.yaml",
            ),
        ),
    ),
    RuleSpec(
        "min_isr",
        "isr: smallest in-sync set with which the high watermark moves",
        source="min.insync.replicas, KIP-966",
        minimum=1,
    ),
    RuleSpec(
        "isr_join",
        "which position lets a follower join the in-sync replicas",
        (
            Value(
                "epoch_start",
                "one at or above the high watermark and the start of the leader's epoch",
                "Partition.isFollowerInSync",
                "isr/isr_02_join_by_epoch_start.yaml",
            ),
            Value(
                "hw_only",
                "one at or above the high watermark",
                "Kip320FirstTry in hachikuji/kafka-specification",
                "isr/isr_01_join_by_high_watermark_only.yaml",
            ),
        ),
    ),
    RuleSpec(
        "epoch_commit_rule",
        "majority: how far a majority has to be for the high watermark to move in a new epoch",
        (
            Value(
                "strict",
                "above the epoch's start",
                "LeaderState.maybeUpdateHighWatermark; Raft paper 5.4.2",
                "raft/raft_03_commit_only_above_the_epoch_start.yaml",
            ),
            Value(
                "off_by_one",
                "at the epoch's start or above",
                "LeaderState.maybeUpdateHighWatermark before KAFKA-12619",
                "raft/raft_02_commit_at_the_epoch_start.yaml",
            ),
            Value(
                "none",
                "anywhere: records of older epochs are committed by counting",
                "Raft paper, figure 8",
                "raft/raft_01_commit_old_epoch_by_counting.yaml",
            ),
        ),
    ),
    RuleSpec(
        "truncation",
        "what a follower does with a tail that its leader does not have",
        (
            Value(
                "epoch_diverging",
                "every fetch names its last epoch; the answer says where the logs diverge",
                "KIP-595; AbstractFetcherThread.truncateOnFetchResponse",
                "truncation/kip101_02_epoch_truncation_keeps_it.yaml",
            ),
            Value(
                "epoch_kip279",
                "a new follower asks where epochs end until the leader knows the epoch",
                "KIP-279; AbstractFetcherThread.getOffsetTruncationState",
                "truncation/kip279_02_ask_until_the_epochs_match.yaml",
            ),
            Value(
                "epoch_kip101",
                "a new follower asks once where its last epoch ends",
                "KIP-101; LeaderEpochFileCache.endOffsetFor before KIP-279",
                "truncation/kip279_01_one_question_is_not_enough.yaml",
            ),
            Value(
                "high_watermark",
                "a new follower cuts its log at its own high watermark",
                "Kafka before KIP-101; AbstractFetcherThread.truncateToHighWatermark",
                "truncation/kip101_01_hw_truncation_loses_a_committed_record.yaml",
            ),
            Value(
                "none",
                "it keeps the tail",
                "KIP-280, Special case where we need to retain LEO: its drawing needs it",
                "truncation/kip101_07_no_truncation.yaml",
            ),
        ),
    ),
    RuleSpec(
        "follower_position",
        "what a leader believes a follower has after a fetch that found nothing",
        (
            Value(
                "read_end",
                "everything: the position is the leader's own log end",
                "LocalLog.read; Partition.fetchRecords",
                "kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml",
            ),
            Value(
                "request",
                "what the follower said: the position is the fetch offset",
                "KIP-595, Fetch: the fetch offset acknowledges what is below it",
                "kip280/kip280_37_believed_position_request.yaml",
            ),
        ),
    ),
    RuleSpec(
        "leo_source",
        "where a replica knows its log end offset from after cleaning and after a restart",
        (
            Value(
                "stored",
                "it is kept beside the records",
                "LocalLog.nextOffsetMetadata",
                "kip280/kip280_50_cleaning_leaves_the_log_end.yaml",
            ),
            Value(
                "last_record",
                "it is the offset after the last record that is left",
                "etcd issue 17780",
                "kip280/kip280_49_cleaning_moves_the_log_end.yaml",
            ),
        ),
    ),
    RuleSpec(
        "offset_assignment",
        "who gives offsets; a story's step `push` shows the second, a timed run refuses it",
        (
            Value(
                "leader_assigned",
                "the leader; followers keep its offsets, gaps included",
                "UnifiedLog.appendAsFollower",
                "kip280/kip280_08_log_end_stored.yaml",
            ),
            Value(
                "follower_assigned",
                "each follower numbers what it appends from its own log end on",
                "KIP-280, Special case where we need to retain LEO: its drawing",
                "kip280/kip280_04_followers_assign_offsets_leo_retention.yaml",
            ),
        ),
    ),
    RuleSpec(
        "leader_change_record",
        "whether a new leader first appends a control record",
        (
            Value(
                name=False,
                means="no: an epoch begins with the first record that a client sends",
                source="Partition.makeLeader",
                example="raft/raft_16_no_commit_before_the_first_write.yaml",
            ),
            Value(
                name=True,
                means="yes, and it takes an offset",
                source="LeaderState.appendStartOfEpochControlRecords; KIP-595",
                example="raft/raft_15_leader_change_record_commits_the_old_epoch.yaml",
            ),
        ),
    ),
    RuleSpec(
        "fencing",
        "whether requests and answers of older epochs are refused",
        (
            Value(
                name=True,
                means="yes",
                source="KIP-320; Partition.checkCurrentLeaderEpoch",
                example="raft/raft_10_stale_leader_is_refused.yaml",
            ),
            Value(
                name=False,
                means="no: a follower may go back to a leader of an older epoch",
                source="Kafka before KIP-320",
                example="raft/raft_09_stale_leader_is_followed.yaml",
            ),
        ),
    ),
)
"""In no particular order: `Rules` has the order."""
