"""Elections: who may win, and what winning does (KIP-595; Raft 5.4.1)."""

from __future__ import annotations

from collections.abc import Iterable

from sim.log import Control, control_batch
from sim.replication.leader import advance_high_watermark, append
from sim.replication.replica import Leadership, Replica
from sim.replication.rules import Rules
from sim.trace import Event, LeaderElected


def last_entry(replica: Replica) -> tuple[int, int]:
    """What votes compare: newest epoch of the log, then log end offset."""
    return replica.log.epochs.latest, replica.log.log_end_offset


def grants_vote(voter: Replica, candidate: tuple[int, int]) -> bool:
    """A voter grants iff the candidate's log is at least as up to date (canGrantVote)."""
    return candidate >= last_entry(voter)


def wins(
    candidate: Replica, voters: Iterable[Replica], *, voter_count: int
) -> list[Replica] | None:
    """The live voters that grant, when they and the candidate are a majority; None = it loses."""
    entry = last_entry(candidate)
    granting = [v for v in voters if v.up and v is not candidate and grants_vote(v, entry)]
    return granting if len(granting) + 1 >= voter_count // 2 + 1 else None


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
    (LeaderState.appendLeaderChangeMessage). The high watermark stays what the replica knew.
    """
    log = replica.log
    replica.epoch = max(replica.epoch, epoch)
    replica.download = None
    replica.leadership = Leadership(epoch, log.log_end_offset, isr, voters)
    log.epochs.assign(epoch, log.log_end_offset)
    events: list[Event] = [LeaderElected(replica.name, epoch, log.log_end_offset, isr, voters)]
    if not rules.leader_change_record:
        return events + advance_high_watermark(replica, rules=rules)
    marker = control_batch(
        log.log_end_offset,
        epoch=epoch,
        control=Control.LEADER_CHANGE,
        timestamp_ms=now_ms,
        uid=leader_change_uid,
    )
    return events + append(replica, marker, rules=rules, now_ms=now_ms)
