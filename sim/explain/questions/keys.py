"""What decided where the state of a key, or a transaction, is not the committed one."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter

from sim import trace
from sim.check.families import TRANSACTIONS
from sim.check.folding import own_state
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts, as_context, listed, mechanisms_of
from sim.explain.deleted import (
    crashed_after,
    kept_loser,
    last_removal,
    undecided,
    undeleted,
    with_mechanism,
)
from sim.explain.lost import Why
from sim.explain.past import Became
from sim.explain.questions.logs import two_records_at
from sim.explain.removed import holders, removal_at, why_needed
from sim.log.record import Control


def state_differs(case: Case, why: Why) -> Facts:
    """A log folds to something else for a key: what it lacks of the winner, what it kept."""
    violation = case.violation
    replica, key = violation.replica, violation.key
    if replica is None or key is None:
        return []
    if case.rules.snapshots.state_machine == "deltas":
        found = last_removal(case, key)
        return [found[0]._replace(mechanisms=(of.INCREMENTS,)), *found[1:]] if found else []
    held, winner, before = _held_and_wanted(case, replica, key)
    facts: Facts = []
    if held and winner and held != winner and case.beats(winner, held):
        facts = _outlives(case, why, replica, held, winner, before)
    elif winner and winner != held:
        facts = _lacks_winner(case, why, replica, winner, before)
    facts = facts or (_not_committed(case, why, replica, held) if held else [])
    return facts or last_removal(case, key)


def _held_and_wanted(case: Case, replica: str, key: str) -> tuple[int, int, int]:
    """What a log gives a key, what committed history does (0 = nothing), and until when it did.

    Where the violation says at which offset the key was deleted, the tombstone there: it may have
    been there for a while only, and another record wins by now.
    """
    violation, history = case.violation, case.history
    view = history.replicas.get(replica)
    held = own_state(history, view).get(key, 0) if view is not None else 0
    before = case.past.end
    if violation.offset is not None:
        held = case.uid_of(key, violation.offset) or held
    winner, deleted_at = history.winners.get(key, 0), violation.value("deleted_at")
    if deleted_at is not None:
        winner = case.past.committed_at(deleted_at) or winner
    if violation.began is not None:  # it is over now: what there was before that
        before = bisect_left(case.past.events, violation.at, key=itemgetter(0))
    return held, winner, before


def _outlives(case: Case, why: Why, replica: str, held: int, winner: int, before: int) -> Facts:
    """A record counts that another one beats: it is not there, or does not count, or was kept."""
    written = case.history.written
    if case.violation.family == TRANSACTIONS:
        found = undecided(case, why, replica, held) or undecided(case, why, replica, winner)
        if found:
            return found
    offset = written[winner].offset
    if case.past.uid_at(replica, offset, before) == winner:
        return _hidden(case, why, replica, winner)
    kept = _passed_over(case, why, replica, held, winner)
    if kept:
        return kept
    if written[winner].tombstone:
        return undeleted(case, why, replica, held, winner, before=before)
    return _lacks_winner(case, why, replica, winner, before)


def _lacks_winner(case: Case, why: Why, replica: str, winner: int, before: int) -> Facts:
    offset = case.history.written[winner].offset
    if case.past.uid_at(replica, offset, before) == winner:
        return _hidden(case, why, replica, winner)
    return why.lacks(replica, offset, winner, before=before)


def _hidden(case: Case, why: Why, replica: str, winner: int) -> Facts:
    """The winner is in the log, and does not count there."""
    known, mark = case.history.written[winner], case.past.high_watermark(replica)
    if known.offset < mark:
        return undecided(case, why, replica, winner)
    text = (
        f"{replica} holds {case.name(winner)} above its high watermark {mark}, so that it does "
        "not count there"
    )
    leader = case.past.leader_at()
    if leader is not None and leader[0] != replica:
        text += (
            f"; {leader[0]}, leader of epoch {leader[1]}, is at "
            f"{case.past.high_watermark(leader[0])}"
        )
    return [Fact("position", text, None)]


def _not_committed(case: Case, why: Why, replica: str, held: int) -> Facts:
    """Why a record that is not the committed one is still there."""
    known = case.history.written[held]
    committed = case.past.committed_at(known.offset)
    if committed and committed != held:
        text = f"{replica} holds {case.name(held)} where {case.name(committed)} is committed"
        own = Fact("epoch", text, case.past.slot(replica, known.offset), (of.TAIL_KEPT,))
        found = two_records_at(case, why, known.offset)
        return [*found, own._replace(mechanisms=()) if mechanisms_of(found) else own]
    return undecided(case, why, replica, held)


def _passed_over(case: Case, why: Why, replica: str, held: int, winner: int) -> Facts:
    """A pass of the replica saw a record and one that beats it, and kept the one that lost.

    That it took the winner for the loser is another matter: what it compared then says why.
    """
    past, written = case.past, case.history.written
    low, high = written[held].offset, written[winner].offset
    for step in past.steps.get(replica, ()):
        event, at = step.event, step.position
        if not isinstance(event, trace.Cleaned) or event.upper_bound <= max(low, high):
            continue
        saw = past.uid_at(replica, low, at) == held and past.uid_at(replica, high, at) == winner
        removal = removal_at(event, high)
        beaten = removal is not None and removal.reason == "superseded"
        if saw and past.uid_at(replica, low, at + 1) == held and not beaten:
            gone = undeleted(case, why, replica, held, winner) if written[winner].tombstone else []
            mechanisms = mechanisms_of(gone) or (
                of.KEPT_AS_END if event.protected_offset == low else of.NOT_MAPPED,
            )
            return [kept_loser(case, step, held, winner, mechanisms), *as_context(gone)]
    return []


def kept_both(case: Case, _: Why) -> Facts:
    """A clean section holds two records of a key: which pass kept the one that loses."""
    replica, key = case.violation.replica or "", case.violation.key
    held = case.held(replica, key)
    if len(held) < 2:
        return []
    written = case.history.written
    best = max(held, key=lambda uid: written[uid].version)
    losers = [uid for uid in held if uid != best]
    text = f"{replica} holds {case.names(losers)} beside {case.name(best)}, which beats it"
    steps = case.past.steps_before(replica, case.past.end)
    step = next((each for each in steps if isinstance(each.event, trace.Cleaned)), None)
    if step is None:
        return [Fact(case.order_kind(), text, None, (of.NOT_MAPPED,))]
    event, offsets = step.event, [written[uid].offset for uid in losers]
    text += (
        f"; its pass over [{event.first_dirty_offset}, {event.upper_bound}) "
        f"{case.when(step.position)} kept both"
    )
    first, mechanism = event.first_dirty_offset, of.NOT_MAPPED
    kept = [written[uid].offset for uid in held]
    if any(
        isinstance(one.event, trace.Cleaned) and one.event.protected_offset in kept for one in steps
    ):
        mechanism = of.KEPT_AS_END
    if event.protected_offset in offsets:
        text += f": the fix {case.rules.cleaner.fix} protects {event.protected_offset}"
    elif case.rules.cleaner.map_reads_from != "segment_start":
        text += f" (map_reads_from: {case.rules.cleaner.map_reads_from})"
    elif case.rules.cleaner.map_range == "dirty" and written[best].offset < first:
        text += f": its map begins at {first} (map_range: dirty) and knows only what is above"
    if mechanism == of.NOT_MAPPED and _some_aborted(case, held):
        mechanism = of.AS_ABORTED
    elif mechanism == of.NOT_MAPPED and first <= min(written[uid].offset for uid in held):
        mechanism = of.UNFINISHED
    return [Fact(case.order_kind(), text + crashed_after(case, step), step.position, (mechanism,))]


def _some_aborted(case: Case, uids: list[int]) -> bool:
    """Whether some are of a transaction, and some transaction was aborted."""
    written = case.history.written
    aborts = any(written[u].batch.control is Control.ABORT for u in case.past.controls)
    of_key = case.uids_of(case.violation.key) or uids
    return aborts and any(written[uid].batch.transactional for uid in of_key)


def reader_keeps(case: Case, why: Why) -> Facts:
    """A consumer that takes the last record it is given ends on another than committed history."""
    key, past = case.violation.key or "", case.past
    winner = case.history.winners.get(key, 0)
    kept = case.uid_of(key, case.violation.offset)
    facts: Facts = []
    last = past.last(trace.Consumed)
    replica = "" if last is None else past.event(last).replica
    if winner and past.uid_at(replica, case.history.written[winner].offset) != winner:
        facts = undeleted(case, why, replica, kept, winner)
    text = (
        f"the consumer was given {case.name(kept)} last and goes by offsets; "
        f"{case.name(winner)} wins by {case.order_kind()}"
    )
    mechanisms = () if mechanisms_of(facts) else (of.LAST_OFFSET_WINS,)
    return [*facts, Fact(case.order_kind(), text, past.appended_at.get(kept), mechanisms)]


def ends_on(case: Case, _: Why) -> Facts:
    """A key ends on a record that its producers did not mean to win: what the cleaner compared."""
    written, uids = case.history.written, case.uids_of(case.violation.key)
    found = as_context(last_removal(case, case.violation.key or ""))
    kept = case.written(case.uid_of(case.violation.key, case.violation.offset))
    newer = [
        written[uid].offset
        for uid in uids
        if kept is not None and written[uid].record.timestamp_ms > kept.record.timestamp_ms
    ]
    late = kept is not None and any(offset < kept.offset for offset in newer)
    mechanism = of.ARRIVED_LAST if late else of.BY_LOWER
    return [*found, Fact("version", f"its records: {case.names(uids)}", None, (mechanism,))]


def removed_delete(case: Case, why: Why) -> Facts:
    """A tombstone or a marker went while somebody needed it."""
    violation, past = case.violation, case.past
    replica, offset = violation.replica, violation.offset
    if replica is None or offset is None:
        return []
    for step in past.steps_before(replica, past.end):
        removal = removal_at(step.event, offset) if isinstance(step.event, trace.Cleaned) else None
        if removal is not None:
            facts = why.cleaned(step, offset)
            for holder in list(holders(case, step.position, removal))[:1]:
                needed = why_needed(case, holder, offset, removal.uid, step.position)
                cut = past.fate(holder, offset, removal.uid, step.position).became is Became.CUT
                more = why.lacks(holder, offset, removal.uid, before=step.position) if cut else []
                facts = [with_mechanism(facts, needed), *facts[1:], *more]
            return facts
    return why.lacks(replica, offset)


def still_there(case: Case, _: Why) -> Facts:
    """A tombstone stays: what the passes over it went by."""
    past, replica, offset = case.past, case.violation.replica, case.violation.offset
    if replica is None or offset is None:
        return []
    uid, rule = past.uid_at(replica, offset), case.rules.cleaner.tombstone_removal
    facts = [
        Fact(
            "version",
            f"a pass of {replica} could not go on at {past.event(at).offset} {case.when(at)}, "
            f"{case.name(past.uid_at(replica, past.event(at).offset, at))}",
            at,
            (of.STOPPED_AT_RECORD,),
        )
        for at in past.all(trace.CleaningFailed, replica=replica)
    ]
    position = past.last(trace.Cleaned, replica=replica)
    if position is None:
        text = f"{replica} holds {case.name(uid)} and never cleaned it: it has run no pass"
        mechanisms: tuple[str, ...] = () if facts else (of.NEVER_CLEANED,)
        return [*facts, Fact("position", text, None, mechanisms)]
    event = past.event(position)
    known = case.written(uid)
    given = case.past.horizons(replica, known.batch.base_offset if known else offset)
    known_then = [horizon for horizon in given if horizon.position < position]
    text = (
        f"{replica} kept the tombstone {case.name(uid)} in its pass up to {event.upper_bound} "
        f"{case.when(position)}, {case.clock(replica, event.now_ms)}"
    )
    if event.upper_bound <= offset:
        text += f", which did not reach {offset}"
    elif known_then:
        text += f", its delete horizon being {known_then[-1].at_ms:,} ms (given {len(given)} times)"
    else:
        text += f" (tombstone_removal: {rule}; it has no delete horizon)"
    mechanisms = () if facts else _why_it_stays(case, replica, [one.at_ms for one in given])
    facts.append(Fact("horizon", text, position, mechanisms))
    return [*_held_back(case, replica), *facts] if rule == "coordinated" else facts


def _why_it_stays(case: Case, replica: str, horizons: list[int]) -> tuple[str, ...]:
    past, rule = case.past, case.rules.cleaner.tombstone_removal
    if len(horizons) > 1:
        return (of.STAMPED_AGAIN,)
    if rule == "last_modified":
        return (of.BY_SEGMENT_AGE,)
    if rule in ("coordinated", "leo_gated"):
        return (of.WAITS_FOR_ABSENT,) if any(map(past.is_down, past.steps)) else ()
    passes = [past.event(one).now_ms for one in past.all(trace.Cleaned, replica=replica)]
    came = bool(horizons) and any(now_ms >= horizons[0] for now_ms in passes)
    return () if came else (of.NEVER_CLEANED,)


def _held_back(case: Case, replica: str) -> Facts:
    """By which log ends a bound of coordinated removal stands still."""
    past, bound = case.past, case.past.last(trace.RemovalBoundMoved, replica=replica)
    below = 0 if bound is None else past.event(bound).offset
    ends = [f"{name} at {past.log_end(name)}" for name in past.steps]
    text = f"coordinated removal allows only what is below {below}: {listed(ends)}"
    return [Fact("position", text, bound)]


def horizon_changed(case: Case, _: Why) -> Facts:
    """Two passes, or a pass and a copy, gave a batch different horizons."""
    replica, base = case.violation.replica or "", case.violation.offset or 0
    facts: Facts = []
    for horizon in case.past.horizons(replica, base):
        event = case.past.event(horizon.position)
        if isinstance(event, trace.Cleaned):
            text = (
                f"{replica} gave the batch at {base} the delete horizon {horizon.at_ms:,} ms "
                f"{case.when(horizon.position)}, {case.clock(replica, event.now_ms)} "
                f"(horizon_stamp: {case.rules.cleaner.horizon_stamp})"
            )
            facts.append(Fact("horizon", text, horizon.position))
    return facts


def transaction(case: Case, why: Why) -> Facts:
    """Data of a transaction counts otherwise in a log than in committed history."""
    replica, offset = case.violation.replica, case.violation.offset
    if replica is None or offset is None:
        return []
    uid = case.past.uid_at(replica, offset) or case.past.committed_at(offset)
    return undecided(case, why, replica, uid)


def coordinator(case: Case, why: Why) -> Facts:
    """A coordinator answered by a state that lacks what was committed."""
    event, past = case.shown_by, case.past
    name, offset = event.replica, case.violation.offset or 0
    loaded = past.last(trace.CoordinatorLoaded, replica=name)
    end = None if loaded is None else past.event(loaded).end_offset
    below = event.below if isinstance(event, trace.CoordinatorAnswered) else end
    committed = past.committed_at(offset)
    facts: Facts = []
    mechanisms: tuple[str, ...] = ()
    if past.uid_at(name, offset) != committed:
        facts = _gone_from(case, why, name, committed)
    elif below is not None and below > offset:
        mechanisms = (of.READ_WHILE_LOADING,)
    else:
        led = past.last(trace.LeaderElected, replica=name) or 0
        early = loaded is None or loaded < led
        mechanisms = (of.READ_WHILE_LOADING if early else of.READ_BELOW_MARK,)
    text = f"{name} answers for {case.violation.key or ''} by its log below {below}"
    if loaded is not None:
        text += f", which it had loaded below {end} {case.when(loaded)}"
    text += (
        f"; {case.name(committed)} was committed; its high watermark was "
        f"{past.high_watermark(name, case.judged)}, its log end offset "
        f"{past.log_end(name, case.judged)}"
    )
    return [*facts, Fact("position", text, case.judged, mechanisms)]


def _gone_from(case: Case, why: Why, name: str, committed: int) -> Facts:
    key, offset = case.violation.key, case.history.written[committed].offset
    values = [uid for uid in case.held(name, key) if case.beats(committed, uid)]
    if case.tombstone(committed) and values:
        return undeleted(case, why, name, values[-1], committed)
    return why.lacks(name, offset, committed)
