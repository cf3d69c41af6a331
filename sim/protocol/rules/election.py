"""The rules of elections, and of the epochs and votes that a replica remembers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Struct

from sim.protocol.rules.spec import Value


class ElectionRules(Struct, frozen=True, gc=False):
    """Rules of elections: which replicas may lead, and what they remember of epochs and votes."""

    eligible_leaders: Annotated[
        Literal["isr", "elr"],
        "isr: among whom a controller may choose a leader cleanly",
        Value(
            "the in-sync set, whose last member stays in it",
            "PartitionChangeBuilder before KIP-966",
            "isr/timed_nobody_but_the_in_sync_set.yaml",
        ),
        Value(
            "that, else who left it while it was below min.insync.replicas; without such, who"
            " led last leads uncleanly, if it is back",
            "KIP-966; PartitionChangeBuilder.maybePopulateTargetElr, .canElectLastKnownLeader",
            "isr/timed_eligible_leader_replicas.yaml",
        ),
    ] = "isr"
    unclean_election: Annotated[
        bool,
        "isr: whether any live replica may lead when no replica may lead cleanly",
        Value(
            "no: the partition waits",
            "unclean.leader.election.enable, Kafka's default since KIP-106",
            "isr/timed_clean_election_waits.yaml",
        ),
        Value("yes", "unclean.leader.election.enable", "isr/timed_unclean_election.yaml"),
    ] = False
    epoch_storage: Annotated[
        Literal["disk", "memory"],
        "which epoch a replica knows after a restart",
        Value(
            "the highest it has seen",
            "QuorumState.durableTransitionTo",
            "raft/raft_22_epoch_kept_on_disk.yaml",
        ),
        Value(
            "that of its log",
            "this project: what writing it down protects from; QuorumState.initialize",
            "raft/raft_21_epoch_kept_in_memory.yaml",
        ),
    ] = "disk"
    vote_storage: Annotated[
        Literal["disk", "memory", "none"],
        "how long a vote binds in its epoch",
        Value(
            "for ever",
            "QuorumState.durableTransitionTo; Raft paper 5.2",
            "raft/raft_24_vote_kept_on_disk.yaml",
        ),
        Value(
            "until the voter restarts",
            "this project: what writing it down protects from",
            "raft/raft_23_vote_kept_in_memory.yaml",
        ),
        Value(
            "not at all: voters compare logs only, which is the default of stories",
            "the story format of this project",
            "raft/raft_25_voters_compare_logs_only.yaml",
        ),
    ] = "disk"
    leader_restart: Annotated[
        Literal["resigned", "resumes"],
        "majority: what a leader is after a restart",
        Value(
            "it has resigned its epoch",
            "QuorumState.initialize",
            "raft/raft_27_restarted_leader_has_resigned.yaml",
        ),
        Value(
            "it goes on as leader of its epoch, which is the default of stories",
            "the story format of this project",
            "raft/raft_04_leader_resumes_its_epoch.yaml",
        ),
    ] = "resigned"
    pre_vote: Annotated[
        bool,
        "majority: whether a replica asks, in the old epoch, if it could win before it campaigns",
        Value(
            "no: it raises its epoch each time, and the others follow it there",
            "KIP-595; Raft paper 5.2",
            "raft/timed_back_from_a_partition.yaml",
        ),
        Value(
            "yes; who has fetched from a leader, and still waits for it, refuses",
            "KIP-996, Kafka 4.0; FollowerState.canGrantVote; Raft dissertation 9.6",
            "raft/timed_back_from_a_partition_pre_vote.yaml",
        ),
    ] = False
    election_backoff: Annotated[
        Literal["none", "exponential"],
        "majority: when a candidate stands again that was not elected",
        Value(
            "when its election timeout is over, which is drawn each time",
            "KafkaRaftClient.pollCandidate since KIP-996; Raft paper 5.2",
            "raft/timed_back_with_a_shorter_log.yaml",
        ),
        Value(
            "as soon as it cannot win any more, or no candidate won in time, after 100 ms times a"
            " number below 2, 4, 8 ..., at most quorum.election.backoff.max.ms",
            "KafkaRaftClient.binaryExponentialElectionBackoffMs up to 3.9",
            "raft/timed_back_with_a_shorter_log_backs_off.yaml",
        ),
    ] = "none"
    check_quorum: Annotated[
        bool,
        "majority: whether a leader resigns that a majority has not fetched from for too long",
        Value(
            "yes",
            "LeaderState.timeUntilCheckQuorumExpires",
            "raft/timed_leader_without_a_majority_resigns.yaml",
        ),
        Value(
            "no: it leads on without committing anything",
            "this project: what check quorum protects from; KIP-996",
            "raft/timed_leader_without_a_majority.yaml",
        ),
    ] = True
    successors: Annotated[
        Literal["named", "by_offset"],
        "majority: who follows a leader that resigns",
        Value(
            "the one replica that it names stands at once, the others wait for their timers",
            "this project: the plainest handover",
            "raft/timed_leader_names_nobody.yaml",
        ),
        Value(
            "all voters by how far they have fetched, each waits twice as long as the last",
            "KafkaRaftClient.endEpochElectionBackoff; KIP-595",
            "raft/timed_leader_retires.yaml",
        ),
    ] = "named"
