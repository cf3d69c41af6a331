"""The rules of replication: commits, positions, fetches, truncation, copies; elections; clients."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Truncation = Literal["epoch_diverging", "epoch_kip279", "epoch_kip101", "high_watermark", "none"]
"""What a follower does with a tail that its leader does not have."""

Awaited = Literal["in_sync_set", "caught_up", "caught_up_eligible"]
"""Whose positions hold the high watermark of a leader back."""


class ReplicationRules(Struct, frozen=True, gc=False):
    """Rules by which followers copy a leader's log and a record is committed."""

    commit: Literal["majority", "isr"] = "majority"
    """Decides which replicas must have a record before the high watermark passes it.

    majority: a majority of the voters
        Source: LeaderState.maybeUpdateHighWatermark; KIP-595
        Example: raft/raft_01_commit_old_epoch_by_counting.yaml
    isr: every in-sync replica
        Source: Partition.maybeIncrementLeaderHW
        Example: bounds/bound_01_uncommitted_evicts_committed.yaml
    """
    high_watermark_waits_for: Awaited = "in_sync_set"
    """isr: whose positions hold the high watermark back.

    in_sync_set: those of the in-sync replicas alone, which is the default of stories
        Source: Partition.maybeIncrementLeaderHW in Kafka 0.10
        Example: isr/isr_08_who_is_no_member_is_left_behind.yaml
    caught_up: also of replicas that were at the leader's log end within replica.lag.time.max.ms
        Source: Partition.maybeIncrementLeaderHW before KAFKA-15021
        Example: isr/isr_09_who_is_down_is_waited_for.yaml
    caught_up_eligible: as caught_up, but only of replicas that may join: not fenced, not shutting
        down, with their current broker epoch
        Source: Partition.maybeIncrementLeaderHW, .isReplicaIsrEligible; KAFKA-15021
        Example: isr/isr_07_who_is_about_to_join_is_waited_for.yaml
    """
    isr_join: Literal["epoch_start", "hw_only"] = "epoch_start"
    """Decides which position lets a follower join the in-sync replicas.

    epoch_start: one at or above the high watermark and the start of the leader's epoch
        Source: Partition.isFollowerInSync
        Example: isr/isr_02_join_by_epoch_start.yaml
    hw_only: one at or above the high watermark
        Source: Kip320FirstTry in hachikuji/kafka-specification
        Example: isr/isr_01_join_by_high_watermark_only.yaml
    """
    epoch_commit_rule: Literal["strict", "off_by_one", "none"] = "strict"
    """majority: how far a majority has to be for the high watermark to move in a new epoch.

    strict: above the epoch's start
        Source: LeaderState.maybeUpdateHighWatermark; Raft paper 5.4.2
        Example: raft/raft_03_commit_only_above_the_epoch_start.yaml
    off_by_one: at the epoch's start or above
        Source: LeaderState.maybeUpdateHighWatermark before KAFKA-12619
        Example: raft/raft_02_commit_at_the_epoch_start.yaml
    none: anywhere: records of older epochs are committed by counting
        Source: Raft paper, figure 8
        Example: raft/raft_01_commit_old_epoch_by_counting.yaml
    """
    truncation: Truncation = "epoch_diverging"
    """Decides what a follower does with a tail that its leader does not have.

    epoch_diverging: every fetch names its last epoch; the answer says where the logs diverge
        Source: KIP-595; AbstractFetcherThread.truncateOnFetchResponse
        Example: truncation/kip101_02_epoch_truncation_keeps_it.yaml
    epoch_kip279: a new follower asks where epochs end until the leader knows the epoch
        Source: KIP-279; AbstractFetcherThread.getOffsetTruncationState
        Example: truncation/kip279_02_ask_until_the_epochs_match.yaml
    epoch_kip101: a new follower asks once where its last epoch ends
        Source: KIP-101; LeaderEpochFileCache.endOffsetFor before KIP-279
        Example: truncation/kip279_01_one_question_is_not_enough.yaml
    high_watermark: a new follower cuts its log at its own high watermark
        Source: Kafka before KIP-101; AbstractFetcherThread.truncateToHighWatermark
        Example: truncation/kip101_01_hw_truncation_loses_a_committed_record.yaml
    none: it keeps the tail
        Source: KIP-280, Special case where we need to retain LEO: its drawing needs it
        Example: truncation/kip101_07_no_truncation.yaml
    """
    follower_position: Literal["read_end", "request"] = "read_end"
    """Decides what a leader believes a follower has after a fetch that found nothing.

    read_end: everything: the position is the leader's own log end
        Source: LocalLog.read; Partition.fetchRecords
        Example: kip280/kip280_16_believed_position_epoch_truncation_no_fix.yaml
    request: what the follower said: the position is the fetch offset
        Source: KIP-595, Fetch: the fetch offset acknowledges what is below it
        Example: kip280/kip280_37_believed_position_request.yaml
    """
    offset_assignment: Literal["leader_assigned", "follower_assigned"] = "leader_assigned"
    """Decides who assigns offsets; followers do in a story's `push` alone, never in timed runs.

    leader_assigned: the leader; followers keep its offsets, gaps included
        Source: UnifiedLog.appendAsFollower
        Example: kip280/kip280_08_log_end_stored.yaml
    follower_assigned: each follower numbers what it appends from its own log end on
        Source: KIP-280, Special case where we need to retain LEO: its drawing
        Example: kip280/kip280_04_followers_assign_offsets_leo_retention.yaml
    """
    leader_change_record: bool = False
    """Decides whether a new leader first appends a control record.

    false: no: an epoch begins with the first record that a client sends
        Source: Partition.makeLeader
        Example: raft/raft_16_no_commit_before_the_first_write.yaml
    true: yes, and it takes an offset
        Source: LeaderState.appendStartOfEpochControlRecords; KIP-595
        Example: raft/raft_15_leader_change_record_commits_the_old_epoch.yaml
    """
    lag_guard: Literal["none", "reset_local", "reset_propagated"] = "none"
    """Decides whether a follower that is below a removed tombstone is rebuilt.

    none: it goes on from where it is
        Source: Kafka: no part of the cleaner looks at followers; KIP-630, Motivation
        Example: kip630/kip630_01_tombstone_removed_too_early.yaml
    reset_local: by a leader that has removed the tombstone itself
        Source: Redpanda PR 26562; Copycat #127
        Example: kip630/kip630_06_rebuilt_when_below_a_removed_tombstone.yaml
    reset_propagated: by any leader: the end of what was removed is announced to followers
        Source: Redpanda PR 26790; KIP-630, Rejected Alternatives
        Example: kip630/kip630_08_rebuild_handed_on.yaml
    """
    fencing: bool = True
    """Decides whether requests and answers of older epochs are refused.

    true: yes
        Source: KIP-320; Partition.checkCurrentLeaderEpoch
        Example: raft/raft_10_stale_leader_is_refused.yaml
    false: no: a follower may go back to a leader of an older epoch
        Source: Kafka before KIP-320
        Example: raft/raft_09_stale_leader_is_followed.yaml
    """
    response_fencing: bool = True
    """Decides whether answers of an older epoch, or to a request that is not the latest, are
    ignored.

    true: yes
        Source: KafkaRaftClient.maybeHandleCommonResponse; RequestManager
        Example: raft/raft_20_late_answer_is_ignored.yaml
    false: no: every answer is acted on
        Source: this project: what the checks of KafkaRaftClient protect from
        Example: raft/raft_19_late_answer_is_acted_on.yaml
    """
    high_watermark_update: Literal["max", "assign"] = "max"
    """Decides what a follower does when its leader's high watermark is below its own.

    max: it keeps its own
        Source: FollowerState.updateHighWatermark
        Example: raft/raft_29_high_watermark_never_falls.yaml
    assign: it takes its leader's, so that even the one of an in-sync replica may fall
        Source: UnifiedLog.maybeUpdateHighWatermark, .updateHighWatermark
        Example: isr/isr_11_follower_takes_a_lower_high_watermark.yaml
    """
    high_watermark_cut: Literal["clamped", "kept"] = "clamped"
    """Decides what becomes of a high watermark above a log that was truncated or lost its tail.

    clamped: it falls to the log end
        Source: UnifiedLog.truncateTo
        Example: raft/raft_31_high_watermark_falls_with_the_log.yaml
    kept: it stays
        Source: this project: what UnifiedLog.truncateTo avoids
        Example: raft/raft_30_high_watermark_above_the_log.yaml
    """
    epoch_cache: Literal["rebuilt", "copied"] = "rebuilt"
    """Decides from what a follower learns the leader epochs of its log.

    rebuilt: from the batches that survive
        Source: UnifiedLog.appendAsFollower; LeaderEpochFileCache.assign
        Example: epochs/epochcache_01_a_cleaned_epoch_is_unknown.yaml
    copied: from the leader, which hands its epochs on with the records
        Source: KIP-405, leader-epoch-checkpoint
        Example: epochs/epochcache_07_the_leader_hands_its_epochs_on.yaml
    """
    epoch_cut: Literal["dropped", "kept"] = "dropped"
    """Decides what a cut that removes nothing does with a last epoch that has no records.

    dropped: it is forgotten
        Source: UnifiedLog.truncateTo, which always cuts the epoch cache
        Example: epochs/epochcache_09_an_empty_epoch_is_dropped.yaml
    kept: it stays, and the leader is asked for it again
        Source: KAFKA-20961, KAFKA-15608 for epochs without records
        Example: epochs/epochcache_08_an_empty_epoch_is_kept.yaml
    """
    producers_after_cut: Literal["if_known", "always"] = "if_known"
    """Decides whether a replica that cuts its log reads the producers' state from the rest.

    if_known: if it knew a producer, or a marker above its high watermark; else it does not notice
        that a transaction is open again whose marker it cuts off
        Source: UnifiedLog.rebuildProducerState, ProducerStateManager.isEmpty
        Example: seen_on_kafka/kafka_08_cut_marker_nobody_known.yaml
    always: always, from the newest snapshot on
        Source: this project: what would mend it (reports/kafka_cut_marker.md)
        Example: transactions/txn_28_cut_marker_looks_for_everybody.yaml
    """
    unknown_epoch: Literal["log_end", "undefined"] = "log_end"
    """Decides what a leader answers about an epoch above all it knows, or if it knows none.

    log_end: its newest epoch, and its log end
        Source: KafkaMetadataLog.endOffsetForEpoch; the story format of this project
        Example: epochs/unknown_epoch_01_asked_and_told_the_log_end.yaml
    undefined: that it does not know: a follower that asked cuts its log to its high watermark, one
        that fetched is out of range
        Source: LeaderEpochFileCache.endOffsetFor; Partition.readRecords
        Example: epochs/unknown_epoch_02_asked_and_told_nothing.yaml
    """


