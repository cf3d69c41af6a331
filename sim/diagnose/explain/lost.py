"""Why a replica lacks a record, has another one, or leads: the facts that decided, the first first.

Every question walks back over events until something decided: a cleaner compared versions or a
clock with a horizon, a leader believed a position, a crash took what was not flushed, an election
or an epoch made a log cut. What comes of that follows, so that a list of facts reads as a story.
"""

from __future__ import annotations

from typing import Final

from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain import told
from sim.diagnose.explain.case import Case, Fact, Facts, as_context, first_is, mechanisms_of
from sim.diagnose.explain.past import END, Became, Step
from sim.diagnose.explain.removed import removal_at, removed
from sim.protocol.events import (
    Copied,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    Pushed,
    ReplicaCrashed,
    UncleanElection,
)

NESTED_MAX: Final = 16
"""So many losses are asked in turn, each why the one before happened."""

_LOST_BY: Final = {
    Became.CRASHED: of.TAIL_LOST,
    Became.END_LOWERED: of.END_FROM_LAST,
    Became.SEGMENTS_LOST: of.SWAP_LOST,
    Became.WIPED: of.DISK_LOST,
    Became.REPLACED: of.REPLACED,
    Became.EXPIRED: of.EXPIRED,
}
_DEEPER: Final = {of.TAIL_LOST, of.OLD_EPOCH_COMMITTED}
"""What decides more than that a replica lagged."""
_HOLES: Final = (Became.CLEANED, Became.NOT_AT_SOURCE, Became.SEGMENTS_LOST)


# A log lacks a record.


def lacks(
    case: Case, replica: str, offset: int, uid: int | None = None, before: int = END
) -> Facts:
    """Why a log lacked, before a position, what belongs at an offset; [] = it had it.

    `uid` is the record that belongs there; None = what was committed there, else any.
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


def _taken(case: Case, became: Became, step: Step, offset: int, uid: int | None) -> Facts:
    """What an event did to an offset of a log that reached it."""
    at = step.position
    match became:
        case Became.NOT_AT_SOURCE:
            text = f"{step.event.replica} copied from {step.before} on from {step.event.leader} "
            text += f"{case.when(at)} and was given nothing at {offset}"
            nothing = Fact("position", text, at, (of.NEVER_COPIED,))
            return lacks(case, step.event.leader, offset, uid, at) or [nothing]
        case Became.OTHER:
            return _other(case, step, offset, uid)
        case Became.CUT:
            return cut(case, step, offset, uid)
        case Became.CLEANED:
            return cleaned(case, step, offset)
        case Became.END_LOWERED:
            removal = removal_at(step.event, offset)
            gone = [removed(case, at, removal)] if removal else []
            before = gone or lacks(case, step.event.replica, offset, uid, at)
            return [*as_context(before), *told.lost_by(case, at, of.END_FROM_LAST)]
        case Became.EXPIRED if told.stands_in_snapshot(case, step, offset):
            return told.lost_by(case, at, of.SNAPSHOT_LACKS)
    return told.lost_by(case, at, _LOST_BY[became])


def cleaned(case: Case, step: Step, offset: int) -> Facts:
    """A pass took a record: why, and where what evicted it went, if that is gone as well."""
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
    """Its log ends at or below the offset: did it lag, or was there nothing to copy?"""
    end = case.log_end(replica, before)
    never = [told.never_had(case, replica, offset, before)]
    if any(isinstance(step.event, Pushed) for step in case.steps_before(replica, before)):
        return first_is(never, of.NUMBERED_ITSELF)
    belief = case.believed(replica, offset, before)
    if belief is not None:
        return recorded(case, belief)
    leaders = [case.event(one).replica for one in case.all(LeaderElected, before=before)]
    source = next((name for name in reversed(leaders) if name != replica), replica)
    if source != replica and ends_in_a_hole(case, source, end, before):
        return [*end_fell(case, source, end, before), *never]
    return first_is(never, of.NEVER_COPIED)


def ends_in_a_hole(case: Case, source: str, start: int, before: int) -> bool:
    """Whether a log goes on beyond `start`, and holds nothing from there to its end."""
    end = case.log_end(source, before)
    return start < end and all(
        case.fate(source, offset, None, before).became in _HOLES
        for offset in range(end - 1, start - 1, -1)
    )


def end_fell(case: Case, source: str, start: int, before: int) -> Facts:
    """What took the first of the offsets from `start` on, none of which a log holds any more.

    What took the last thing at its end says how it fell. Never empty.
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
        crashed = isinstance(later.event, ReplicaCrashed)
        how = of.END_FELL_CRASH if crashed else of.END_FELL_CUT
    first = case.origin(source, start, None, before)
    if first.became is Became.CLEANED and first.step is not None:
        step, last = first.step, start
    return first_is(cleaned(case, step, last), how)


# Another record is there.


