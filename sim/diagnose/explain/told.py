"""What single events say of a loss, a cut, an election, without asking what led to them."""

from __future__ import annotations

from typing import Final

from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, Fact, FactKind, Facts, listed
from sim.diagnose.explain.past import END, Step
from sim.protocol.events import (
    Cleaned,
    Copied,
    EpochCacheChanged,
    IsrChanged,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    SnapshotTaken,
    UncleanElection,
)
from sim.protocol.events.sentences import describe

STARTS: Final = (PrefixDeleted, LogStartMoved, LogStartedAfresh)
"""Events that move a log start."""

_FOLLOWED: Final = "the leader's log start"
"""The cause of a log start's move by which a follower does as its leader did."""


def happened(case: Case, at: int, *mechanisms: str, kind: FactKind = "position") -> Fact:
    """An event in the words of its class."""
    return Fact(kind, f"{describe(case.event(at))} {case.when(at)}", at, mechanisms)


# Where logs end, and what leaders believe of it.


def never_had(case: Case, replica: str, offset: int, before: int) -> Fact:
    """That a log ended below an offset."""
    committed, counted = case.first_commit(offset), ""
    if committed is not None and committed < before:
        counted = f", while {counted_by(case, committed, offset)}"
    steps, end = case.steps_before(replica, before), case.log_end(replica, before)
    text = f"{replica} never had offset {offset}: its log end offset was {end}{counted}"
    at = steps[0].position if steps else None
    return Fact("position", text + case.fault(replica, before), at)


def position_of(case: Case, leader: str, follower: str, before: int = END) -> int | None:
    """The position that a leader recorded last for a follower; None = it has not."""
    found = case.last(PositionRecorded, replica=leader, follower=follower, before=before)
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
    led = case.last(LeaderElected, before=committed)
    start = 0 if led is None else case.event(led).epoch_start_offset
    return bool(case.event(committed).high_watermark <= start)


def forked(case: Case, offset: int) -> Facts:
    """That a record of an older epoch was committed by counting, beside one of a newer one."""
    uid, commit = case.committed_at(offset), case.first_commit(offset)
    leader = None if commit is None else case.leader_at(commit)
    if commit is None or not uid or leader is None or leader[1] == case.epoch_of(uid):
        return []
    what = f"{case.name(uid)} of epoch {case.epoch_of(uid)} was committed in epoch {leader[1]}"
    return [Fact("epoch", f"{what}: {counted_by(case, commit, offset)}", commit)]


# Who was given an offset, and who kept what.


def given_before(case: Case, offset: int, uid: int) -> Fact:
    """To whom an offset was given first, by whom, and whether that was committed."""
    commit, at = case.first_commit(offset), case.appended_at[uid]
    text = f"{case.event(at).replica} had given offset {offset} to {case.name(uid)} in epoch "
    text += f"{case.epoch_of(uid)} {case.when(at)}"
    if commit is not None and uid == case.committed_at(offset):
        text += f", committed {case.when(commit)}"
    return Fact("epoch", text, at)


def not_cut(case: Case, offset: int, whose: str | None = None) -> Facts:
    """Who holds another record than its leader, and went on copying behind it.

    `whose` names a log whose record at the offset is not, or was not, the one that belongs there.
    """
    leader = case.leader_at()
    led = case.last(LeaderElected)
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
    for at in case.all(Copied, replica=replica, after=after):
        event = case.event(at)
        if event.fetch_offset > offset:
            text = f"{case.knowing(replica, at)} kept what it has at {offset} and copied from "
            text += f"{event.fetch_offset} on from {case.knowing(event.leader, at)} {case.when(at)}"
            return [Fact("epoch", f"{text} {case.by_rules('truncation')}", at)]
    return []


def _counted_anyway(case: Case, replica: str, leader: str, offset: int) -> Facts:
    """That a leader counts a position above an offset at which a follower has another record."""
    at = case.last(PositionRecorded, replica=leader, follower=replica)
    if at is None or case.event(at).position <= offset:
        return []
    text = f"{case.knowing(leader, at)} recorded position {case.event(at).position} for "
    text += f"{case.knowing(replica, at)} {case.when(at)}, which has "
    text += f"{case.name(case.uid_at(replica, offset))} {case.by_rules('truncation')}"
    return [Fact("epoch", text, at)]


# Who leads.


def led_on(case: Case, replica: str, before: int) -> Facts:
    """A leader came back and went on in the epoch it had led."""
    led = case.last(LeaderElected, replica=replica, before=before)
    back = case.last(ReplicaRestarted, replica=replica, before=before)
    if led is None or back is None or back < led:
        return []
    text = f"{replica} came back {case.when(back)} and went on leading epoch "
    text += f"{case.event(led).epoch} {case.by_rules('leader_restart')}"
    return [Fact("epoch", text, back, (of.SAME_EPOCH,))]


def chosen_uncleanly(case: Case, position: int) -> bool:
    """Whether a leader was not in the in-sync set, where that decides who may lead."""
    election = case.event(position)
    if case.all(UncleanElection, replica=election.replica, epoch=election.epoch):
        return True
    members = case.last(IsrChanged, LeaderElected, before=position)
    by_isr = case.rules.replication.commit == "isr"
    return by_isr and members is not None and election.replica not in case.event(members).isr


def led_twice(case: Case) -> Facts:
    """Why an epoch has two leaders; [] = none has."""
    first = dict[int, int]()
    for position in case.all(LeaderElected):
        event = case.event(position)
        at = first.setdefault(event.epoch, position)
        leader = case.event(at).replica
        if leader != event.replica:
            won = f"was elected in epoch {event.epoch}"
            second = f"{event.replica} {won}, too, {case.when(position)}, by voters among "
            return [
                Fact("epoch", f"{leader} {won} {case.when(at)}", at, (of.TWO_LEADERS,)),
                *_voters_back(case, at, position),
                Fact("epoch", second + (listed(event.voters) or "none"), position),
            ]
    return []