class ElectionRules(Struct, frozen=True, gc=False):
    """Rules of elections: which replicas may lead, and what they remember of epochs and votes."""

    eligible_leaders: Literal["isr", "elr"] = "isr"
    """isr: among whom a controller may choose a leader cleanly.

    isr: the in-sync set, whose last member stays in it
        Source: PartitionChangeBuilder before KIP-966
        Example: isr/timed_nobody_but_the_in_sync_set.yaml
    elr: the in-sync set, else replicas that left it while it was below min.insync.replicas; without
        any, the last leader leads uncleanly once it is back
        Source: KIP-966; PartitionChangeBuilder.maybePopulateTargetElr, .canElectLastKnownLeader
        Example: isr/timed_eligible_leader_replicas.yaml
    """
    unclean_election: bool = False
    """isr: whether any live replica may lead when no replica may lead cleanly.

    false: no: the partition waits
        Source: unclean.leader.election.enable, Kafka's default since KIP-106
        Example: isr/timed_clean_election_waits.yaml
    true: yes
        Source: unclean.leader.election.enable
        Example: isr/timed_unclean_election.yaml
    """
    epoch_storage: Literal["disk", "memory"] = "disk"
    """Decides which epoch a replica knows after a restart.

    disk: the highest it has seen
        Source: QuorumState.durableTransitionTo
        Example: raft/raft_22_epoch_kept_on_disk.yaml
    memory: that of its log
        Source: this project: what writing it down protects from; QuorumState.initialize
        Example: raft/raft_21_epoch_kept_in_memory.yaml
    """
    vote_storage: Literal["disk", "memory", "none"] = "disk"
    """Decides how long a vote binds in its epoch.

    disk: for ever
        Source: QuorumState.durableTransitionTo; Raft paper 5.2
        Example: raft/raft_24_vote_kept_on_disk.yaml
    memory: until the voter restarts
        Source: this project: what writing it down protects from
        Example: raft/raft_23_vote_kept_in_memory.yaml
    none: not at all: voters compare logs only, which is the default of stories
        Source: the story format of this project
        Example: raft/raft_25_voters_compare_logs_only.yaml
    """
    leader_restart: Literal["resigned", "resumes"] = "resigned"
    """majority: what a leader is after a restart.

    resigned: it has resigned its epoch
        Source: QuorumState.initialize
        Example: raft/raft_27_restarted_leader_has_resigned.yaml
    resumes: it goes on as leader of its epoch, which is the default of stories
        Source: the story format of this project
        Example: raft/raft_04_leader_resumes_its_epoch.yaml
    """
    pre_vote: bool = False
    """majority: whether a replica, before it campaigns, asks in its old epoch if it could win.

    false: no: it raises its epoch each time, and the others follow it there
        Source: KIP-595; Raft paper 5.2
        Example: raft/timed_back_from_a_partition.yaml
    true: yes; a voter that has fetched from a leader, and still waits for it, refuses
        Source: KIP-996, Kafka 4.0; FollowerState.canGrantVote; Raft dissertation 9.6
        Example: raft/timed_back_from_a_partition_pre_vote.yaml
    """
    election_backoff: Literal["none", "exponential"] = "none"
    """majority: when a candidate that was not elected campaigns again.

    none: when its election timeout, which is drawn each time, is over
        Source: KafkaRaftClient.pollCandidate since KIP-996; Raft paper 5.2
        Example: raft/timed_back_with_a_shorter_log.yaml
    exponential: 100 ms times a random number below 2, 4, 8 ... after it can win no more, or after
        its election timeout; at most the longest election timeout
        Source: KafkaRaftClient.binaryExponentialElectionBackoffMs up to 3.9
        Example: raft/timed_back_with_a_shorter_log_backs_off.yaml
    """
    check_quorum: bool = True
    """majority: whether a leader resigns that a majority has not fetched from for too long.

    true: yes
        Source: LeaderState.timeUntilCheckQuorumExpires
        Example: raft/timed_leader_without_a_majority_resigns.yaml
    false: no: it leads on without committing anything
        Source: this project: what check quorum protects from; KIP-996
        Example: raft/timed_leader_without_a_majority.yaml
    """
    successors: Literal["named", "by_offset"] = "named"
    """majority: who succeeds a leader that resigns.

    named: the one replica that it names stands at once, the others wait for their timers
        Source: this project: the plainest handover
        Example: raft/timed_leader_names_nobody.yaml
    by_offset: the voter that fetched most stands at once, the others wait, each twice as long
        Source: KafkaRaftClient.endEpochElectionBackoff; KIP-595
        Example: raft/timed_leader_retires.yaml
    """


