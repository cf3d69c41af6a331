"""Elections: votes, in-sync and eligible replicas, successors, and the start of an epoch.

A majority elects by votes (KIP-595, Raft 5.4.1); a controller chooses from the in-sync set and the
eligible leader replicas (KIP-966). The controller's state of a partition is a value here: it says
which replicas are not fenced, not which are alive. When an election is held, and among whom, is
decided in `sim.simulate.cluster.controller` and `quorum`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from sim.protocol.events import Event, LeaderElected
from sim.protocol.log import Control, control_batch
from sim.protocol.replication.leader import advance_high_watermark, append
from sim.protocol.replication.messages import (
    AlterPartitionRequest,
    PartitionState,
    VoteRequest,
    VoteResponse,
)
from sim.protocol.replication.replica import Leadership, Replica
from sim.protocol.rules import Rules


def last_entry(replica: Replica) -> tuple[int, int]:
    """The end of a log as votes compare it: newest epoch, then log end offset."""
    return replica.last_fetched_epoch, replica.log.log_end_offset


def grants_vote(voter: Replica, candidate: tuple[int, int]) -> bool:
    """Decides a vote: the candidate's log must be at least as up to date (canGrantVote)."""
    return candidate >= last_entry(voter)


def is_free(voter: Replica, epoch: int, candidate: str, *, rules: Rules) -> bool:
    """Decides whether a voter is free to vote for `candidate` in `epoch` (canGrantVote).

    A voter is bound by a higher epoch, by a vote for another, or by leading the epoch itself.
    With `vote_storage: none`, the default of stories, it is always free: votes compare logs only.
    """
    if rules.election.vote_storage == "none" or epoch > voter.epoch:
        return True
    if epoch < voter.epoch:
        return False
    if voter.leadership is not None and voter.leadership.epoch == epoch:
        return False
    vote = voter.vote
    return vote is None or vote[0] != epoch or vote[1] == candidate


def votes_for(voter: Replica, epoch: int, candidate: str) -> None:
    """Stores the vote for `candidate` in `epoch`, before the answer goes out."""
    voter.sees(epoch)
    voter.vote = (epoch, candidate)


def answer_vote(
    voter: Replica,
    request: VoteRequest,
    *,
    leader_known: bool,
    heard_lately: bool,
    barred: bool,
    rules: Rules,
) -> VoteResponse:
    """Grants a vote and stores it, or refuses; a granted pre-vote is not stored.

    Source: KafkaRaftClient.handleVoteRequest, KIP-996.

    Args:
        voter: Replica that is asked, already in the epoch of the request if that is above its own.
        request: Candidate, and the end of its log.
        leader_known: True when the voter follows a leader of that epoch.
        heard_lately: True when it heard from a leader so lately that it refuses pre-votes.
        barred: True when it lost its disk and lacks records that it had acknowledged.
        rules: Rules, which say whether votes are stored.
    """
    epoch, candidate = request.epoch, request.candidate
    able = epoch == voter.epoch and voter.leadership is None and not barred
    granted = able and grants_vote(voter, (request.last_epoch, request.last_offset))
    if request.pre_vote:
        granted = granted and not heard_lately
    elif granted:
        granted = not leader_known and is_free(voter, epoch, candidate, rules=rules)
        if granted:
            votes_for(voter, epoch, candidate)
    return VoteResponse(voter.name, voter.epoch, granted, request.pre_vote)


def wins(
    candidate: Replica,
    voters: Iterable[Replica],
    *,
    voter_count: int,
    epoch: int = 0,
    rules: Rules | None = None,
) -> list[Replica] | None:
    """The live voters that grant, when they and the candidate are a majority; None = it loses.

    With `rules` an earlier vote in `epoch` binds the voter, the candidate included.
    """
    entry, name = last_entry(candidate), candidate.name

    def free(voter: Replica) -> bool:
        return rules is None or is_free(voter, epoch, name, rules=rules)

    granting = [
        voter
        for voter in voters
        if voter.up and voter is not candidate and grants_vote(voter, entry) and free(voter)
    ]
    won = free(candidate) and len(granting) + 1 >= voter_count // 2 + 1
    return granting if won else None


