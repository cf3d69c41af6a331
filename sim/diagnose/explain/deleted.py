"""Why a deleted key is back, a late write stays, or a transaction ends otherwise."""

from __future__ import annotations

from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import ENDS, Case, Fact, Facts, as_context, first_also, span
from sim.diagnose.explain.lost import cleaned, lacks, without
from sim.diagnose.explain.past import END, Became, Step
from sim.diagnose.explain.removed import removal_at, removed, why_needed
from sim.protocol.events import Cleaned, ReplicaCrashed, ReplicaWiped
from sim.protocol.log.record import Control


def undeleted(case: Case, replica: str, value: int, deciding: int, before: int = END) -> Facts:
    """Why a log gives a key a value before a position, and not what deletes or decides it.

    Args:
        case: The case.
        replica: Whose log.
        value: The record that counts there.
        deciding: The tombstone that beats it, or the marker that decides it.
        before: A position.
    """
    known, late = case.history.written[deciding], case.history.written[value]
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
    case: Case, replica: str, value: int, deciding: int, step: Step, facts: Facts
) -> Facts:
    """Another log removed what decides: why this one still needed it then, or has the value."""
    written = case.history.written
    offset, value_at, at = written[deciding].offset, written[value].offset, step.position
    if case.fate(replica, value_at, value, at).became is not Became.HELD:
        copied = case.slot(replica, value_at)
        text = f"{replica} has {case.name(value)} from a log that was not cleaned"
        return [*facts, Fact("position", text, copied, (of.HANDED_ON,))]
    became = case.fate(replica, offset, deciding, at).became
    if became is Became.HELD:
        ends = [each.position + 1 for each in case.steps.get(replica, ()) if each.position > at]
        for end in ends:
            if case.fate(replica, offset, deciding, end).became is not Became.HELD:
                return [*lacks(case, replica, offset, deciding, end), *facts]
    needed = why_needed(case, replica, offset, deciding, at)
    more = lacks(case, replica, offset, deciding, at) if became is Became.CUT else []
    return [*first_also(facts, needed), *more]


def _left(case: Case, replica: str, value: int, deciding: int, step: Step) -> Fact:
    """Why the pass that took a tombstone, or a marker, left what it decides."""
    written = case.history.written
    also: list[str] = []
    if written[deciding].batch.control is None:
        low, high = written[value].offset, written[deciding].offset
        passes = [
            each.event
            for each in case.steps_before(replica, step.position)
            if isinstance(each.event, Cleaned)
        ]
        if some_aborted(case, [value, deciding]):
            also = [of.AS_ABORTED]
        elif any(each.first_dirty_offset <= low and high < each.upper_bound for each in passes):
            also = [of.UNFINISHED]
    text = f"the pass {case.when(step.position)} left {case.name(value)} where it was"
    return Fact(case.order_kind(), text, step.position, (*also, of.VALUE_LEFT))


def some_aborted(case: Case, uids: list[int]) -> bool:
    """Whether a transaction of the producers of some of these records was aborted."""
    batches = [case.history.written[uid].batch for uid in uids]
    producers = {batch.producer_id for batch in batches if batch.transactional}
    ends = [case.history.written[uid].batch for uid in case.controls]
    return any(b.control is Control.ABORT and b.producer_id in producers for b in ends)


def _late(case: Case, replica: str, value: int, delete: int, step: Step, went: Facts) -> Facts:
    """Why a value that came after a delete, and loses to it, stays where a pass took the delete."""
    position, late = case.appended_at[value], case.history.written[value].offset
    if position > step.position:
        wiped = case.last(ReplicaWiped, before=position) is not None
        remembered = case.rules.cleaner.late_versions != "accepted"
        disk = (of.DISK_LOST,) if wiped and remembered else ()
        return [*went, _came_late(case, replica, value, delete, *disk)]
    bound, by = step.event.upper_bound, case.order_kind()
    if late >= bound:
        text = f"{case.name(value)} lies above what that pass looked at, {bound}: only its {by} "
        return [*went, Fact(by, f"{text}says that it loses", position, (of.NOT_MAPPED,))]
    mechanism = of.KEPT_AS_END if step.event.protected_offset == late else of.NOT_MAPPED
    return [kept_loser(case, step, value, delete, mechanism), *went]


