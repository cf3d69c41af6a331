"""What single events say of a loss, a cut, an election, without asking what led to them."""

from __future__ import annotations

from sim import trace
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, FactKind, Facts, listed
from sim.explain.past import Step


def not_copied(case: Case, step: Step, leader: str, offset: int) -> Fact:
    """That a copy came without an offset."""
    text = (
        f"{step.event.replica} copied from {step.before} on from {leader} "
        f"{case.when(step.position)} and was given nothing at {offset}"
    )
    return Fact("position", text, step.position, (of.NEVER_COPIED,))


def never_had(case: Case, replica: str, offset: int, before: int, mechanism: str) -> Fact:
    """That a log ended below an offset."""
    past = case.past
    text = (
        f"{replica} never had offset {offset}: its log end offset was "
        f"{past.log_end(replica, before)}"
    )
    committed = past.first_commit(offset)
    if committed is not None and committed < before:
        text += f", while {counted_by(case, committed, offset)}"
    text += case.fault(replica, before)
    steps = past.steps_before(replica, before)
    return Fact("position", text, steps[0].position if steps else None, (mechanism,))


def counted_by(case: Case, committed: int, offset: int) -> str:
    """By which positions a leader committed an offset."""
    past, leader = case.past, case.past.event(committed).replica
    whose = {leader: past.log_end(leader, committed)}
    for other in past.steps:
        found = past.last(trace.PositionRecorded, before=committed, replica=leader, follower=other)
        if found is not None:
            whose[other] = past.event(found).position
    counted = [f"{name} at {at}" for name, at in whose.items() if at > offset]
    return f"{leader} committed it {case.when(committed)}, counting {listed(counted)}"


def gave(
    case: Case, position: int, leader: str, offset: int, uid: int, *, unexplained: bool = False
) -> Fact:
    """That a leader gave an offset to a record."""
    known = case.written(uid)
    assert known is not None
    text = (
        f"{leader}, log end offset {case.past.log_end(leader, position)}, gave offset "
        f"{offset} to {case.name(uid)} in epoch {known.batch.epoch} "
        f"{case.when(position)}"
    )
    return Fact("position", text, position, (of.TWO_LEADERS,) if unexplained else ())


def led_on(case: Case, replica: str, before: int) -> Facts:
    """A leader came back and went on in the epoch it had led."""
    led = case.past.last(trace.LeaderElected, replica=replica, before=before)
    back = case.past.last(trace.ReplicaRestarted, replica=replica, before=before)
    if led is None or back is None or back < led:
        return []
    text = (
        f"{replica} came back {case.when(back)} and went on leading epoch "
        f"{case.past.event(led).epoch} "
        f"(leader_restart: {case.rules.election.leader_restart})"
    )
    return [Fact("epoch", text, back, (of.SAME_EPOCH,))]


def given_before(case: Case, offset: int, uid: int) -> Fact:
    """To whom an offset was given first, by whom, and whether that was committed."""
    position, commit = case.past.appended_at[uid], case.past.first_commit(offset)
    known = case.written(uid)
    assert known is not None
    text = (
        f"{case.past.event(position).replica} had given offset {offset} to "
        f"{case.name(uid)} in epoch {known.batch.epoch} {case.when(position)}"
    )
    if uid == case.past.committed_at(offset) and commit is not None:
        text += f", committed {case.when(commit)}"
    return Fact("epoch", text, position)


def by_counting(case: Case, offset: int) -> bool:
    """Whether a leader committed an offset below its epoch by counting replicas (Raft 5.4.2)."""
    past, committed = case.past, case.past.first_commit(offset)
    if committed is None or case.rules.replication.commit == "isr":
        return False
    led = past.last(trace.LeaderElected, before=committed)
    start = 0 if led is None else past.event(led).epoch_start_offset
    return bool(past.event(committed).high_watermark <= start)


def forked(case: Case, offset: int) -> Facts:
    """That a record of an older epoch was committed by counting, beside one of a newer one."""
    known = case.written(case.past.committed_at(offset))
    commit = case.past.first_commit(offset)
    leader = None if commit is None else case.past.leader_at(commit)
    if commit is None or known is None or leader is None or leader[1] == known.batch.epoch:
        return []
    text = (
        f"{case.name(known.record.uid)} of epoch {known.batch.epoch} was committed in "
        f"epoch {leader[1]}: {counted_by(case, commit, offset)}"
    )
    return [Fact("epoch", text, commit)]