class CoordinatorRules(Struct, frozen=True, gc=False):
    """Rules of the coordinator of transactions: epochs of producers, and of markers."""

    producer_epochs: Literal["per_instance", "per_transaction"] = "per_instance"
    """Decides when the transaction coordinator gives a producer a new epoch.

    per_instance: when an instance of it begins; a marker has the epoch of its transaction
        Source: KIP-98; TransactionCoordinator.endTransaction with transaction.version 1
        Example: transactions/txn_25_epoch_of_the_transaction.yaml
    per_transaction: also with the end of each transaction: its marker has the next epoch already,
        so that cleaners protect the last data batch of an idle producer no more
        Source: KIP-890, part 2; TransactionMetadata.prepareAbortOrCommit with transaction.version 2
        Example: transactions/txn_24_nothing_more_of_the_producer.yaml
    """
    marker_epoch: Literal["not_older", "newer"] = "not_older"
    """With per_transaction: which epoch a marker needs that ends an open transaction.

    not_older: that of the transaction, or a newer one: so the marker of the transaction before,
        which has that epoch, ends this one if it comes again
        Source: ProducerAppendInfo.checkProducerEpoch before KAFKA-19446
        Example: transactions/timed_marker_again.yaml
    newer: a newer one; a marker that comes again is answered while no transaction is open
        Source: KIP-1228; ProducerAppendInfo.checkProducerEpoch, KAFKA-19446, KAFKA-19999
        Example: transactions/timed_marker_again_refused.yaml
    """
    verification: Literal["none", "first_batch"] = "none"
    """Decides whether a leader asks the coordinator about data of transactions.

    none: never: late data of an ended transaction begins one that nobody knows of
        Source: brokers before 3.6; transaction.partition.verification.enable set to false
        Example: transactions/timed_late_data_is_committed_with_the_next_transaction.yaml
    first_batch: about data of a producer that has no transaction open there; it is refused unless
        the coordinator has a transaction of that producer and epoch under way
        Source: KIP-890, part 1; UnifiedLog.analyzeAndValidateProducerState
        Example: transactions/timed_late_data_is_verified.yaml
    """