def _other(case: Case, step: Step, offset: int, uid: int | None) -> Facts:
    """Why did whoever wrote it not have the one that belongs there?"""
    replica, at = step.event.replica, step.position
    other = case.uid_at(replica, offset, at + 1)
    if uid is None or isinstance(step.event, Pushed):
        return told.lost_by(case, at, of.NUMBERED_ITSELF)
    if case.epoch_of(uid) == case.epoch_of(other):
        return _given_again(case, offset, *sorted((uid, other), key=case.appended_at.__getitem__))
    commit = case.first_commit(offset)
    if commit is not None and commit <= case.appended_at[other]:
        return _given_again(case, offset, uid, other)
    text = f"{replica} has {case.name(other)} since {case.time(at)}, where {case.name(uid)} was "
    return tail_kept(case, offset, [Fact("epoch", f"{text}given the offset later", at)], replica)


def _given_again(case: Case, offset: int, first: int, second: int) -> Facts:
    """Why a leader gave an offset to `second` that `first` has."""
    position, epoch = case.appended_at[second], case.epoch_of(second)
    leader = case.event(position).replica
    text = f"{leader}, log end offset {case.log_end(leader, position)}, gave offset {offset} to "
    text += f"{case.name(second)} in epoch {epoch} {case.when(position)}"
    gave, same_epoch = Fact("position", text, position), epoch == case.epoch_of(first)
    if same_epoch and case.event(case.appended_at[first]).replica != leader:
        led = told.led_twice(case)
        return [*led, gave] if led else first_is([gave], of.TWO_LEADERS)
    facts = without(case, leader, offset, first, position)
    went_on = told.led_on(case, leader, position) if same_epoch else []
    if of.TAIL_LOST not in mechanisms_of(facts):
        went_on = as_context(went_on)
    return [*facts, *went_on, gave]


def without(
    case: Case,
    replica: str,
    offset: int,
    uid: int | None,
    before: int = END,
    *,
    lag_is_news: bool = False,
) -> Facts:
    """Why a replica lacked a record, and why it led, or counted, all the same; [] = it had it.

    That it lagged is no news where the question is why it gave the offset again.
    """
    facts = lacks(case, replica, offset, uid, before)
    names = mechanisms_of(facts)
    counted = _counted(case, replica, offset, before, names) if facts else []
    also = mechanisms_of(counted)
    lagged = len(facts) == 1 and names == (of.NEVER_COPIED,) and also
    if lagged and not (lag_is_news and _DEEPER.isdisjoint(also)):
        return first_is(counted, *names, *counted[0].mechanisms)
    return [*facts, *counted]


def given_twice(case: Case, offset: int) -> Facts:
    """Why an offset was given again once committed, or twice in one epoch; [] = neither."""
    uids, commit = case.uids_at.get(offset, []), case.first_commit(offset)
    if len(uids) < 2:
        return []
    committed = case.committed_at(offset)
    first = committed if committed in uids else uids[0]
    later = uids[uids.index(first) + 1 :]
    again = bool(later) and commit is not None and commit < case.appended_at[later[0]]
    if not again and case.epoch_of(uids[0]) == case.epoch_of(uids[1]):
        again, first, later = True, uids[0], uids[1:]
    if not again:
        return []
    return [*_given_again(case, offset, first, later[0]), told.given_before(case, offset, first)]


def two_records_at(case: Case, offset: int) -> Facts:
    """Two records were given one offset: why the second was, and why both are there.

    That a new leader gives an offset again that is not committed is what epochs are there for; then
    what decided is who committed one of them, or did not cut its own.
    """
    uids = case.uids_at.get(offset, [])
    if len(uids) < 2:
        return lacks(case, case.replica, offset) if case.replica else []
    given = [told.given_before(case, offset, uid) for uid in uids[-2:]]
    return given_twice(case, offset) or tail_kept(case, offset, given)


def tail_kept(case: Case, offset: int, otherwise: Facts, whose: str | None = None) -> Facts:
    """Why two records stay at an offset that was free when each was given it.

    `whose` names a log that has, or had, the one that does not belong there.
    """
    uncut, old = told.not_cut(case, offset, whose), told.forked(case, offset)
    if old and told.by_counting(case, offset):
        return [*first_is(old, of.OLD_EPOCH_COMMITTED), *uncut]
    unknown = _leader_cannot_tell(case, offset, uncut)
    facts = [*uncut, *old] or otherwise
    return first_is(facts, of.TAIL_UNKNOWN if unknown else of.TAIL_KEPT, *facts[0].mechanisms)


def _leader_cannot_tell(case: Case, offset: int, uncut: Facts) -> bool:
    """Whether what belongs at an offset went from the leader's log, and its epoch with it."""
    uid = case.committed_at(offset)
    leader, before = case.leader_at(), case.end
    if uncut and uncut[0].position is not None:
        before = uncut[0].position
        copied = case.event(before)
        leader = (copied.leader, 0) if isinstance(copied, Copied) else leader
    if leader is None or not uid:
        return False
    became = case.origin(leader[0], offset, uid, before).became
    return became in (Became.CLEANED, Became.REPLACED, Became.EXPIRED)


