"""What single events say of a loss, a cut, an election, without asking what led to them."""

from __future__ import annotations

from typing import Final

from sim import trace
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts
from sim.explain.past import END, Step
from sim.explain.sentences import listed

_FOLLOWED: Final = "the leader's log start"
"""The cause of a log start's move by which a follower does as its leader did."""


# Where logs end, and what leaders believe of it.


def never_had(case: Case, replica: str, offset: int, before: int) -> Fact:
    """That a log ended below an offset."""
    committed, counted = case.first_commit(offset), ""
    if committed is not None and committed < before:
        counted = counted_by(case, committed, offset)
    steps = case.steps_before(replica, before)
    at = steps[0].position if steps else None
    return case.fact("never had", at, name=replica, offset=offset, before=before, counted=counted)


def position_of(case: Case, leader: str, follower: str, before: int = END) -> int | None:
    """The position that a leader recorded last for a follower; None = it has not."""
    found = case.last(trace.PositionRecorded, replica=leader, follower=follower, before=before)
    return None if found is None else int(case.event(found).position)


def counted_by(case: Case, committed: int, offset: int) -> str:
    """By which positions a leader committed an offset."""
    leader = case.event(committed).replica
    whose = {leader: case.log_end(leader, committed)}
    for other in case.steps:
        whose[other] = position_of(case, leader, other, committed) or whose.get(other, 0)
    counted = [f"{name} at {at}" for name, at in whose.items() if at > offset]
    return f"{leader} committed it {case.when(committed)}, counting {listed(counted)}"


def by_counting(case: Case, offset: int) -> bool:
    """Whether a leader committed an offset below its epoch by counting replicas (Raft 5.4.2)."""
    committed = case.first_commit(offset)
    if committed is None or case.rules.replication.commit == "isr":
        return False
    led = case.last(trace.LeaderElected, before=committed)
    start = 0 if led is None else case.event(led).epoch_start_offset
    return bool(case.event(committed).high_watermark <= start)


def forked(case: Case, offset: int) -> Facts:
    """That a record of an older epoch was committed by counting, beside one of a newer one."""
    uid, commit = case.committed_at(offset), case.first_commit(offset)
    known, leader = case.written(uid), None if commit is None else case.leader_at(commit)
    if commit is None or known is None or leader is None or leader[1] == known.batch.epoch:
        return []
    counted = counted_by(case, commit, offset)
    return [case.fact("counted in", commit, uid=uid, later=leader[1], counted=counted)]


# Who was given an offset, and who kept what.


def given_before(case: Case, offset: int, uid: int) -> Fact:
    """To whom an offset was given first, by whom, and whether that was committed."""
    commit = case.first_commit(offset)
    known = commit is not None and uid == case.committed_at(offset)
    committed = case.when(commit) if known and commit is not None else None
    at = case.appended_at[uid]
    return case.fact("given before", at, offset=offset, uid=uid, committed=committed)


def not_cut(case: Case, offset: int, whose: str | None = None) -> Facts:
    """Who holds another record than its leader, and went on copying behind it.

    `whose` names a log whose record at the offset is not, or was not, the one that belongs there.
    """
    leader = case.leader_at()
    led = case.last(trace.LeaderElected)
    if leader is None or led is None:
        return []
    right = case.uid_at(leader[0], offset)
    facts: Facts = []
    for replica in case.steps if whose is None else (whose,):
        position, held = case.slot(replica, offset), case.uid_at(replica, offset)
        since = led
        if replica == whose and position is not None:
            since = position
        elif replica == leader[0] or position is None or position > led or held in (0, right):
            continue
        facts += _went_on(case, replica, offset, since)
        facts = facts or _counted_anyway(case, replica, leader[0], offset)
    return facts


def _went_on(case: Case, replica: str, offset: int, after: int) -> Facts:
    """By which copy a log first went on behind an offset."""
    copies = case.all(trace.Copied, replica=replica, after=after)
    behind = [one for one in copies if case.event(one).fetch_offset > offset]
    return [case.fact("went on", one, offset=offset) for one in behind[:1]]


