"""Explains why the state of a key, or the end of a transaction, differs from what was committed."""

from __future__ import annotations

from bisect import bisect_left
from operator import itemgetter

from sim.check.folding import own_state
from sim.check.violation import TRANSACTIONS
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import (
    Case,
    Fact,
    Facts,
    as_context,
    first_also,
    first_is,
    mechanisms_of,
)
from sim.diagnose.explain.fate import cleaned, lacks, two_records_at, without
from sim.diagnose.explain.past import END, Became, LogStep
from sim.diagnose.explain.removed import removal_at, removed, span, why_needed
from sim.protocol import events as on
from sim.protocol.log.record import Control


def answer(case: Case) -> Facts:
    """Explains why a log gives a key another value than the committed history does."""
    if case.rules.snapshots.state_machine == "deltas":
        return first_is(last_removal(case), of.INCREMENTS)
    replica, facts = case.replica, Facts()
    held, winner, before = _held_and_wanted(case)
    if held and winner and held != winner and case.folded.beats(winner, held):
        facts = _outlives(case, held, winner, before)
    elif winner and winner != held:
        facts = _lacks_winner(case, winner, before)
    if not facts and held:
        offset = case.written[held].offset
        committed = case.committed_at(offset)
        if committed in (0, held):
            facts = undecided(case, replica, held)
        else:
            found = two_records_at(case, offset)
            mechanisms = () if mechanisms_of(found) else (of.TAIL_KEPT,)
            text = f"{replica} holds {case.name(held)} where {case.name(committed)} is committed"
            facts = [*found, Fact("epoch", text, case.slot(replica, offset), mechanisms)]
    return facts or last_removal(case)


def _held_and_wanted(case: Case) -> tuple[int, int, int]:
    """The uids of a key's record in a log and in committed history, 0 for none; and a position.

    Where the violation gives the offset at which the key was deleted, the second is the tombstone
    there: another record may win by now. Events before the position count: a violation that was
    reported when it was over is explained by what was before that time.
    """
    violation, history = case.violation, case.history
    view = history.replicas.get(case.replica)
    held = own_state(history, view).get(case.key, 0) if view is not None else 0
    if violation.offset is not None:
        held = case.uid_of(case.key, violation.offset) or held
    winner, deleted_at = history.winners.get(case.key, 0), violation.value("deleted_at")
    if deleted_at is not None:
        winner = case.committed_at(deleted_at) or winner
    if violation.began is None:
        return held, winner, END
    return held, winner, bisect_left(case.events, violation.at, key=itemgetter(0))


def _outlives(case: Case, held: int, winner: int, before: int) -> Facts:
    """Explains why a record counts in a log though another one beats it."""
    known, replica = case.written[winner], case.replica
    facts: Facts = []
    if case.violation.family == TRANSACTIONS:
        facts = undecided(case, replica, held) or undecided(case, replica, winner)
    if not facts and case.uid_at(replica, known.offset, before) != winner:
        facts = _passed_over(case, held, winner, before)
        if not facts and known.tombstone:
            return undeleted(case, replica, held, winner, before)
    return facts or _lacks_winner(case, winner, before)


def _lacks_winner(case: Case, winner: int, before: int) -> Facts:
    """Explains why the winner is not in the log, or does not count there."""
    offset, replica = case.written[winner].offset, case.replica
    if case.uid_at(replica, offset, before) != winner:
        return lacks(case, replica, offset, winner, before)
    mark = case.high_watermark(replica, before)
    if offset < mark:
        return undecided(case, replica, winner)
    text = f"{replica} holds {case.name(winner)} above its high watermark {mark}, so that it does "
    moved = case.last(on.HighWatermarkMoved, replica=replica, before=before)
    return [Fact("position", f"{text}not count there", moved)]