def _came_late(case: Case, replica: str, value: int, delete: int, *mechanisms: str) -> Fact:
    """That a value was appended when nothing told any more that it loses."""
    at, by = case.appended_at[value], case.order_kind()
    text = f"{case.name(value)} was appended {case.when(at)}, when {replica} held nothing of "
    text += f"{case.name(delete)} any more: only its {by} says that it loses"
    return Fact(by, text, at, (of.CAME_LATE, *mechanisms))


def kept_loser(case: Case, step: Step, loser: int, winner: int, *mechanisms: str) -> Fact:
    """That a pass saw a record and one that beats it, and kept the one that lost."""
    written = case.history.written
    why = why_kept(case, step, written[loser].offset, written[winner].offset)
    event, at = step.event, step.position
    text = f"the pass of {event.replica} over {span(event)} {case.when(at)} kept "
    text += f"{case.name(loser)}, though {case.name(winner)} beats it{why}"
    return Fact(case.order_kind(), text, at, mechanisms)


def why_kept(case: Case, step: Step, low: int, high: int) -> str:
    """Why a pass kept the record at an offset, `low`, that one at another, `high`, beats."""
    cleaner, event, because = case.rules.cleaner, step.event, ""
    if event.protected_offset == low:
        because = f": the fix {cleaner.fix} protected {low}"
    elif cleaner.map_reads_from != "segment_start":
        because = f" (map_reads_from: {cleaner.map_reads_from})"
    elif cleaner.map_range == "dirty" and high < event.first_dirty_offset:
        began = event.first_dirty_offset
        because = f": its map began at {began} (map_range: dirty) and knew only what is above"
    elif event.partial:
        because = f": its map was full at {event.upper_bound}"
    return because + _crashed_after(case, step)


def _crashed_after(case: Case, step: Step) -> str:
    """That a replica crashed as soon as a pass had said how far it got."""
    name, following = step.event.replica, case.recorded[step.position + 1 : step.position + 2]
    if not any(isinstance(e, ReplicaCrashed) and e.replica == name for _, e in following):
        return ""
    rule = case.rules.storage.cleaner_checkpoint
    return f": {name} crashed with its checkpoint moved on (cleaner_checkpoint: {rule})"


# Transactions.


def undecided(case: Case, replica: str, uid: int) -> Facts:
    """Why a log has not got the marker that decides a record, and what decides it there."""
    known = case.written(uid)
    if known is None or not known.batch.transactional:
        return []
    marker = case.next_marker(known.batch.producer_id, known.offset)
    decided = _decided(case, replica, uid)
    if marker is None or case.uid_at(replica, marker.offset) == marker.record.uid:
        return decided
    case.lacks_marker(marker)
    return [*undeleted(case, replica, uid, marker.record.uid), *decided]


def _decided(case: Case, replica: str, uid: int) -> Facts:
    """What decides transactional data in a log, beside committed history."""
    data = case.history.written[uid]
    ends = {
        one
        for one in case.controls
        if (batch := case.history.written[one].batch).control in ENDS
        and batch.producer_id == data.batch.producer_id
    }
    held = (case.uid_at(replica, at) for at in range(data.offset + 1, case.log_end(replica)))
    here = next((one for one in held if one in ends), 0)
    committed = next((u for u in case.history.committed[data.offset + 1 :] if u in ends), 0)
    if here == committed:
        return []
    by, own = [case.name(one) if one else "no marker" for one in (committed, here)]
    text = f"{case.name(uid)} is decided by {by} in committed history, on {replica} by {own}"
    return [Fact("marker", text, case.appended_at.get(committed))]


def last_removal(case: Case, key: str) -> Facts:
    """The last removal of a record of a key, one that was not beaten before one that was.

    A tombstone of a key that ends with `*` counts for every key that begins like it.
    """
    found = [
        (int(removal.reason != "superseded"), position, removal)
        for position in case.all(Cleaned)
        for removal in case.event(position).removals
        if _is_of(removal.key or "", key)
    ]
    if not found:
        return []
    _, position, removal = max(reversed(found), key=lambda each: each[:2])
    return [removed(case, position, removal)]


def _is_of(name: str, key: str) -> bool:
    return name == key or (name.endswith("*") and key.startswith(name[:-1]))