def _counted_anyway(case: Case, replica: str, leader: str, offset: int) -> Facts:
    """That a leader counts a position above an offset at which a follower has another record."""
    at = case.last(trace.PositionRecorded, replica=leader, follower=replica)
    if at is None or case.event(at).position <= offset:
        return []
    return [case.fact("recorded anyway", at, uid=case.uid_at(replica, offset))]


# Who leads.


def led_on(case: Case, replica: str, before: int) -> Facts:
    """A leader came back and went on in the epoch it had led."""
    led = case.last(trace.LeaderElected, replica=replica, before=before)
    back = case.last(trace.ReplicaRestarted, replica=replica, before=before)
    if led is None or back is None or back < led:
        return []
    return [case.fact("went on leading", back, of.SAME_EPOCH, led=case.event(led).epoch)]


def chosen_uncleanly(case: Case, position: int) -> bool:
    """Whether a leader was not in the in-sync set, where that decides who may lead."""
    election = case.event(position)
    if case.all(trace.UncleanElection, replica=election.replica, epoch=election.epoch):
        return True
    members = case.last(trace.IsrChanged, trace.LeaderElected, before=position)
    by_isr = case.rules.replication.commit == "isr"
    return by_isr and members is not None and election.replica not in case.event(members).isr


def led_twice(case: Case) -> Facts:
    """Why an epoch has two leaders; [] = none has."""
    first = dict[int, int]()
    for position in case.all(trace.LeaderElected):
        event = case.event(position)
        at = first.setdefault(event.epoch, position)
        if case.event(at).replica != event.replica:
            backs = case.all(trace.ReplicaRestarted, after=at, before=position)
            return [
                case.fact("first leader", at, of.TWO_LEADERS),
                *(case.fact("voter", back, of.VOTE_FORGOTTEN) for back in backs),
                case.fact("second leader", position),
            ]
    return []


# What was cut and lost.


def why_mistaken(case: Case, step: Step) -> str:
    """By what a follower was mistaken that cut what its leader has."""
    if step.event.target == step.event.high_watermark:
        return of.CUT_TO_HW
    backs = case.all(trace.ReplicaRestarted, before=step.position)
    read = (case.all(trace.EpochCacheChanged, after=back, before=back + 2) for back in backs)
    return of.CUT_BY_EPOCH_FILE if any(read) else of.CUT_BY_EPOCH


def told_cut(case: Case, step: Step, leader: tuple[str, int] | None, *mechanisms: str) -> Fact:
    """A truncation, with whose word it followed."""
    event = step.event
    name, epoch = leader if leader is not None and leader[0] != event.replica else (None, None)
    reached = event.lowest if (event.lowest or 0) < event.target else None
    kind = "position" if event.target == event.high_watermark else "epoch"
    values = {"leader": name, "epoch": epoch, "reached": reached, "kind": kind}
    return case.fact("truncated", step.position, *mechanisms, **values)


def came_back(case: Case, name: str, before: int) -> Facts:
    """With what a replica came back last; [] = it was never away."""
    back = case.last(trace.ReplicaRestarted, replica=name, before=before)
    return [] if back is None else [case.fact("came back", back)]


def stands_in_snapshot(case: Case, step: Step, offset: int) -> bool:
    """Whether a snapshot of a replica stands for an offset before something happens to its log."""
    kinds = (trace.SnapshotTaken, trace.SnapshotInstalled)
    taken = case.all(*kinds, replica=step.event.replica, before=step.position)
    return any(case.event(one).end_offset > offset for one in taken)


def lost_by(case: Case, step: Step, mechanism: str) -> Facts:
    """One event by which a log lost records otherwise than by cleaning or a truncation."""
    fact = case.fact(type(step.event).__name__, step.position, mechanism)
    return [*_followed(case, step), fact]


def _followed(case: Case, step: Step) -> Facts:
    """Why the leader's log start had moved, where a follower took it over."""
    event, leader = step.event, case.leader_at(step.position)
    if getattr(event, "cause", "") != _FOLLOWED or leader is None or leader[0] == event.replica:
        return []
    kinds = (trace.PrefixDeleted, trace.LogStartMoved, trace.LogStartedAfresh)
    moved = case.last(*kinds, replica=leader[0], before=step.position)
    return [] if moved is None else [case.fact(type(case.event(moved)).__name__, moved)]
