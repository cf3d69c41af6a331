"""The fate of an offset: why a replica lacks a record, has another one, or leads without it.

This explains most violations. It walks back over events up to the one that decided: a cleaner
compared versions, or a clock with a horizon; a leader recorded a wrong position; a crash lost what
was not flushed; an election or an epoch made a log truncate. Consequences follow that fact.
"""

from __future__ import annotations

from typing import Final

from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import (
    KINDS,
    STARTS,
    Case,
    Fact,
    Facts,
    as_context,
    first_is,
    listed,
    mechanisms_of,
)
from sim.diagnose.explain.past import END, Became, LogStep
from sim.diagnose.explain.removed import removal_at, removed
from sim.protocol import events as on

NESTED_MAX: Final = 16
"""How many losses are followed in turn, each as the reason of the one before."""
FOLLOWED: Final = "the leader's log start"
"""The cause that an event gives where a follower moves its log start with its leader's."""

_LOST_BY: Final = {
    Became.CRASHED: of.TAIL_LOST,
    Became.SEGMENTS_LOST: of.SWAP_LOST,
    Became.WIPED: of.DISK_LOST,
    Became.REPLACED: of.REPLACED,
    Became.EXPIRED: of.EXPIRED,
}
_DEEPER: Final = {of.TAIL_LOST, of.OLD_EPOCH_COMMITTED}
"""Mechanisms that decide more than the lag of a replica."""
_HOLES: Final = (Became.CLEANED, Became.NOT_AT_SOURCE, Became.SEGMENTS_LOST)


def answer(case: Case) -> Facts:
    """Explains the fate of the offset of a violation, on its replica if it names one.

    The event that showed the violation comes last if it decides by itself, or nothing else does.
    """
    facts, at = _fate(case), case.judged
    if any(fact.position == at for fact in facts):
        return facts
    return [*facts, case.fact(at)] if type(case.shown_by) in KINDS or not facts else facts


def _fate(case: Case) -> Facts:
    offset, named = case.violation.offset, case.violation.replica
    if offset is None:
        return []
    if isinstance(case.shown_by, on.Truncated):
        name = case.shown_by.replica
        uid = case.last_written(name, case.shown_by.target, case.judged)
        return _cut(case, case.steps_before(name, case.end)[0], offset, uid)
    facts = given_twice(case, offset)
    for name in [named] if named else case.replicas:
        uid = case.committed_at(offset) or case.uid_at(name, offset, case.judged)
        facts = facts or without(case, name, offset, uid or None, lag_is_news=True)
    if not facts and len(case.uids_at(offset)) > 1:
        return two_records_at(case, offset)
    held = case.known(case.uid_at(case.replica, offset))
    if facts or held is None:
        return facts
    if held.offset != offset:
        pushed = case.last(on.Pushed, replica=named)
        return [] if pushed is None else [case.fact(pushed, of.NUMBERED_ITSELF)]
    return [given_before(case, offset, held.record.uid)]


# A log lacks a record.


def lacks(
    case: Case, replica: str, offset: int, uid: int | None = None, before: int = END
) -> Facts:
    """Explains why a log lacked the record of an offset before a position; empty if it had it.

    `uid` belongs there (None: the committed one, else any). Empty as well beyond `NESTED_MAX`.
    """
    uid = uid or case.committed_at(offset) or None
    became, _, step = case.fate(replica, offset, uid, before)
    if became is Became.HELD or case.nested > NESTED_MAX:
        return []
    if became is Became.NEVER or step is None:
        return _never_came(case, replica, offset, before)
    asked = (replica, offset, step.position)
    if asked not in case.answered:
        case.answered[asked] = []
        case.nested += 1
        case.answered[asked] = _taken(case, became, step, offset, uid)
        case.nested -= 1
    return case.answered[asked]


def _taken(case: Case, became: Became, step: LogStep, offset: int, uid: int | None) -> Facts:
    """Explains the event by which a log lost an offset."""
    at, replica = step.position, step.event.replica
    match became:
        case Became.NOT_AT_SOURCE:
            nothing = [case.fact(at, of.NEVER_COPIED)]
            return lacks(case, step.event.leader, offset, uid, at) or nothing
        case Became.OTHER:
            return _other(case, step, offset, uid)
        case Became.CUT:
            return _cut(case, step, offset, uid)
        case Became.CLEANED:
            return cleaned(case, step, offset)
        case Became.END_LOWERED:
            removal = removal_at(step.event, offset)
            gone = [removed(case, at, removal)] if removal else []
            before = gone or lacks(case, replica, offset, uid, at)
            return [*as_context(before), case.fact(at, of.END_FROM_LAST)]
    kinds = (on.SnapshotTaken, on.SnapshotInstalled)
    taken = (case.event(one).end_offset for one in case.all(*kinds, replica=replica, before=at))
    why = _LOST_BY[became]
    if became is Became.EXPIRED and any(end > offset for end in taken):
        why = of.SNAPSHOT_LACKS
    lost, leader = case.fact(at, why), case.leader_at(at)
    if getattr(step.event, "cause", "") == FOLLOWED and leader and leader[0] != replica:
        moved = case.last(*STARTS, replica=leader[0], before=at)
        return [lost] if moved is None else [case.fact(moved), lost]
    return [lost]


