"""The rules of elections, and of what a replica remembers of them."""

from __future__ import annotations

from typing import Literal, NamedTuple

from sim.rules.spec import RuleSpec, Value


class ElectionRules(NamedTuple):
    """Who may lead, and what a replica remembers of epochs and votes."""

    eligible_leaders: Literal["isr", "elr"] = "isr"
    unclean_election: bool = False
    epoch_storage: Literal["disk", "memory"] = "disk"
    vote_storage: Literal["disk", "memory", "none"] = "disk"
    leader_restart: Literal["resigned", "resumes"] = "resigned"
    pre_vote: bool = False
    election_backoff: Literal["none", "exponential"] = "none"
    check_quorum: bool = True
    successors: Literal["named", "by_offset"] = "named"


ELECTION_TABLE: tuple[RuleSpec, ...] = (
    RuleSpec(
        "eligible_leaders",
        "isr: among whom a controller may choose a leader cleanly",
        (
            Value(
                "isr",
                "the in-sync set, whose last member stays in it",
                "PartitionChangeBuilder before KIP-966",
                "isr/timed_nobody_but_the_in_sync_set.yaml",
            ),
            Value(
                "elr",
                "that, else who left it while it was below min.insync.replicas; without such, who"
                " led last leads uncleanly, if it is back",
                "KIP-966; PartitionChangeBuilder.maybePopulateTargetElr, .canElectLastKnownLeader",
                "isr/timed_eligible_leader_replicas.yaml",
            ),
        ),
    ),
    RuleSpec(
        "unclean_election",
        "isr: whether any live replica may lead when nobody may cleanly",
        (
            Value(
                name=False,
                means="no: the partition waits",
                source="unclean.leader.election.enable, Kafka's default since KIP-106",
                example="isr/timed_clean_election_waits.yaml",
            ),
            Value(
                name=True,
                means="yes",
                source="unclean.leader.election.enable",
                example="isr/timed_unclean_election.yaml",
            ),
        ),
    ),
    RuleSpec(
        "epoch_storage",
        "which epoch a replica knows after a restart",
        (
            Value(
                "disk",
                "the highest it has seen",
                "QuorumState.durableTransitionTo",
                "raft/raft_22_epoch_kept_on_disk.yaml",
            ),
            Value(
                "memory",
                "that of its log",
                "this project: what writing it down protects from; QuorumState.initialize",
                "raft/raft_21_epoch_kept_in_memory.yaml",
            ),
        ),
    ),
    RuleSpec(
        "vote_storage",
        "how long a vote binds in its epoch",
        (
            Value(
                "disk",
                "for ever",
                "QuorumState.durableTransitionTo; Raft paper 5.2",
                "raft/raft_24_vote_kept_on_disk.yaml",
            ),
            Value(
                "memory",
                "until the voter restarts",
                "this project: what writing it down protects from",
                "raft/raft_23_vote_kept_in_memory.yaml",
            ),
            Value(
                "none",
                "not at all: voters compare logs only, which is the default of stories",
                "the story format of this project",
                "raft/raft_25_voters_compare_logs_only.yaml",
            ),
        ),
    ),
    RuleSpec(
        "leader_restart",
        "majority: what a leader is after a restart",
        (
            Value(
                "resigned",
                "it has resigned its epoch",
                "QuorumState.initialize",
                "raft/raft_27_restarted_leader_has_resigned.yaml",
            ),
            Value(
                "resumes",
                "it goes on as leader of its epoch, which is the default of stories",
                "the story format of this project",
                "raft/raft_04_leader_resumes_its_epoch.yaml",
            ),
        ),
    ),
    RuleSpec(
        "pre_vote",
        "majority: whether a replica asks, in the old epoch, if it could win before it campaigns",
        (
            Value(
                name=False,
                means="no: it raises its epoch each time, and the others follow it there",
                source="KIP-595; Raft paper 5.2",
                example="raft/timed_back_from_a_partition.yaml",
            ),
            Value(
                name=True,
                means="yes; who has fetched from a leader, and still waits for it, refuses",
                source="KIP-996, Kafka 4.0; FollowerState.canGrantVote; Raft dissertation 9.6",
                example="raft/timed_back_from_a_partition_pre_vote.yaml",
            ),
        ),
    ),
    RuleSpec(
        "election_backoff",
        "majority: when a candidate stands again that was not elected",
        (
            Value(
                "none",
                "when its election timeout is over, which is drawn anew each time",
                "KafkaRaftClient.pollCandidate since KIP-996; Raft paper 5.2",
                "raft/timed_back_with_a_shorter_log.yaml",
            ),
            Value(
                "exponential",
                "as soon as it cannot win any more, or nobody did in time, after 100 ms times a"
                " number below 2, 4, 8 ..., at most quorum.election.backoff.max.ms",
                "KafkaRaftClient.binaryExponentialElectionBackoffMs up to 3.9",
                "raft/timed_back_with_a_shorter_log_backs_off.yaml",
            ),
        ),
    ),
    RuleSpec(
        "check_quorum",
        "majority: whether a leader resigns that a majority has not fetched from for too long",
        (
            Value(
                name=True,
                means="yes",
                source="LeaderState.timeUntilCheckQuorumExpires",
                example="raft/timed_leader_without_a_majority_resigns.yaml",
            ),
            Value(
                name=False,
                means="no: it leads on without committing anything",
                source="this project: what check quorum protects from; KIP-996",
                example="raft/timed_leader_without_a_majority.yaml",
            ),
        ),
    ),
    RuleSpec(
        "successors",
        "majority: who follows a leader that resigns",
        (
            Value(
                "named",
                "the one replica that it names stands at once, the others wait for their timers",
                "this project: the plainest handover",
                "raft/timed_leader_names_nobody.yaml",
            ),
            Value(
                "by_offset",
                "all voters by how far they have fetched, each waits twice as long as the last",
                "KafkaRaftClient.endEpochElectionBackoff; KIP-595",
                "raft/timed_leader_retires.yaml",
            ),
        ),
    ),
)
"""What each of them decides, in their order; each value with its source and an example."""
