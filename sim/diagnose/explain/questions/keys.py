"""What decided where the state of a key, or a transaction, is not the committed one."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter

from sim.check.families import TRANSACTIONS
from sim.check.folding import own_state
from sim.diagnose.explain import deleted, lost
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import (
    Case,
    Fact,
    Facts,
    as_context,
    first_also,
    first_is,
    listed,
    mechanisms_of,
    span,
)
from sim.diagnose.explain.past import Became
from sim.diagnose.explain.removed import holders, removal_at, why_needed
from sim.protocol.events import Cleaned, CleaningFailed, Consumed, RemovalBoundMoved


def state_differs(case: Case, replica: str, key: str) -> Facts:
    """A log folds to something else for a key: what it lacks of the winner, what it kept."""
    if case.rules.snapshots.state_machine == "deltas":
        return first_is(deleted.last_removal(case, key), of.INCREMENTS)
    held, winner, before = _held_and_wanted(case, replica, key)
    facts: Facts = []
    if held and winner and held != winner and case.history.beats(winner, held):
        facts = _outlives(case, replica, held, winner, before)
    elif winner and winner != held:
        facts = _lacks_winner(case, replica, winner, before)
    facts = facts or (_not_committed(case, replica, held) if held else [])
    return facts or deleted.last_removal(case, key)


def _held_and_wanted(case: Case, replica: str, key: str) -> tuple[int, int, int]:
    """What a log gives a key, what committed history does (0 = nothing), and until when it did.

    Where the violation says at which offset the key was deleted, the tombstone there: it may have
    been there for a while only, and another record wins by now.
    """
    violation, history = case.violation, case.history
    view = history.replicas.get(replica)
    held = own_state(history, view).get(key, 0) if view is not None else 0
    before = case.end
    if violation.offset is not None:
        held = case.uid_of(key, violation.offset) or held
    winner, deleted_at = history.winners.get(key, 0), violation.value("deleted_at")
    if deleted_at is not None:
        winner = case.committed_at(deleted_at) or winner
    if violation.began is not None:  # it is over now: what there was before that
        before = bisect_left(case.events, violation.at, key=itemgetter(0))
    return held, winner, before


def _outlives(case: Case, replica: str, held: int, winner: int, before: int) -> Facts:
    """A record counts that another one beats: it is not there, or does not count, or was kept."""
    known = case.history.written[winner]
    facts: Facts = []
    if case.violation.family == TRANSACTIONS:
        facts = deleted.undecided(case, replica, held) or deleted.undecided(case, replica, winner)
    if not facts and case.uid_at(replica, known.offset, before) != winner:
        facts = _passed_over(case, replica, held, winner)
        if not facts and known.tombstone:
            return deleted.undeleted(case, replica, held, winner, before)
    return facts or _lacks_winner(case, replica, winner, before)


def _lacks_winner(case: Case, replica: str, winner: int, before: int) -> Facts:
    """The winner is not in the log, or does not count there."""
    offset = case.history.written[winner].offset
    if case.uid_at(replica, offset, before) != winner:
        return lost.lacks(case, replica, offset, winner, before)
    if offset < case.high_watermark(replica):
        return deleted.undecided(case, replica, winner)
    leader, epoch = case.leader_at() or ("", 0)
    mark = case.high_watermark(replica)
    text = f"{replica} holds {case.name(winner)} above its high watermark {mark}, so that it does "
    text += "not count there"
    if leader not in ("", replica):
        text += f"; {leader}, leader of epoch {epoch}, is at {case.high_watermark(leader)}"
    return [Fact("position", text, None)]


def _not_committed(case: Case, replica: str, held: int) -> Facts:
    """Why a record that is not the committed one is still there."""
    offset = case.history.written[held].offset
    committed = case.committed_at(offset)
    if committed in (0, held):
        return deleted.undecided(case, replica, held)
    found = lost.two_records_at(case, offset)
    mechanisms = () if mechanisms_of(found) else (of.TAIL_KEPT,)
    text = f"{replica} holds {case.name(held)} where {case.name(committed)} is committed"
    return [*found, Fact("epoch", text, case.slot(replica, offset), mechanisms)]


def _passed_over(case: Case, replica: str, held: int, winner: int) -> Facts:
    """A pass of the replica saw a record and one that beats it, and kept the one that lost.

    That it took the winner for the loser is another matter: what it compared then says why.
    """
    written = case.history.written
    low, high = written[held].offset, written[winner].offset
    for step in case.steps.get(replica, ()):
        event, at = step.event, step.position
        if not isinstance(event, Cleaned) or event.upper_bound <= max(low, high):
            continue
        saw = case.uid_at(replica, low, at) == held and case.uid_at(replica, high, at) == winner
        removal = removal_at(event, high)
        beaten = removal is not None and removal.reason == "superseded"
        if saw and case.uid_at(replica, low, at + 1) == held and not beaten:
            gone = (
                deleted.undeleted(case, replica, held, winner) if written[winner].tombstone else []
            )
            end = of.KEPT_AS_END if event.protected_offset == low else of.NOT_MAPPED
            why = mechanisms_of(gone) or (end,)
            return [deleted.kept_loser(case, step, held, winner, *why), *as_context(gone)]
    return []


def kept_both(case: Case) -> Facts:
    """A clean section holds two records of a key: which pass kept the one that loses."""
    replica, written = case.replica, case.history.written
    held = case.held(replica, case.key)
    best = max(held, key=lambda uid: written[uid].version)
    losers = case.names([uid for uid in held if uid != best]) or "nothing"
    text = f"{replica} holds {losers} beside {case.name(best)}, which beats it"
    steps = case.steps_before(replica, case.end)
    passes = [step for step in steps if isinstance(step.event, Cleaned)]
    kept = [written[uid].offset for uid in held]
    mechanism = of.NOT_MAPPED
    if any(step.event.protected_offset in kept for step in passes):
        mechanism = of.KEPT_AS_END
    elif deleted.some_aborted(case, case.uids_of(case.key)):
        mechanism = of.AS_ABORTED
    elif passes[0].event.first_dirty_offset <= min(kept):
        mechanism = of.UNFINISHED
    at, beaten = passes[0].position, [each for each in kept if each != written[best].offset]
    ends = [offset for offset in beaten if offset == passes[0].event.protected_offset]
    because = deleted.why_kept(case, passes[0], (ends or beaten)[0], written[best].offset)
    text += f"; its pass over {span(passes[0].event)} {case.when(at)} kept both{because}"
    return [Fact(case.order_kind(), text, at, (mechanism,))]


def reader_keeps(case: Case) -> Facts:
    """A consumer that takes the last record it is given ends on another than committed history."""
    by = case.order_kind()
    winner = case.history.winners.get(case.key, 0)
    kept = case.uid_of(case.key, case.violation.offset)
    last = case.last(Consumed)
    replica = "" if last is None else case.event(last).replica
    facts: Facts = []
    if winner and case.uid_at(replica, case.history.written[winner].offset) != winner:
        facts = deleted.undeleted(case, replica, kept, winner)
    mechanisms = () if mechanisms_of(facts) else (of.LAST_OFFSET_WINS,)
    text = f"the consumer was given {case.name(kept)} last and goes by offsets; "
    text += f"{case.name(winner)} wins by {by}"
    return [*facts, Fact(by, text, case.appended_at.get(kept), mechanisms)]


def ends_on(case: Case) -> Facts:
    """A key ends on a record that its producers did not mean to win: what the cleaner compared."""
    uids = case.uids_of(case.key)
    kept = case.written(case.uid_of(case.key, case.violation.offset))
    late = kept is not None and any(
        known.offset < kept.offset and known.record.timestamp_ms > kept.record.timestamp_ms
        for known in map(case.history.written.__getitem__, uids)
    )
    how = of.ARRIVED_LAST if late else of.BY_LOWER
    records = Fact("version", f"its records: {case.names(uids) or 'nothing'}", None, (how,))
    return [*as_context(deleted.last_removal(case, case.key)), records]


def removed_delete(case: Case, replica: str, offset: int) -> Facts:
    """A tombstone or a marker went while somebody needed it."""
    for step in case.steps_before(replica, case.end):
        removal, at = removal_at(step.event, offset), step.position
        if removal is None:
            continue
        facts = lost.cleaned(case, step, offset)
        for holder in list(holders(case, at, removal))[:1]:
            facts = first_also(facts, why_needed(case, holder, offset, removal.uid, at))
            if case.fate(holder, offset, removal.uid, at).became is Became.CUT:
                facts += lost.lacks(case, holder, offset, removal.uid, at)
        return facts
    return lost.lacks(case, replica, offset)


def still_there(case: Case, replica: str, offset: int) -> Facts:
    """A tombstone stays: what the passes over it went by."""
    uid = case.uid_at(replica, offset)
    facts = []
    for at in case.all(CleaningFailed, replica=replica):
        offset_of = case.event(at).offset
        record = case.name(case.uid_at(replica, offset_of, at))
        text = f"a pass of {replica} could not go on at {offset_of} {case.when(at)}, {record}"
        facts.append(Fact("version", text, at, (of.STOPPED_AT_RECORD,)))
    position = case.last(Cleaned, replica=replica)
    if position is None:
        mechanisms = () if facts else (of.NEVER_CLEANED,)
        text = f"{replica} holds {case.name(uid)} and never cleaned it: it has run no pass"
        return [*facts, Fact("position", text, None, mechanisms)]
    known = case.written(uid)
    given = case.horizons(replica, known.batch.base_offset if known else offset)
    before = [horizon.at_ms for horizon in given if horizon.position < position]
    event = case.event(position)
    text = f"{replica} kept the tombstone {case.name(uid)} in its pass up to {event.upper_bound} "
    text += f"{case.when(position)}, {case.clock(replica, event.now_ms)}"
    if event.upper_bound <= offset:
        text += f", which did not reach {offset}"
    elif before:
        text += f", its delete horizon being {before[-1]:,} ms (given {len(given)} times)"
    else:
        rule = case.rules.cleaner.tombstone_removal
        text += f" (tombstone_removal: {rule}; it has no delete horizon)"
    why = () if facts else _why_it_stays(case, replica, [one.at_ms for one in given])
    return [*_held_back(case, replica), *facts, Fact("horizon", text, position, why)]


def _why_it_stays(case: Case, replica: str, horizons: list[int]) -> tuple[str, ...]:
    rule = case.rules.cleaner.tombstone_removal
    if len(horizons) > 1:
        return (of.STAMPED_AGAIN,)
    if rule == "last_modified":
        return (of.BY_SEGMENT_AGE,)
    if rule in ("coordinated", "leo_gated"):
        down = any(not view.up for view in case.history.replicas.values())
        return (of.WAITS_FOR_ABSENT,) if down else ()
    passes = [case.event(one).now_ms for one in case.all(Cleaned, replica=replica)]
    came = bool(horizons) and any(now_ms >= horizons[0] for now_ms in passes)
    return () if came else (of.NEVER_CLEANED,)


def _held_back(case: Case, replica: str) -> Facts:
    """By which log ends a bound of coordinated removal stands still."""
    if case.rules.cleaner.tombstone_removal != "coordinated":
        return []
    bound = case.last(RemovalBoundMoved, replica=replica)
    below = 0 if bound is None else case.event(bound).offset
    ends = [f"{name} at {case.log_end(name)}" for name in case.steps]
    text = f"coordinated removal allows only what is below {below}: {listed(ends) or 'none'}"
    return [Fact("position", text, bound)]


def horizon_changed(case: Case) -> Facts:
    """Two passes, or a pass and a copy, gave a batch different horizons."""
    facts = []
    for at_ms, at in case.horizons(case.replica, case.offset):
        event = case.event(at)
        if isinstance(event, Cleaned):
            text = f"{event.replica} gave the batch at {case.offset} the delete horizon {at_ms:,} "
            text += f"ms {case.when(at)}, {case.clock(event.replica, event.now_ms)} "
            facts.append(Fact("horizon", text + case.by_rules("horizon_stamp"), at))
    return facts


def transaction(case: Case, replica: str, offset: int) -> Facts:
    """Data of a transaction counts otherwise in a log than in committed history."""
    uid = case.uid_at(replica, offset) or case.committed_at(offset)
    return deleted.undecided(case, replica, uid)