def _passed_over(case: Case, held: int, winner: int, before: int) -> Facts:
    """The first pass of the replica before a position that kept a record and saw its winner.

    A pass that removed the winner as superseded is explained by its comparison instead.
    """
    replica, both = case.replica, [held, winner]
    low, high = (case.written[uid].offset for uid in both)
    for at in case.all(on.Cleaned, replica=replica, before=before):
        event, removal = case.event(at), removal_at(case.event(at), high)
        beaten = removal is not None and removal.reason == "superseded"
        saw = event.upper_bound > max(low, high) and case.holding(replica, both, at) == both
        if saw and case.uid_at(replica, low, at + 1) == held and not beaten:
            tombstone = case.written[winner].tombstone
            gone = undeleted(case, replica, held, winner, before) if tombstone else []
            end = of.KEPT_AS_END if event.protected_offset == low else of.NOT_MAPPED
            why = mechanisms_of(gone) or (end,)
            return [kept_loser(case, at, held, winner, *why), *as_context(gone)]
    return []


def kept_loser(case: Case, at: int, loser: int, winner: int, *mechanisms: str) -> Fact:
    """The fact that a pass saw a record and its winner, and kept the record."""
    event, cleaner, low = case.event(at), case.rules.cleaner, case.written[loser].offset
    text = f"the pass of {event.replica} over {span(event)} {case.when(at)} kept "
    text += f"{case.name(loser)}, though {case.name(winner)} beats it"
    began, high = event.first_dirty_offset, case.written[winner].offset
    if event.protected_offset == low:
        text += f": the fix {cleaner.fix} protected {low}"
    elif cleaner.map_reads_from != "segment_start":
        text += f" (map_reads_from: {cleaner.map_reads_from})"
    elif cleaner.map_range == "dirty" and high < began:
        text += f": its map began at {began} (map_range: dirty) and knew only what is above"
    elif event.partial:
        text += f": its map was full at {event.upper_bound}"
    after = case.event(at + 1) if at + 1 < case.end else None
    if isinstance(after, on.ReplicaCrashed) and after.replica == event.replica:
        text += f": {event.replica} crashed with its checkpoint moved on "
        text += case.by_rules("cleaner_checkpoint")
    return Fact(case.order_kind(), text, at, mechanisms)


# A deleted key is back, or a late write survives.


def undeleted(case: Case, replica: str, value: int, deciding: int, before: int = END) -> Facts:
    """Explains why a log has a value without the tombstone or marker that decides it.

    Args:
        case: The violation.
        replica: Name of the replica with the log.
        value: uid of the record that counts there.
        deciding: uid of the tombstone that beats it, or of the marker that decides it.
        before: Position before which the log is in that state.
    """
    known, late = case.written[deciding], case.written[value]
    offset, keyed = known.offset, known.key is not None
    became, whose, step = case.origin(replica, offset, deciding, before)
    comes_late = keyed and late.offset > offset
    if became is not Became.CLEANED or step is None:
        if not comes_late:
            return without(case, replica, offset, deciding, before)
        return lacks(case, replica, offset, deciding, before) or [
            _came_late(case, replica, value, deciding)
        ]
    facts = cleaned(case, step, offset)
    removal = removal_at(step.event, offset)
    if removal is not None and removal.reason == "superseded" and keyed:
        return facts
    if comes_late:
        return _late(case, replica, value, deciding, step, as_context(facts))
    if whose == replica:
        return [*facts, _left(case, replica, value, deciding, step)]
    return _elsewhere(case, replica, value, deciding, step, facts)


def _elsewhere(
    case: Case, replica: str, value: int, deciding: int, step: LogStep, facts: Facts
) -> Facts:
    """Explains a removal in another log: why this one still needed the record, or has the value."""
    offset, value_at, at = case.written[deciding].offset, case.written[value].offset, step.position
    if not case.holding(replica, [value], at):
        text = f"{replica} has {case.name(value)} from a log that was not cleaned"
        copied = case.slot(replica, value_at)
        return [*facts, Fact("position", text, copied, (of.HANDED_ON,))]
    became = case.fate(replica, offset, deciding, at).became
    if became is Became.HELD:
        ends = [each.position + 1 for each in case.steps[replica] if each.position > at]
        for end in ends:
            if not case.holding(replica, [deciding], end):
                return [*lacks(case, replica, offset, deciding, end), *facts]
    needed = why_needed(case, replica, offset, deciding, at)
    more = lacks(case, replica, offset, deciding, at) if became is Became.CUT else []
    return [*first_also(facts, needed), *more]