def cleaned(case: Case, step: LogStep, offset: int) -> Facts:
    """Explains why a pass removed a record, and why its winner is gone, if it is."""
    removal = removal_at(step.event, offset)
    assert removal is not None
    facts = [removed(case, step.position, removal)]
    if facts[0].mechanisms != (of.SUPERSEDED,) or removal.winner_offset is None:
        return facts
    replica, at = step.event.replica, removal.winner_offset
    winner = case.last_written(replica, at, step.position)
    lost = lacks(case, replica, at, winner) if winner else []
    return [*first_is(facts, of.BEATEN_LOST), *lost] if lost else facts


def _never_came(case: Case, replica: str, offset: int, before: int) -> Facts:
    """Explains why a log ends at or below an offset: it lagged, or there was nothing to copy."""
    steps, end = case.steps_before(replica, before), case.log_end(replica, before)
    committed = case.first_commit(offset)
    text = f"{replica} never had offset {offset}: its log end offset was {end}"
    if committed is not None and committed < before:
        text += f", while {case.fact(committed).text}"
    at = steps[0].position if steps else None
    never = [Fact("position", text + case.fault(replica, before), at, (of.NEVER_COPIED,))]
    if any(isinstance(step.event, on.Pushed) for step in steps):
        return first_is(never, of.NUMBERED_ITSELF)
    belief = case.believed(replica, offset, before)
    if belief is not None:
        return _recorded(case, belief)
    leaders = (case.event(one).replica for one in case.latest(on.LeaderElected, before=before))
    source = next((name for name in leaders if name != replica), None)
    if source is not None and ends_in_a_hole(case, source, end, before):
        return [*end_fell(case, source, end, before), *as_context(never)]
    return never


def ends_in_a_hole(case: Case, source: str, start: int, before: int = END) -> bool:
    """Checks that a log ends beyond `start`, and holds no record from there to its end."""
    end = case.log_end(source, before)
    return start < end and all(
        case.fate(source, offset, None, before).became in _HOLES
        for offset in range(end - 1, start - 1, -1)
    )


def end_fell(case: Case, source: str, start: int, before: int = END) -> Facts:
    """Explains a log end that fell to `start`, by the removal of the record there or of the last.

    The removal of the last record decides how the log end fell. Never empty.
    """
    last = case.log_end(source, before) - 1
    became, replica, step = case.origin(source, last, None, before)
    if became is not Became.CLEANED or step is None:
        at = None if step is None else step.position
        text = f"the log of {source} ends at {last + 1}, and holds nothing at {last}"
        return [Fact("position", text, at, (of.END_FELL,))]
    fallen = (each for each in case.steps_before(replica, before) if each.after < each.before)
    later = next((each for each in fallen if each.position > step.position), None)
    how = of.END_FELL
    if later is not None:
        crashed = isinstance(later.event, on.ReplicaCrashed)
        how = of.END_FELL_CRASH if crashed else of.END_FELL_CUT
    first = case.origin(source, start, None, before)
    if first.became is Became.CLEANED and first.step is not None:
        step, last = first.step, start
    return first_is(cleaned(case, step, last), how)


# Another record is there.


def _other(case: Case, step: LogStep, offset: int, uid: int | None) -> Facts:
    """Explains why a replica wrote another record than the one that belongs at an offset."""
    replica, at = step.event.replica, step.position
    other = case.uid_at(replica, offset, at + 1)
    if uid is None or isinstance(step.event, on.Pushed):
        return [case.fact(at, of.NUMBERED_ITSELF)]
    if case.epoch_of(uid) == case.epoch_of(other):
        return _given_again(case, offset, *sorted((uid, other), key=case.appended_at.__getitem__))
    commit = case.first_commit(offset)
    if commit is not None and commit <= case.appended_at[other]:
        return _given_again(case, offset, uid, other)
    text = f"{replica} has {case.name(other)} since {case.time(at)}, where {case.name(uid)} was "
    return _tail_kept(case, offset, [Fact("epoch", f"{text}given the offset later", at)], replica)