def become_leader(
    replica: Replica,
    epoch: int,
    *,
    isr: tuple[str, ...],
    voters: tuple[str, ...],
    rules: Rules,
    now_ms: int,
    leader_change_uid: int,
) -> list[Event]:
    """Leads `epoch` from the log end on; all follower positions are forgotten.

    With `leader_change_record` a control record with uid `leader_change_uid` is appended first
    (LeaderState.appendStartOfEpochControlRecords; formerly appendLeaderChangeMessage). The high
    watermark rises from what the replica knew. A partly fetched snapshot goes, if
    `download_when_elected` says so.
    """
    log = replica.log
    replica.epoch = max(replica.epoch, epoch)
    if rules.snapshots.download_when_elected == "dropped":
        replica.download = None
    replica.leadership = Leadership(epoch, log.log_end_offset, isr, voters)
    log.epochs.assign(epoch, log.log_end_offset)
    events: list[Event] = [LeaderElected(replica.name, epoch, log.log_end_offset, isr, voters)]
    if not rules.replication.leader_change_record:
        return events + advance_high_watermark(replica, rules=rules)
    marker = control_batch(
        log.log_end_offset,
        epoch=epoch,
        control=Control.LEADER_CHANGE,
        timestamp_ms=now_ms,
        uid=leader_change_uid,
    )
    return events + append(replica, marker, rules=rules, now_ms=now_ms).events


def successors(leadership: Leadership, leader: str, preferred: str) -> list[str]:
    """The other voters by how far they have fetched, the farthest first.

    Among equals `preferred` comes first, then the order of the voters
    (LeaderState.nonLeaderVotersByDescendingFetchOffset).
    """
    others = [name for name in leadership.voters if name != leader]
    positions = leadership.positions
    return sorted(others, key=lambda name: (-positions.get(name, -1), name != preferred))


def waits(heirs: Sequence[str], longest_ms: int) -> list[tuple[str, int]]:
    """Each successor and how many ms it waits before it stands for election.

    The first one does not wait, each later one twice as long as the one before it, none longer
    than `longest_ms` (KafkaRaftClient.strictExponentialElectionBackoffMs).
    """
    shortest_ms = longest_ms >> max(0, len(heirs) - 1)
    return [
        (name, min(longest_ms, shortest_ms << (place - 1)) if place else 0)
        for place, name in enumerate(heirs)
    ]


def alter_partition(
    state: PartitionState, request: AlterPartitionRequest, *, rules: Rules
) -> PartitionState:
    """Grants a leader the in-sync set it asks for, if it leads and knows the present state.

    All members have to be eligible (ReplicationControlManager.validateAlterPartitionData).
    """
    leads = (request.leader, request.leader_epoch) == (state.leader, state.leader_epoch)
    is_present = request.partition_epoch == state.partition_epoch
    may_be = all(name in state.eligible for name in request.new_isr)
    accepted = leads and is_present and may_be
    return with_isr(state, request.new_isr, rules=rules) if accepted else state


def with_isr(
    state: PartitionState, isr: tuple[str, ...], *, unclean: Collection[str] = (), rules: Rules
) -> PartitionState:
    """The partition after its in-sync set has become `isr`.

    Without eligible leader replicas the last member stays: only it may lead when it is back. With
    them, members that leave stay eligible to lead while the set is smaller than `min_isr`, unless
    they shut down uncleanly (`unclean`): no record is committed until the set is large enough. When
    it becomes empty, its leader is remembered (PartitionChangeBuilder.maybePopulateTargetElr).
    """
    if rules.election.eligible_leaders == "isr":
        return replace(state, isr=isr or state.isr, elr=(), last_known_leader=None)
    if len(isr) >= rules.topic.min_isr:
        return replace(state, isr=isr, elr=(), last_known_leader=None)
    left = [name for name in (*state.elr, *state.isr) if name not in isr and name not in unclean]
    last = state.last_known_leader
    if state.isr and not isr and state.leader is not None:
        last = state.leader
    return replace(state, isr=isr, elr=tuple(dict.fromkeys(left)), last_known_leader=last)


def alone_in_sync(state: PartitionState, name: str) -> PartitionState:
    """The partition with one replica alone in sync, whichever records the others have."""
    return replace(state, isr=(name,), elr=(), last_known_leader=None)


def clean_choice(state: PartitionState) -> tuple[str, ...]:
    """The replicas that may be elected without a loss of records; may be empty.

    In sync, else eligible to lead; not fenced (PartitionChangeBuilder.electAnyLeader).
    """
    for names in (state.isr, state.elr):
        found = tuple([name for name in names if name in state.eligible])
        if found:
            return found
    return ()


def last_resort(state: PartitionState) -> str | None:
    """The last known leader; None if it is fenced, or a replica is in sync or eligible to lead.

    Its election is unclean: it came back from a crash, so it may have lost what it had. It takes
    place without `unclean_election` all the same (PartitionChangeBuilder.canElectLastKnownLeader).
    """
    last = state.last_known_leader
    none_left = not state.isr and not state.elr
    return last if none_left and last in state.eligible else None


def led_by(state: PartitionState, leader: str, *, rules: Rules) -> PartitionState:
    """The partition when `leader` leads the next epoch: alone in sync, if it was not in sync."""
    if leader not in state.isr:
        state = with_isr(state, (leader,), rules=rules)
    return replace(
        state, leader=leader, leader_epoch=state.leader_epoch + 1, last_known_leader=None
    )
