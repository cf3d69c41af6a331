"""The rules of elections, and of the epochs and votes that a replica remembers."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class ElectionRules(Struct, frozen=True, gc=False):
    """Rules of elections: which replicas may lead, and what they remember of epochs and votes."""

    eligible_leaders: Literal["isr", "elr"] = "isr"
    """isr: among whom a controller may choose a leader cleanly.

    isr: the in-sync set, whose last member stays in it
        Source: PartitionChangeBuilder before KIP-966
        Example: isr/timed_nobody_but_the_in_sync_set.yaml
    elr: that, else who left it while it was below min.insync.replicas; without such, who led last
        leads uncleanly, if it is back
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
    """majority: whether a replica asks, in the old epoch, if it could win before it campaigns.

    false: no: it raises its epoch each time, and the others follow it there
        Source: KIP-595; Raft paper 5.2
        Example: raft/timed_back_from_a_partition.yaml
    true: yes; who has fetched from a leader, and still waits for it, refuses
        Source: KIP-996, Kafka 4.0; FollowerState.canGrantVote; Raft dissertation 9.6
        Example: raft/timed_back_from_a_partition_pre_vote.yaml
    """
    election_backoff: Literal["none", "exponential"] = "none"
    """majority: when a candidate stands again that was not elected.

    none: when its election timeout is over, which is drawn each time
        Source: KafkaRaftClient.pollCandidate since KIP-996; Raft paper 5.2
        Example: raft/timed_back_with_a_shorter_log.yaml
    exponential: as soon as it cannot win any more, or no candidate won in time, after 100 ms times
        a number below 2, 4, 8 ..., at most quorum.election.backoff.max.ms
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
    """majority: who follows a leader that resigns.

    named: the one replica that it names stands at once, the others wait for their timers
        Source: this project: the plainest handover
        Example: raft/timed_leader_names_nobody.yaml
    by_offset: all voters by how far they have fetched, each waits twice as long as the last
        Source: KafkaRaftClient.endEpochElectionBackoff; KIP-595
        Example: raft/timed_leader_retires.yaml
    """