def given_before(case: Case, offset: int, uid: int) -> Fact:
    """The fact of a record's append, with a newer epoch that was led then, and its commit."""
    commit, at = case.first_commit(offset), case.appended_at[uid]
    fact, (leader, newest) = case.fact(at, kind="epoch"), case.leader_at(at) or ("", 0)
    late = f", when {leader} led epoch {newest} already" * (newest > case.epoch_of(uid))
    if commit is not None and uid == case.committed_at(offset):
        late += f", committed {case.when(commit)}"
    return fact._replace(text=fact.text + late)


def _given_again(case: Case, offset: int, first: int, second: int) -> Facts:
    """Explains why a leader gave the offset of record `first` to record `second`."""
    position, same_epoch = case.appended_at[second], case.epoch_of(second) == case.epoch_of(first)
    gave, leader = case.fact(position), case.event(position).replica
    if same_epoch and case.event(case.appended_at[first]).replica != leader:
        elections = led_twice(case)
        return [*elections, gave] if elections else first_is([gave], of.TWO_LEADERS)
    facts, went_on = without(case, leader, offset, first, position), []
    led = case.last(on.LeaderElected, replica=leader, before=position)
    back = case.last(on.ReplicaRestarted, replica=leader, before=position)
    if same_epoch and led is not None and back is not None and back > led:
        text = f"{leader} came back {case.when(back)} and went on leading epoch "
        text += f"{case.event(led).epoch} {case.by_rules('leader_restart')}"
        why = (of.SAME_EPOCH,) if of.TAIL_LOST in mechanisms_of(facts) else ()
        went_on = [Fact("epoch", text, back, why)]
    return [*facts, *went_on, gave]


def given_twice(case: Case, offset: int) -> Facts:
    """Explains an offset given again after its commit, or twice in one epoch; else empty."""
    uids, commit = case.uids_at(offset), case.first_commit(offset)
    if len(uids) < 2:
        return []
    committed = case.committed_at(offset)
    first = committed if committed in uids else uids[0]
    later = uids[uids.index(first) + 1 :]
    if not later or commit is None or commit >= case.appended_at[later[0]]:
        if case.epoch_of(uids[0]) != case.epoch_of(uids[1]):
            return []
        first, later = uids[0], uids[1:]
    return [*_given_again(case, offset, first, later[0]), given_before(case, offset, first)]


def two_records_at(case: Case, offset: int) -> Facts:
    """Explains why two records were given one offset, and why both are there.

    A new leader may give an uncommitted offset again, under its own epoch. Then the deciding fact
    is the commit of one of the records, or a replica that did not truncate its own.
    """
    uids = case.uids_at(offset)
    if len(uids) < 2:
        return lacks(case, case.replica, offset) if case.replica else []
    given = [given_before(case, offset, uid) for uid in uids[-2:]]
    return given_twice(case, offset) or _tail_kept(case, offset, given)


def _tail_kept(case: Case, offset: int, otherwise: Facts, whose: str | None = None) -> Facts:
    """Explains why two records stay at an offset that was free when each got it.

    `whose` has or had the record that does not belong there; `otherwise` is for want of facts.
    """
    uncut, old = _not_cut(case, offset, whose), _forked(case, offset)
    if old and case.committed_by_counting(offset):
        return [*first_is(old, of.OLD_EPOCH_COMMITTED), *uncut]
    unknown = _leader_cannot_tell(case, offset, uncut)
    facts = [*uncut, *old] or otherwise
    return first_is(facts, of.TAIL_UNKNOWN if unknown else of.TAIL_KEPT, *facts[0].mechanisms)


def _not_cut(case: Case, offset: int, whose: str | None = None) -> Facts:
    """Explains which replicas kept another record than their leader and copied on after it."""
    leader, led = case.leader_at(), case.last(on.LeaderElected)
    if leader is None or led is None:
        return []
    right = case.uid_at(leader[0], offset)
    facts: Facts = []
    for replica in case.replicas if whose is None else (whose,):
        position, held = case.slot(replica, offset), case.uid_at(replica, offset)
        since = led
        if replica == whose and position is not None:
            since = position
        elif replica == leader[0] or position is None or position > led or held in (0, right):
            continue
        facts += _went_on(case, replica, offset, since)
        counted = case.position_of(leader[0], replica) or 0
        if not facts and counted > offset:
            at = case.last(on.PositionRecorded, replica=leader[0], follower=replica) or 0
            text = f"{case.knowing(leader[0], at)} recorded position {counted} for "
            text += f"{case.knowing(replica, at)} {case.when(at)}, which has "
            text += f"{case.name(held)} {case.by_rules('truncation')}"
            facts = [Fact("epoch", text, at)]
    return facts