# Who leads, and what leaders believe.


def _counted(case: Case, replica: str, offset: int, before: int, names: tuple[str, ...]) -> Facts:
    """Why a replica that lacks a committed offset could lead, or count, all the same."""
    since = case.first_commit(offset)
    if since is None:
        return []
    led = case.last(LeaderElected, replica=replica, before=before)
    facts: Facts = []
    if led is not None and told.chosen_uncleanly(case, led) and led > since:
        return elected(case, led, offset, of.UNCLEAN)
    if led is not None and led > since:
        facts = elected(case, led, offset)
    if of.NEVER_COPIED not in names or of.BELIEVED in names:
        return facts
    for position in case.all(IsrChanged, after=since, before=before, joined=replica):
        if case.log_end(replica, position) <= offset:
            return [*joined(case, position, of.LET_IN), *facts]
    return [*(_too_few(case, offset, since) if facts else []), *facts]


def _too_few(case: Case, offset: int, committed: int) -> Facts:
    """Why a majority did not stand in the way of a leader that lacks what is committed."""
    if case.rules.replication.commit == "isr":
        return []
    for step in (step for steps in case.steps.values() for step in steps):
        if isinstance(step.event, ReplicaCrashed) and step.after <= offset < step.before:
            return told.lost_by(case, step.position, of.TAIL_LOST)
    if not told.by_counting(case, offset):
        return []
    counted = Fact("epoch", told.counted_by(case, committed, offset), committed)
    return first_is(told.forked(case, offset) or [counted], of.OLD_EPOCH_COMMITTED)


def elected(case: Case, position: int, offset: int | None = None, *mechanisms: str) -> Facts:
    """Why a replica leads: its log end against what was committed, and how it was chosen."""
    event = case.event(position)
    previous = case.last(LeaderElected, before=position)
    since = -1 if previous is None else previous
    came = case.all(IsrChanged, joined=event.replica, after=since, before=position)
    unclean = case.all(UncleanElection, replica=event.replica, after=since, before=position)
    marks = case.all(HighWatermarkMoved, leading=True, before=position)
    committed = max((case.event(one).high_watermark for one in marks), default=0)
    end = event.epoch_start_offset
    text = f"{event.replica} became leader of epoch {event.epoch} {case.when(position)} with log "
    text += f"end offset {end}"
    text += f", whatever it has: {case.event(unclean[-1]).because}" if unclean else ""
    if offset is not None and committed > end:
        text += f", while all below {committed} was committed"
    before = [fact for one in came for fact in as_context(joined(case, one))]
    return [*before, Fact("election", text, position, mechanisms)]


def joined(case: Case, position: int, *mechanisms: str) -> Facts:
    """Why a replica was admitted to the in-sync set."""
    event = case.event(position)
    at = told.position_of(case, event.replica, event.joined, position) or 0
    end = case.log_end(event.joined, position)
    belief = case.believed(event.joined, end, position) if at > end else None
    facts = [] if belief is None else as_context(recorded(case, belief))
    mark = case.high_watermark(event.replica, position)
    text = f"{event.joined} joined the in-sync set {case.when(position)} by its position {at}, "
    text += f"high watermark {mark}, log end offset {end}"
    return [*facts, Fact("position", text, position, mechanisms)]


def recorded(case: Case, position: int) -> Facts:
    """Why a leader recorded a position above the follower's log end."""
    leader, follower, believed = case.event(position)
    end = case.log_end(follower, position)
    hole = ends_in_a_hole(case, leader, end, position)
    facts = end_fell(case, leader, end, position) if hole else []
    text = f"{leader} recorded position {believed} for {follower} {case.when(position)}, whose log "
    text += f"end offset was {end}"
    if case.rules.replication.follower_position == "read_end":
        text += ": a fetch that reads to the end counts as having all"
    return [
        *facts,
        Fact("position", text, position, () if hole else (of.NEVER_COPIED, of.BELIEVED)),
    ]


# What was cut.


def cut(case: Case, step: Step, offset: int, uid: int | None) -> Facts:
    """A truncation: did its leader lack what was cut, or was it mistaken?"""
    event, at, leader = step.event, step.position, case.leader_at(step.position)
    facts: Facts = []
    mechanism = () if event.leading else (told.why_mistaken(case, step),)
    if leader is not None and leader[0] != event.replica:
        facts = without(case, leader[0], offset, uid, at)
        if case.origin(leader[0], offset, uid, at).became is Became.CLEANED:
            mechanism = (of.CUT_BY_CLEANED_EPOCH,)
        elif mechanisms_of(facts) and uid in (None, case.committed_at(offset)):
            mechanism = ()
    if mechanism:
        facts = as_context(facts)
    return [
        *(facts or told.came_back(case, event.replica, at)),
        told.told_cut(case, step, leader, *mechanism),
    ]