def not_cut(case: Case, offset: int, whose: str | None = None) -> Facts:
    """Who holds another record than its leader, and went on copying behind it.

    `whose` names a log whose record at the offset is not, or was not, the one that belongs there.
    """
    past, leader = case.past, case.past.leader_at()
    led = past.last(trace.LeaderElected)
    if leader is None or led is None:
        return []
    right = past.uid_at(leader[0], offset)
    facts: Facts = []
    for replica in past.steps if whose is None else (whose,):
        position, held = past.slot(replica, offset), past.uid_at(replica, offset)
        if replica == whose and position is not None:
            facts += _went_on(case, replica, offset, position)
        elif replica == leader[0] or position is None or position > led or held in (0, right):
            continue
        else:
            facts += _went_on(case, replica, offset, led)
        facts = facts or _counted_anyway(case, replica, leader[0], offset)
    return facts


def _went_on(case: Case, replica: str, offset: int, after: int) -> Facts:
    """By which copy a log first went on behind an offset."""
    for copied in case.past.all(trace.Copied, replica=replica, after=after):
        if case.past.event(copied).fetch_offset > offset:
            return [_copied_behind(case, copied, offset)]
    return []


def _copied_behind(case: Case, copied: int, offset: int) -> Fact:
    event = case.past.event(copied)
    text = (
        f"{event.replica} (epochs {case.epochs_of(event.replica, copied)}) kept what it has "
        f"at {offset} and copied from {event.fetch_offset} on from {event.leader} "
        f"(epochs {case.epochs_of(event.leader, copied)}) {case.when(copied)} "
        f"(truncation: {case.rules.replication.truncation})"
    )
    return Fact("epoch", text, copied)


def _counted_anyway(case: Case, replica: str, leader: str, offset: int) -> Facts:
    """That a leader counts a position above an offset at which a follower has another record."""
    past = case.past
    position = past.last(trace.PositionRecorded, replica=leader, follower=replica)
    if position is None or past.event(position).position <= offset:
        return []
    text = (
        f"{leader} (epochs {case.epochs_of(leader, position)}) recorded position "
        f"{past.event(position).position} for {replica} (epochs "
        f"{case.epochs_of(replica, position)}) {case.when(position)}, which has "
        f"{case.name(past.uid_at(replica, offset))} "
        f"(truncation: {case.rules.replication.truncation})"
    )
    return [Fact("epoch", text, position)]


def chosen_uncleanly(case: Case, position: int) -> bool:
    """Whether a leader was not in the in-sync set, where that decides who may lead."""
    past, election = case.past, case.past.event(position)
    if past.all(trace.UncleanElection, replica=election.replica, epoch=election.epoch):
        return True
    members = past.last(trace.IsrChanged, trace.LeaderElected, before=position)
    by_isr = case.rules.replication.commit == "isr"
    return by_isr and members is not None and election.replica not in past.event(members).isr


def led_twice(case: Case) -> Facts:
    """Why an epoch has two leaders; [] = none has."""
    past, first = case.past, dict[int, int]()
    for position in past.all(trace.LeaderElected):
        event = past.event(position)
        at = first.setdefault(event.epoch, position)
        if past.event(at).replica != event.replica:
            return _led_twice(case, at, position)
    return []


def _led_twice(case: Case, at: int, position: int) -> Facts:
    past, event = case.past, case.past.event(position)
    text = f"{past.event(at).replica} was elected in epoch {event.epoch} {case.when(at)}"
    facts = [Fact("epoch", text, at, (of.TWO_LEADERS,))]
    for back in past.all(trace.ReplicaRestarted, after=at, before=position):
        restarted = past.event(back)
        text = (
            f"{restarted.replica} came back {case.when(back)} in epoch {restarted.epoch} "
            f"(vote_storage: {case.rules.election.vote_storage})"
        )
        facts.append(Fact("epoch", text, back, (of.VOTE_FORGOTTEN,)))
    text = (
        f"{event.replica} was elected in epoch {event.epoch}, too, {case.when(position)}, by "
        f"voters among {listed(list(event.voters))}"
    )
    return [*facts, Fact("epoch", text, position)]


