"""Elections: who may win, and what winning does (KIP-595; Raft 5.4.1)."""

from __future__ import annotations

from collections.abc import Iterable

from sim.log import Control, control_batch
from sim.replication.leader import advance_high_watermark, append
from sim.replication.replica import Leadership, Replica
from sim.rules.rules import Rules
from sim.trace import Event, LeaderElected


def last_entry(replica: Replica) -> tuple[int, int]:
    """What votes compare: newest epoch of the log, then log end offset."""
    return replica.last_fetched_epoch, replica.log.log_end_offset


def grants_vote(voter: Replica, candidate: tuple[int, int]) -> bool:
    """A voter grants iff the candidate's log is at least as up to date (canGrantVote)."""
    return candidate >= last_entry(voter)


def is_free(voter: Replica, epoch: int, candidate: str, *, rules: Rules) -> bool:
    """Whether no earlier promise keeps a voter from `candidate` in `epoch` (canGrantVote).

    It promised by moving to a higher epoch, by voting for another, or by leading the epoch itself.
    With `vote_storage: none` there are no promises: votes compare logs only, as stories do.
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
    """Promise `candidate` the vote in `epoch`; it is kept before the answer goes out."""
    voter.sees(epoch)
    voter.vote = (epoch, candidate)


def wins(
    candidate: Replica,
    voters: Iterable[Replica],
    *,
    voter_count: int,
    epoch: int = 0,
    rules: Rules | None = None,
) -> list[Replica] | None:
    """The live voters that grant, when they and the candidate are a majority; None = it loses.

    With `rules` what was promised before in `epoch` counts, too, also by the candidate itself.
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
    """Lead `epoch` from the log end on; all follower positions are forgotten.

    With `leader_change_record` a control record with uid `leader_change_uid` is appended first
    (LeaderState.appendStartOfEpochControlRecords; formerly appendLeaderChangeMessage). The high
    watermark stays what the replica knew. A partly fetched snapshot goes, if
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
    return events + append(replica, marker, rules=rules, now_ms=now_ms)