def _voters_back(case: Case, after: int, before: int) -> Facts:
    """Who came back between two elections of one epoch."""
    facts = []
    for at in case.all(ReplicaRestarted, after=after, before=before):
        text = f"{case.event(at).replica} came back {case.when(at)} in epoch {case.event(at).epoch}"
        text += f" {case.by_rules('vote_storage')}"
        facts.append(Fact("epoch", text, at, (of.VOTE_FORGOTTEN,)))
    return facts


# What was cut and lost.


def why_mistaken(case: Case, step: Step) -> str:
    """By what a follower was mistaken that cut what its leader has."""
    if step.event.target == step.event.high_watermark:
        return of.CUT_TO_HW
    backs = case.all(ReplicaRestarted, before=step.position)
    read = (case.all(EpochCacheChanged, after=back, before=back + 2) for back in backs)
    return of.CUT_BY_EPOCH_FILE if any(read) else of.CUT_BY_EPOCH


def told_cut(case: Case, step: Step, leader: tuple[str, int] | None, *mechanisms: str) -> Fact:
    """A truncation, with whose word it followed."""
    event, at = step.event, step.position
    name, target, mark = event.replica, event.target, event.high_watermark
    text = f"{case.knowing(name, at)} truncated from {event.log_end_offset} to {target}"
    if leader is not None and leader[0] != name:
        text += f" following {leader[0]}, leader of epoch {leader[1]} (which knew the epochs "
        text += f"{case.epochs_of(leader[0], at)})"
    text += f" {case.when(at)}, high watermark {mark} {case.by_rules('truncation')}"
    if event.lowest is not None and event.lowest < target:
        text += f"; the batch across the target went from {event.lowest} on"
    text += ", while it was leading itself" if event.leading else ""
    return Fact("position" if target == mark else "epoch", text, at, mechanisms)


def came_back(case: Case, name: str, before: int) -> Facts:
    """With what a replica came back last; [] = it was never away."""
    back = case.last(ReplicaRestarted, replica=name, before=before)
    if back is None:
        return []
    _, end, mark, _ = case.event(back)
    text = f"{name} came back {case.when(back)} with high watermark {mark} and log end offset {end}"
    return [Fact("position", text, back)]


def stands_in_snapshot(case: Case, step: Step, offset: int) -> bool:
    """Whether a snapshot of a replica stands for an offset before something happens to its log."""
    kinds = (SnapshotTaken, SnapshotInstalled)
    taken = case.all(*kinds, replica=step.event.replica, before=step.position)
    return any(case.event(one).end_offset > offset for one in taken)


def lost_by(case: Case, at: int, *mechanisms: str) -> Facts:
    """One event by which a log lost records, and why the leader's log start had moved before it.

    That is where a follower took it over.
    """
    event, leader = case.event(at), case.leader_at(at)
    moved = None
    if getattr(event, "cause", "") == _FOLLOWED and leader and leader[0] != event.replica:
        moved = case.last(*STARTS, replica=leader[0], before=at)
    return [*([] if moved is None else [lost_at(case, moved)]), lost_at(case, at, *mechanisms)]


def lost_at(case: Case, at: int, *mechanisms: str) -> Fact:
    """One event by which a log lost records otherwise than by a removal or a truncation."""
    event, when, kind = case.event(at), case.when(at), "position"
    name, mark = event.replica, f"high watermark {getattr(event, 'high_watermark', '')}"
    match event:
        case ReplicaCrashed(_, end):
            kind, text = "loss", f"{name} crashed {when} and kept what is below {end}, {mark}"
        case ReplicaRestarted(_, end):
            kind, text = "loss", f"{name} came back {when} with its log up to {end}, {mark}"
        case ReplicaWiped(_, reason):
            kind, text = "loss", f"{name} lost its whole log {when}: {reason}"
        case SegmentsLost(_, offsets):
            what = f"offsets {offsets[0]} to {offsets[-1]} in no segment"
            kind, text = "loss", f"{name} found {what} {when}"
        case Cleaned(log_end_offset=end):
            text = f"{name} took its log end offset from the records it kept: a pass {when} moved "
            text += f"it down to {end}"
        case LogStartMoved(_, start, _, cause):
            text = f"{name} deleted below {start} ({cause}{case.by_clock(at)}) {when}, {mark}"
        case LogStartedAfresh(_, start, end):
            text = f"{name}, log end offset {end} ({mark}), below the leader's log start, began "
            text += f"anew at {start} {when}"
        case PrefixDeleted(_, start):
            text = f"{name} deleted below {start} {when}, {mark}"
        case Pushed(_, leader, batch):
            text = f"{name} appended a copy of {leader}'s batch at an offset of its own, "
            text += f"{batch.base_offset}, {when}"
        case LogEmptied(_, taken, epoch, end):
            kind, text = "snapshot", f"{name} emptied its log, which ended at {end} ({mark}), for "
            text += f"snapshot ({taken}, {epoch}) {when}"
        case SnapshotInstalled(_, taken, epoch, _, end):
            kind, text = "snapshot", f"{name} replaced its log, which ended at {end} ({mark}), by "
            text += f"snapshot ({taken}, {epoch}) {when}"
    if isinstance(event, LogStartMoved | PrefixDeleted):
        text += f", newest snapshot {case.newest_snapshot(name, at) or 'none'}"
    return Fact(kind, text + (case.fault(name, at) if kind == "loss" else ""), at, mechanisms)