def why_mistaken(case: Case, step: Step) -> str:
    """By what a follower was mistaken that cut what its leader has."""
    if step.event.target == step.event.high_watermark:
        return of.CUT_TO_HW
    backs = case.past.all(trace.ReplicaRestarted, before=step.position)
    read = (case.past.all(trace.EpochCacheChanged, after=back, before=back + 2) for back in backs)
    return of.CUT_BY_EPOCH_FILE if any(read) else of.CUT_BY_EPOCH


def told_cut(
    case: Case, step: Step, leader: tuple[str, int] | None, mechanisms: tuple[str, ...]
) -> Fact:
    """A truncation, with whose word it followed."""
    event, name = step.event, step.event.replica
    by = ""
    if leader is not None and leader[0] != name:
        known = case.epochs_of(leader[0], step.position)
        by = f" following {leader[0]}, leader of epoch {leader[1]} (which knew the epochs "
        by += f"{known})"
    text = (
        f"{name} (epochs {case.epochs_of(name, step.position)}) truncated from "
        f"{event.log_end_offset} to {event.target}{by} {case.when(step.position)}, high "
        f"watermark {event.high_watermark} (truncation: {case.rules.replication.truncation})"
    )
    if event.lowest is not None and event.lowest < event.target:
        text += f"; the batch across the target went from {event.lowest} on"
    if event.leading:
        text += ", while it was leading itself"
    kind: FactKind = "position" if event.target == event.high_watermark else "epoch"
    return Fact(kind, text, step.position, mechanisms)


def came_back(case: Case, name: str, before: int) -> Facts:
    """With what a replica came back last; [] = it was never away."""
    back = case.past.last(trace.ReplicaRestarted, replica=name, before=before)
    if back is None:
        return []
    event = case.past.event(back)
    text = (
        f"{name} came back {case.when(back)} with high watermark "
        f"{event.high_watermark} and log end offset {event.log_end_offset}"
    )
    return [Fact("position", text, back)]


def stands_in_snapshot(case: Case, replica: str, offset: int, before: int) -> bool:
    """Whether a snapshot of a replica stands for an offset."""
    taken = case.past.all(
        trace.SnapshotTaken, trace.SnapshotInstalled, replica=replica, before=before
    )
    return any(case.past.event(one).end_offset > offset for one in taken)


def told_loss(case: Case, position: int) -> tuple[FactKind, str]:
    """An event that took records, in words."""
    event, when = case.past.event(position), case.when(position)
    replica = event.replica
    match event:
        case trace.ReplicaCrashed(_, end, mark):
            return (
                "loss",
                f"{replica} crashed {when} and kept what is below {end}, high watermark {mark}",
            )
        case trace.ReplicaRestarted(_, end, mark):
            return (
                "loss",
                f"{replica} came back {when} with its log up to {end}, high watermark {mark}",
            )
        case trace.SegmentsLost(_, offsets):
            return (
                "loss",
                f"{replica} found offsets {offsets[0]} to {offsets[-1]} in no segment {when}",
            )
        case trace.ReplicaWiped(_, reason):
            return "loss", f"{replica} lost its whole log {when}: {reason}"
        case trace.PrefixDeleted(_, start, mark) | trace.LogStartMoved(_, start, mark):
            newest = case.past.newest_snapshot(replica, position) or "none"
            cause = (
                f" ({event.cause}{case.by_clock(position)})"
                if isinstance(event, trace.LogStartMoved)
                else ""
            )
            text = f"{replica} deleted below {start}{cause} {when}, high watermark {mark}"
            return "position", f"{text}, newest snapshot {newest}"
        case trace.SnapshotInstalled(_, end, epoch, _, before, mark) | trace.LogEmptied(
            _, end, epoch, before, mark
        ):
            emptied = isinstance(event, trace.LogEmptied)
            verb, by = ("emptied", "for") if emptied else ("replaced", "by")
            text = f"{replica} {verb} its log, which ended at {before} (high watermark {mark}), "
            return "snapshot", f"{text}{by} snapshot ({end}, {epoch}) {when}"
        case trace.LogStartedAfresh(_, start, end, mark):
            text = f"{replica}, log end offset {end} (high watermark {mark}), below the leader's "
            return "position", f"{text}log start, began anew at {start} {when}"
        case trace.Pushed(_, leader, batch):
            text = f"{replica} appended a copy of {leader}'s batch at an offset of its own, "
            return "position", f"{text}{batch.base_offset}, {when}"
        case _:
            text = f"{replica} took its log end offset from the records it kept: a pass {when} "
            return "position", f"{text}moved it down to {event.log_end_offset}"