def _went_on(case: Case, replica: str, offset: int, after: int) -> Facts:
    """The fact of the first copy from above an offset."""
    for at in case.all(on.Copied, replica=replica, after=after):
        event = case.event(at)
        if event.fetch_offset > offset:
            text = f"{case.knowing(replica, at)} kept what it has at {offset} and copied from "
            text += f"{event.fetch_offset} on from {case.knowing(event.leader, at)} {case.when(at)}"
            return [Fact("epoch", f"{text} {case.by_rules('truncation')}", at)]
    return []


def _leader_cannot_tell(case: Case, offset: int, uncut: Facts) -> bool:
    """Checks that a pass, a snapshot or retention took an offset's record from the leader's log."""
    uid, leader, before = case.committed_at(offset), case.leader_at(), END
    if uncut and uncut[0].position is not None:
        before = uncut[0].position
        copied = case.event(before)
        leader = (copied.leader, 0) if isinstance(copied, on.Copied) else leader
    if leader is None or not uid:
        return False
    became = case.origin(leader[0], offset, uid, before).became
    return became in (Became.CLEANED, Became.REPLACED, Became.EXPIRED)


# Commits, elections, and the positions that leaders record.


def _forked(case: Case, offset: int) -> Facts:
    """The fact that a record was committed in a later epoch than its own; else empty."""
    uid, commit = case.committed_at(offset), case.first_commit(offset)
    leader = None if commit is None else case.leader_at(commit)
    if commit is None or not uid or leader is None or leader[1] == case.epoch_of(uid):
        return []
    what = f"{case.name(uid)} of epoch {case.epoch_of(uid)} was committed in epoch {leader[1]}"
    return [Fact("epoch", f"{what}: {case.fact(commit).text}", commit)]


def without(
    case: Case,
    replica: str,
    offset: int,
    uid: int | None,
    before: int = END,
    *,
    lag_is_news: bool = False,
) -> Facts:
    """Explains why a replica lacked a record and led, or counted, anyway; empty if it had it.

    With `lag_is_news` a lag is a fact; else the reason why the replica counted takes its place.
    """
    facts = lacks(case, replica, offset, uid, before)
    if facts and (led := case.led_after(replica, offset, before)) is not None:
        facts = lacks(case, replica, offset, uid, led) or facts  # what it did later took nothing
    names = mechanisms_of(facts)
    counted = _counted(case, replica, offset, before, names) if facts else []
    also = mechanisms_of(counted)
    lagged = len(facts) == 1 and names == (of.NEVER_COPIED,) and also
    if lagged and not (lag_is_news and _DEEPER.isdisjoint(also)):
        return first_is(counted, *names, *counted[0].mechanisms)
    return [*facts, *counted]


def _counted(case: Case, replica: str, offset: int, before: int, names: tuple[str, ...]) -> Facts:
    """Explains why a replica that lacks a committed offset could lead, or count."""
    since, facts = case.first_commit(offset), Facts()
    if since is None:
        return facts
    led = case.led_after(replica, offset, before)
    if led is not None:
        election = case.event(led)
        by_isr = case.rules.replication.commit == "isr"
        members = case.last(on.IsrChanged, on.LeaderElected, before=led)
        outside = members is not None and replica not in case.event(members).isr
        who = {"replica": replica, "epoch": election.epoch}
        if case.all(on.UncleanElection, **who) or (by_isr and outside):
            return elected(case, led, offset, of.UNCLEAN)
        facts = elected(case, led, offset)
    if of.NEVER_COPIED not in names or of.BELIEVED in names:
        return facts
    for position in case.all(on.IsrChanged, after=since, before=before, joined=replica):
        if case.log_end(replica, position) <= offset:
            return [*_joined(case, position, of.LET_IN), *facts]
    return [*(_too_few(case, offset, since) if facts else []), *facts]


def _too_few(case: Case, offset: int, committed: int) -> Facts:
    """Explains why a majority elected a leader that lacks a committed record."""
    if case.rules.replication.commit == "isr":
        return []
    for at in case.all(on.ReplicaCrashed):
        if case.fate(case.event(at).replica, offset, None, at + 1).became is Became.CRASHED:
            return [case.fact(at, of.TAIL_LOST)]
    if not case.committed_by_counting(offset):
        return []
    facts = _forked(case, offset) or [case.fact(committed, kind="epoch")]
    return first_is(facts, of.OLD_EPOCH_COMMITTED)


