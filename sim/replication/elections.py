"""Who may lead: votes, the in-sync and the eligible replicas, successors; and what winning does.

A majority elects by votes (KIP-595, Raft 5.4.1); a controller chooses from the in-sync set and the
eligible leader replicas (KIP-966). What the controller keeps of a partition is a value here:
nothing knows who is alive.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

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


class Candidates(NamedTuple):
    """The replicas that may have everything that is committed.

    Attributes:
        isr: The in-sync set.
        elr: With `eligible_leaders: elr`: left the set while it was too small to commit anything.
        last_leader: Who led when nobody was in either set any more; None = somebody is.
    """

    isr: tuple[str, ...]
    elr: tuple[str, ...] = ()
    last_leader: str | None = None


def changed(
    before: Candidates, isr: tuple[str, ...], *, unclean: Collection[str] = (), rules: Rules
) -> Candidates:
    """The candidates after the in-sync set has become `isr`.

    Without eligible leader replicas the last member stays: only it may lead when it is back. With
    them, who leaves a set that is smaller than `min_isr` after that stays eligible, unless it shut
    down uncleanly (`unclean`), for nothing is committed without it until the set is large enough
    (PartitionChangeBuilder.maybePopulateTargetElr).
    """
    if rules.election.eligible_leaders == "isr":
        return Candidates(isr or before.isr)
    if len(isr) >= rules.topic.min_isr:
        return Candidates(isr)
    left = [name for name in (*before.elr, *before.isr) if name not in isr and name not in unclean]
    return Candidates(isr, tuple(dict.fromkeys(left)), before.last_leader)


def clean_choice(candidates: Candidates, able: Collection[str]) -> tuple[str, ...]:
    """The replicas of `able` among which a leader may be chosen without a loss: the first kind.

    In sync, else eligible, else who led last if nobody else is left
    (PartitionChangeBuilder.electAnyLeader, canElectLastKnownLeader).
    """
    for names in (candidates.isr, candidates.elr):
        found = tuple(name for name in names if name in able)
        if found:
            return found
    last = candidates.last_leader
    nobody = not candidates.isr and not candidates.elr
    return (last,) if nobody and last is not None and last in able else ()


def led_by(candidates: Candidates, leader: str, *, rules: Rules) -> Candidates:
    """The candidates when `leader` is chosen: alone in sync, if it was not in sync."""
    if leader in candidates.isr:
        return candidates._replace(last_leader=None)
    chosen = changed(candidates, (leader,), rules=rules)
    return chosen._replace(last_leader=None)
