"""The rules of replication: offsets, commit, truncation, and what a copy of a log brings along."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.protocol.rules.spec import Value

Truncation = Literal["epoch_diverging", "epoch_kip279", "epoch_kip101", "high_watermark", "none"]
"""What a follower does with a tail that its leader does not have."""

Awaited = Literal["in_sync_set", "caught_up", "caught_up_eligible"]
"""Whose positions hold the high watermark of a leader back."""


class ReplicationRules(Struct, frozen=True, gc=False):
    """How followers copy a leader's log, and what makes a record committed."""

    commit: Annotated[
        Literal["majority", "isr"],
        "what makes the high watermark",
        Value(
            "what a majority of the voters has",
            "LeaderState.maybeUpdateHighWatermark; KIP-595",
            "raft/raft_01_commit_old_epoch_by_counting.yaml",
        ),
        Value(
            "what every in-sync replica has",
            "Partition.maybeIncrementLeaderHW",
            "bounds/bound_01_uncommitted_evicts_committed.yaml",
        ),
    ] = "majority"
    high_watermark_waits_for: Annotated[
        Awaited,
        "isr: whose positions hold the high watermark back",
        Value(
            "those of the in-sync replicas alone, which is the default of stories",
            "Partition.maybeIncrementLeaderHW in Kafka 0.10",
            "isr/isr_08_who_is_no_member_is_left_behind.yaml",
        ),
        Value(
            "also of those that had the leader's log end within replica.lag.time.max.ms",
            "Partition.maybeIncrementLeaderHW before KAFKA-15021",
            "isr/isr_09_who_is_down_is_waited_for.yaml",
        ),
        Value(
            "also of such that may join: neither fenced nor shutting down, and of this life",
            "Partition.maybeIncrementLeaderHW, .isReplicaIsrEligible; KAFKA-15021",
            "isr/isr_07_who_is_about_to_join_is_waited_for.yaml",
        ),
    ] = "in_sync_set"
    isr_join: Annotated[
        Literal["epoch_start", "hw_only"],
        "which position lets a follower join the in-sync replicas",
        Value(
            "one at or above the high watermark and the start of the leader's epoch",
            "Partition.isFollowerInSync",
            "isr/isr_02_join_by_epoch_start.yaml",
        ),
        Value(
            "one at or above the high watermark",
            "Kip320FirstTry in hachikuji/kafka-specification",
            "isr/isr_01_join_by_high_watermark_only.yaml",
        ),
    ] = "epoch_start"
    epoch_commit_rule: Annotated[
        Literal["strict", "off_by_one", "none"],
        "majority: how far a majority has to be for the high watermark to move in a new epoch",
        Value(
            "above the epoch's start",
            "LeaderState.maybeUpdateHighWatermark; Raft paper 5.4.2",
            "raft/raft_03_commit_only_above_the_epoch_start.yaml",
        ),
        Value(
            "at the epoch's start or above",
            "LeaderState.maybeUpdateHighWatermark before KAFKA-12619",
            "raft/raft_02_commit_at_the_epoch_start.yaml",
        ),
        Value(
            "anywhere: records of older epochs are committed by counting",
            "Raft paper, figure 8",
            "raft/raft_01_commit_old_epoch_by_counting.yaml",
        ),
    ] = "strict"
    truncation: Annotated[
        Truncation,
        "what a follower does with a tail that its leader does not have",
        Value(
            "every fetch names its last epoch; the answer says where the logs diverge",
            "KIP-595; AbstractFetcherThread.truncateOnFetchResponse",
            "truncation/kip101_02_epoch_truncation_keeps_it.yaml",
        ),
        Value(
            "a new follower asks where epochs end until the leader knows the epoch",
            "KIP-279; AbstractFetcherThread.getOffsetTruncationState",
            "truncation/kip279_02_ask_until_the_epochs_match.yaml",
        ),
        Value(
            "a new follower asks once where its last epoch ends",
            "KIP-101; LeaderEpochFileCache.endOffsetFor before KIP-279",
            "truncation/kip279_01_one_question_is_not_enough.yaml",
        ),
        Value(
            "a new follower cuts its log at its own high watermark",
            "Kafka before KIP-101; AbstractFetcherThread.truncateToHighWatermark",
            "truncation/kip101_01_hw_truncation_loses_a_committed_record.yaml",
        ),
        Value(
            "it keeps the tail",
            "KIP-280, Special case where we need to retain LEO: its drawing needs it",
            "truncation/kip101_07_no_truncation.yaml",
        ),
    ] = "epoch_diverging"
    follower_position: Annotated[
        Literal["read_end", "request"],
        "what a leader believes a follower has after a fetch that found nothing",
        Value(
            "everything: the position is the leader's own log end",
            "LocalLog.read; Partition.fetchRecords",
            "kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml",
        ),
        Value(
            "what the follower said: the position is the fetch offset",
            "KIP-595, Fetch: the fetch offset acknowledges what is below it",
            "kip280/kip280_37_believed_position_request.yaml",
        ),
    ] = "read_end"
    offset_assignment: Annotated[
        Literal["leader_assigned", "follower_assigned"],
        "who gives offsets; a story's step `push` shows the second, a timed run refuses it",
        Value(
            "the leader; followers keep its offsets, gaps included",
            "UnifiedLog.appendAsFollower",
            "kip280/kip280_08_log_end_stored.yaml",
        ),
        Value(
            "each follower numbers what it appends from its own log end on",
            "KIP-280, Special case where we need to retain LEO: its drawing",
            "kip280/kip280_04_followers_assign_offsets_leo_retention.yaml",
        ),
    ] = "leader_assigned"
    leader_change_record: Annotated[
        bool,
        "whether a new leader first appends a control record",
        Value(
            "no: an epoch begins with the first record that a client sends",
            "Partition.makeLeader",
            "raft/raft_16_no_commit_before_the_first_write.yaml",
        ),
        Value(
            "yes, and it takes an offset",
            "LeaderState.appendStartOfEpochControlRecords; KIP-595",
            "raft/raft_15_leader_change_record_commits_the_old_epoch.yaml",
        ),
    ] = False
    lag_guard: Annotated[
        Literal["none", "reset_local", "reset_propagated"],
        "whether a follower that is below a removed tombstone is rebuilt",
        Value(
            "it goes on from where it is",
            "Kafka: no part of the cleaner looks at followers; KIP-630, Motivation",
            "kip630/kip630_01_tombstone_removed_too_early.yaml",
        ),
        Value(
            "by a leader that has removed the tombstone itself",
            "Redpanda PR 26562; Copycat #127",
            "kip630/kip630_06_rebuilt_when_below_a_removed_tombstone.yaml",
        ),
        Value(
            "by any leader: the end of what was removed is announced to followers",
            "Redpanda PR 26790; KIP-630, Rejected Alternatives",
            "kip630/kip630_08_rebuild_handed_on.yaml",
        ),
    ] = "none"
    fencing: Annotated[
        bool,
        "whether requests and answers of older epochs are refused",
        Value(
            "yes",
            "KIP-320; Partition.checkCurrentLeaderEpoch",
            "raft/raft_10_stale_leader_is_refused.yaml",
        ),
        Value(
            "no: a follower may go back to a leader of an older epoch",
            "Kafka before KIP-320",
            "raft/raft_09_stale_leader_is_followed.yaml",
        ),
    ] = True
    response_fencing: Annotated[
        bool,
        "whether answers of an older epoch, or to a request that is not the latest, are ignored",
        Value(
            "yes",
            "KafkaRaftClient.maybeHandleCommonResponse; RequestManager",
            "raft/raft_20_late_answer_is_ignored.yaml",
        ),
        Value(
            "no: every answer is acted on",
            "this project: what the checks of KafkaRaftClient protect from",
            "raft/raft_19_late_answer_is_acted_on.yaml",
        ),
    ] = True
    high_watermark_update: Annotated[
        Literal["max", "assign"],
        "what a follower does when its leader's high watermark is below its own",
        Value(
            "it keeps its own",
            "FollowerState.updateHighWatermark",
            "raft/raft_29_high_watermark_never_falls.yaml",
        ),
        Value(
            "it takes its leader's, and one of an in-sync replica may fall by it",
            "UnifiedLog.maybeUpdateHighWatermark, .updateHighWatermark",
            "isr/isr_11_follower_takes_a_lower_high_watermark.yaml",
        ),
    ] = "max"
    high_watermark_cut: Annotated[
        Literal["clamped", "kept"],
        "what becomes of a high watermark above a log that was truncated or lost its tail",
        Value(
            "it falls to the log end",
            "UnifiedLog.truncateTo",
            "raft/raft_31_high_watermark_falls_with_the_log.yaml",
        ),
        Value(
            "it stays",
            "this project: what UnifiedLog.truncateTo avoids",
            "raft/raft_30_high_watermark_above_the_log.yaml",
        ),
    ] = "clamped"
    epoch_cache: Annotated[
        Literal["rebuilt", "copied"],
        "from what a copy learns the leader epochs of its log",
        Value(
            "from the batches that survive",
            "UnifiedLog.appendAsFollower; LeaderEpochFileCache.assign",
            "epochs/epochcache_01_a_cleaned_epoch_is_unknown.yaml",
        ),
        Value(
            "from the leader, which hands its epochs on with the records",
            "KIP-405, leader-epoch-checkpoint",
            "epochs/epochcache_07_the_leader_hands_its_epochs_on.yaml",
        ),
    ] = "rebuilt"
    epoch_cut: Annotated[
        Literal["dropped", "kept"],
        "what a cut that takes no record does with an epoch that starts there, and owns none",
        Value(
            "it is forgotten",
            "UnifiedLog.truncateTo, which always cuts the epoch cache",
            "epochs/epochcache_09_an_empty_epoch_is_dropped.yaml",
        ),
        Value(
            "it stays, and the leader is asked for it again",
            "KAFKA-20961, KAFKA-15608 for epochs without records",
            "epochs/epochcache_08_an_empty_epoch_is_kept.yaml",
        ),
    ] = "dropped"
    producers_after_cut: Annotated[
        Literal["if_known", "always"],
        "whether a replica that cuts its log reads what is left for producers",
        Value(
            "if it knew one, or a decision above its high watermark: if it knew none, a transaction"
            " whose marker it cuts off is open again without its knowledge",
            "UnifiedLog.rebuildProducerState, ProducerStateManager.isEmpty",
            "seen_on_kafka/kafka_08_cut_marker_nobody_known.yaml",
        ),
        Value(
            "always, from the newest snapshot on",
            "this project: what would mend it (reports/kafka_cut_marker.md)",
            "transactions/txn_28_cut_marker_looks_for_everybody.yaml",
        ),
    ] = "if_known"
    unknown_epoch: Annotated[
        Literal["log_end", "undefined"],
        "what a leader says of an epoch above all it knows, or when it knows none",
        Value(
            "its newest epoch, and its log end",
            "KafkaMetadataLog.endOffsetForEpoch; the story format of this project",
            "epochs/unknown_epoch_01_asked_and_told_the_log_end.yaml",
        ),
        Value(
            "that it does not know: who asked cuts to its high watermark, who fetched is out"
            " of range",
            "LeaderEpochFileCache.endOffsetFor; Partition.readRecords",
            "epochs/unknown_epoch_02_asked_and_told_nothing.yaml",
        ),
    ] = "log_end"