def _left(case: Case, replica: str, value: int, deciding: int, step: LogStep) -> Fact:
    """The pass that removed a tombstone or a marker but kept the value, as a fact."""
    also: list[str] = []
    if case.written[deciding].batch.control is None:
        low, high = case.written[value].offset, case.written[deciding].offset
        passes = map(case.event, case.latest(on.Cleaned, replica=replica, before=step.position))
        if some_aborted(case, [value, deciding]):
            also = [of.AS_ABORTED]
        elif any(each.first_dirty_offset <= low and high < each.upper_bound for each in passes):
            also = [of.UNFINISHED]
    text = f"the pass {case.when(step.position)} left {case.name(value)} where it was"
    return Fact(case.order_kind(), text, step.position, (*also, of.VALUE_LEFT))


def some_aborted(case: Case, uids: list[int]) -> bool:
    """Checks that a producer of some of these records aborted a transaction."""
    batches = [case.written[uid].batch for uid in uids]
    producers = {batch.producer_id for batch in batches if batch.transactional}
    ends = (one.batch for one in case.controls())
    return any(b.control is Control.ABORT and b.producer_id in producers for b in ends)


def _late(case: Case, replica: str, value: int, delete: int, step: LogStep, went: Facts) -> Facts:
    """Explains a late write: a value that came after a delete, with a lower version."""
    position, late = case.appended_at[value], case.written[value].offset
    if position > step.position:
        wiped = case.last(on.ReplicaWiped, before=position) is not None
        remembered = case.rules.cleaner.late_versions != "accepted"
        disk = (of.DISK_LOST,) if wiped and remembered else ()
        return [*went, _came_late(case, replica, value, delete, *disk)]
    bound, by = step.event.upper_bound, case.order_kind()
    if late >= bound:
        text = f"{case.name(value)} lies at or above the bound of that pass, {bound}: only its "
        return [*went, Fact(by, f"{text}{by} says that it loses", position, (of.NOT_MAPPED,))]
    mechanism = of.KEPT_AS_END if step.event.protected_offset == late else of.NOT_MAPPED
    return [kept_loser(case, step.position, value, delete, mechanism), *went]


def _came_late(case: Case, replica: str, value: int, delete: int, *mechanisms: str) -> Fact:
    """The fact that a value was appended after the record that beats it had been removed."""
    at, by = case.appended_at[value], case.order_kind()
    text = f"{case.name(value)} was appended {case.when(at)}, when {replica} held nothing of "
    text += f"{case.name(delete)} any more: only its {by} says that it loses"
    return Fact(by, text, at, (of.CAME_LATE, *mechanisms))


# Transactions.


def undecided(case: Case, replica: str, uid: int) -> Facts:
    """Explains why a log lacks the marker that decides a record, and what decides it there."""
    known = case.known(uid)
    if known is None or not known.batch.transactional:
        return []
    markers = [one for one in case.markers(known.batch.producer_id) if one.offset > known.offset]
    ends = {one.record.uid for one in markers}
    held = (case.uid_at(replica, at) for at in range(known.offset + 1, case.log_end(replica)))
    here = next((one for one in held if one in ends), 0)
    committed = next(
        (u for one in markers if (u := one.record.uid) == case.committed_at(one.offset)), 0
    )
    facts: Facts = []
    if here != committed:
        by, own = [case.name(one) if one else "no marker" for one in (committed, here)]
        text = f"{case.name(uid)} is decided by {by} in committed history, on {replica} by {own}"
        facts = [Fact("marker", text, case.appended_at.get(committed))]
    if not markers or case.holding(replica, [markers[0].record.uid]):
        return facts
    case.lacks_marker(markers[0])
    return [*undeleted(case, replica, uid, markers[0].record.uid), *facts]


def last_removal(case: Case) -> Facts:
    """The last removal of a record of the key; a superseded record only if there is no other.

    A removed record whose key ends with `*` counts for every key with that prefix.
    """
    found = [
        (int(removal.reason != "superseded"), position, removal)
        for position in case.all(on.Cleaned)
        for removal in case.event(position).removals
        if (name := removal.key or "") == case.key
        or (name.endswith("*") and case.key.startswith(name[:-1]))
    ]
    if not found:
        return []
    _, position, removal = max(reversed(found), key=lambda each: each[:2])
    return [removed(case, position, removal)]