class ReadingRules(Struct, frozen=True, gc=False):
    """Rules of consumers: what they get and keep, and what they do at a new leader."""

    consumer_order: Literal["offset", "strategy"] = "offset"
    """Decides which record of a key a consumer keeps, of those that it was given.

    offset: the last one
        Source: KIP-280, Recommendations: what a consumer does that is not aware of the strategy
        Example: kip280/kip280_69_consumer_takes_the_last_record.yaml
    strategy: the one that wins by the strategy
        Source: KIP-280, Recommendations: consumers should be aware of the strategy
        Example: kip280/kip280_70_consumer_applies_the_strategy.yaml
    """
    horizon_header: Literal["hidden", "visible"] = "hidden"
    """With record_horizon: whether consumers are given the header that holds the horizon.

    hidden: it is taken off
        Source: KIP-534, Rejected Alternatives: a header that consumers should not see
        Example: kip534/kip534_17_horizon_in_the_record.yaml
    visible: it is a header like any other
        Source: KIP-534, Rejected Alternatives: what a header does if no reader removes it
        Example: kip534/kip534_18_readers_see_the_header.yaml
    """
    consumer_validation: Literal["none", "epoch"] = "none"
    """Decides what a consumer does first at a new leader.

    none: it goes on at its offset
        Source: consumers before KIP-320
        Example: readers/readers_06_position_carried_to_another_history.yaml
    epoch: it asks where the epoch of its position ends
        Source: KIP-320; SubscriptionState.maybeCompleteValidation
        Example: readers/readers_07_position_checked_with_the_new_leader.yaml
    """
    aborted_list: Literal["index", "history"] = "index"
    """Decides which aborted transactions the answer to a read_committed consumer lists.

    index: those whose marker is left
        Source: TransactionIndex.collectAbortedTxns
        Example: readers/readers_09_list_goes_with_the_markers.yaml
    history: all there ever were
        Source: Redpanda before PR 7081
        Example: readers/readers_08_list_of_all_aborted_transactions.yaml
    """