def elected(case: Case, position: int, offset: int | None = None, *mechanisms: str) -> Facts:
    """Explains an election: log end of the elected, committed end, and how it was decided."""
    event, previous = case.event(position), case.last(on.LeaderElected, before=position)
    since = {"after": -1 if previous is None else previous, "before": position}
    unclean = case.all(on.UncleanElection, replica=event.replica, **since)
    marks = case.all(on.HighWatermarkMoved, leading=True, before=position)
    committed = max((case.event(one).high_watermark for one in marks), default=0)
    fact = case.fact(position, *mechanisms)
    how = f", unclean: {case.event(unclean[-1]).because}" if unclean else ""
    if offset is not None and committed > event.epoch_start_offset:
        how += f", while all below {committed} was committed"
    came = case.all(on.IsrChanged, joined=event.replica, **since)
    before = [each for one in came for each in as_context(_joined(case, one))]
    return [*before, fact._replace(text=fact.text + how)]


def _joined(case: Case, position: int, *mechanisms: str) -> Facts:
    """Explains why a replica was admitted to the in-sync set."""
    event = case.event(position)
    end = case.log_end(event.joined, position)
    at = case.position_of(event.replica, event.joined, position) or 0
    belief = case.believed(event.joined, end, position) if at > end else None
    facts = [] if belief is None else as_context(_recorded(case, belief))
    return [*facts, case.fact(position, *mechanisms)]


def _recorded(case: Case, position: int) -> Facts:
    """Explains why a leader recorded a position above the follower's log end."""
    recorded = case.event(position)
    leader, follower = recorded.replica, recorded.follower
    end = case.log_end(follower, position)
    hole = ends_in_a_hole(case, leader, end, position)
    why = () if hole else (of.NEVER_COPIED, of.BELIEVED)
    fact = case.fact(position, *why, rule="follower_position")
    return [*(end_fell(case, leader, end, position) if hole else []), fact]


def led_twice(case: Case) -> Facts:
    """Explains why an epoch has two leaders, with restarts in between; empty if none has two."""
    first = dict[int, int]()
    for position in case.all(on.LeaderElected):
        event = case.event(position)
        at = first.setdefault(event.epoch, position)
        if case.event(at).replica != event.replica:
            back = case.all(on.ReplicaRestarted, after=at, before=position)
            second = case.fact(position)
            text = f"{second.text}, by voters among {listed(event.voters) or 'none'} "
            return [
                case.fact(at, of.TWO_LEADERS),
                *(case.fact(one, of.VOTE_FORGOTTEN) for one in back),
                second._replace(text=text + case.by_rules("vote_storage"), kind="epoch"),
            ]
    return []


def _cut(case: Case, step: LogStep, offset: int, uid: int | None) -> Facts:
    """Explains a truncation: its leader lacked the record, or the follower was mistaken."""
    event, at, leader = step.event, step.position, case.leader_at(step.position)
    facts: Facts = []
    mechanism = () if event.leading else (_why_mistaken(case, step),)
    followed = leader if leader is not None and leader[0] != event.replica else None
    if followed:
        facts = without(case, followed[0], offset, uid, at)
        if case.origin(followed[0], offset, uid, at).became is Became.CLEANED:
            mechanism = (of.CUT_BY_CLEANED_EPOCH,)
        elif mechanisms_of(facts) and uid in (None, case.committed_at(offset)):
            mechanism = ()
    if mechanism:
        facts = as_context(facts)
    name, target, mark = event.replica, event.target, event.high_watermark
    if not facts:
        back = case.last(on.ReplicaRestarted, replica=name, before=at)
        facts = [] if back is None else [case.fact(back, kind="position")]
    text = f"{case.knowing(name, at)} truncated from {event.log_end_offset} to {target}"
    if followed:
        text += f" following {followed[0]}, leader of epoch {followed[1]} (which knew the epochs "
        text += f"{case.epochs_of(followed[0], at)})"
    text += f" {case.when(at)}, high watermark {mark} {case.by_rules('truncation')}"
    if event.lowest is not None and event.lowest < target:
        text += f"; the batch across the target went from {event.lowest} on"
    text += ", while it was leading itself" if event.leading else ""
    return [*facts, Fact("position" if target == mark else "epoch", text, at, mechanism)]


def _why_mistaken(case: Case, step: LogStep) -> str:
    """The mechanism by which a follower truncated what its leader has."""
    if step.event.target == step.event.high_watermark:
        return of.CUT_TO_HW
    backs = case.all(on.ReplicaRestarted, before=step.position)
    read = (case.all(on.EpochCacheChanged, after=back, before=back + 2) for back in backs)
    return of.CUT_BY_EPOCH_FILE if any(read) else of.CUT_BY_EPOCH
