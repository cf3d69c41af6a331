"""Why a deleted key is back, a late write stays, or a transaction ends otherwise."""

from __future__ import annotations

from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts, as_context
from sim.explain.lost import Why
from sim.explain.past import END, Became, Step
from sim.explain.removed import ends_transaction, removal_at, removed, why_needed
from sim.log.record import Control
from sim.trace import Cleaned, ReplicaCrashed, ReplicaWiped


def undeleted(
    case: Case, why: Why, replica: str, value: int, deciding: int, *, before: int = END
) -> Facts:
    """Why a log gives a key a value before a position, and not what deletes or decides it.

    Args:
        case: The case.
        why: What was told of it so far.
        replica: Whose log.
        value: The record that counts there.
        deciding: The tombstone that beats it, or the marker that decides it.
        before: A position.
    """
    written = case.history.written
    offset = written[deciding].offset
    if written[deciding].key is not None and written[value].offset > offset:
        return _late(case, why, replica, value, deciding, before)
    fate = case.past.origin(replica, offset, deciding, before)
    if fate.became is not Became.CLEANED or fate.step is None:
        return why.without(replica, offset, deciding, before)
    facts = why.cleaned(fate.step, offset)
    removal = removal_at(fate.step.event, offset)
    if removal is not None and removal.reason == "superseded" and written[deciding].key is not None:
        return facts
    if fate.replica == replica:
        return [*facts, *_left(case, replica, value, deciding, fate.step)]
    return _elsewhere(case, why, replica, value, deciding, fate.step, facts)


def _elsewhere(
    case: Case, why: Why, replica: str, value: int, deciding: int, step: Step, facts: Facts
) -> Facts:
    """Another log removed what decides: why this one still needed it then, or has the value."""
    past, written = case.past, case.history.written
    offset, at = written[deciding].offset, step.position
    kept = past.fate(replica, written[value].offset, value, at)
    if kept.became is not Became.HELD:
        got = case.past.slot(replica, written[value].offset)
        text = f"{replica} has {case.name(value)} from a log that was not cleaned"
        return [*facts, Fact("position", text, got, (of.HANDED_ON,))]
    if past.fate(replica, offset, deciding, at).became is Became.HELD:
        for later in past.steps.get(replica, ()):
            if later.position > at:
                gone = past.fate(replica, offset, deciding, later.position + 1)
                if gone.became is not Became.HELD:
                    taken = why.lacks(replica, offset, deciding, before=later.position + 1)
                    return [*taken, *facts]
    needed = why_needed(case, replica, offset, deciding, at)
    cut = past.fate(replica, offset, deciding, at).became is Became.CUT
    more = why.lacks(replica, offset, deciding, before=at) if cut else []
    return [with_mechanism(facts, needed), *facts[1:], *more]


def with_mechanism(facts: Facts, *mechanisms: str) -> Fact:
    """The first fact, which also is an instance of something else."""
    return facts[0]._replace(mechanisms=(*facts[0].mechanisms, *mechanisms))


def _left(case: Case, replica: str, value: int, deciding: int, step: Step) -> Facts:
    """Why the pass that took a tombstone, or a marker, left what it decides."""
    written, past = case.history.written, case.past
    mechanisms: tuple[str, ...] = (of.VALUE_LEFT,)
    if written[deciding].batch.control is None:
        low, high = written[value].offset, written[deciding].offset
        producers = {
            written[uid].batch.producer_id
            for uid in (value, deciding)
            if written[uid].batch.transactional
        }
        aborts = any(
            written[uid].batch.control is Control.ABORT
            and written[uid].batch.producer_id in producers
            for uid in case.past.controls
        )
        covered = any(
            isinstance(each.event, Cleaned)
            and each.event.first_dirty_offset <= low
            and high < each.event.upper_bound
            for each in past.steps_before(replica, step.position)
        )
        if aborts:
            mechanisms = (of.AS_ABORTED, of.VALUE_LEFT)
        elif covered:
            mechanisms = (of.UNFINISHED, of.VALUE_LEFT)
    text = f"the pass {case.when(step.position)} left {case.name(value)} where it was"
    return [Fact(case.order_kind(), text, step.position, mechanisms)]


def _late(case: Case, why: Why, replica: str, value: int, delete: int, before: int) -> Facts:
    """Why a value that came after a delete, and loses to it, stays."""
    past, written = case.past, case.history.written
    offset, late = written[delete].offset, written[value].offset
    fate = past.origin(replica, offset, delete, before)
    position = past.appended_at[value]
    came = _came_late(case, replica, value, delete)
    if fate.became is not Became.CLEANED or fate.step is None:
        return why.lacks(replica, offset, delete, before=before) or [came]
    event, facts = fate.step.event, why.cleaned(fate.step, offset)
    removal = removal_at(event, offset)
    if removal is not None and removal.reason == "superseded":
        return facts
    went = as_context(facts)
    if position > fate.step.position:
        wiped = past.last(ReplicaWiped, before=position) is not None
        remembered = case.rules.cleaner.late_versions != "accepted"
        disk = (of.DISK_LOST,) if wiped and remembered else ()
        return [*went, came._replace(mechanisms=(of.CAME_LATE, *disk))]
    if late >= event.upper_bound:
        text = f"{case.name(value)} lies above what that pass looked at, {event.upper_bound}: only "
        text += f"its {case.order_kind()} says that it loses"
        return [*went, Fact(case.order_kind(), text, position, (of.NOT_MAPPED,))]
    mechanism = of.KEPT_AS_END if event.protected_offset == late else of.NOT_MAPPED
    return [kept_loser(case, fate.step, value, delete, (mechanism,)), *went]


def _came_late(case: Case, replica: str, value: int, delete: int) -> Fact:
    """That a value was appended when nothing told any more that it loses."""
    position = case.past.appended_at[value]
    text = (
        f"{case.name(value)} was appended {case.when(position)}, when {replica} held nothing of "
        f"{case.name(delete)} any more: only its {case.order_kind()} says that it loses"
    )
    return Fact(case.order_kind(), text, position, (of.CAME_LATE,))


def kept_loser(
    case: Case, step: Step, loser: int, winner: int, mechanisms: tuple[str, ...]
) -> Fact:
    """That a pass saw a record and one that beats it, and kept the one that lost."""
    event, written = step.event, case.history.written
    text = (
        f"the pass of {event.replica} over [{event.first_dirty_offset}, {event.upper_bound}) "
        f"{case.when(step.position)} kept {case.name(loser)}, though {case.name(winner)} beats it"
        f"{_because(case, event, written[loser].offset, written[winner].offset)}"
        f"{crashed_after(case, step)}"
    )
    return Fact(case.order_kind(), text, step.position, mechanisms)


def _because(case: Case, event: Cleaned, low: int, high: int) -> str:
    """Why a pass kept the record at an offset, `low`, that one at another, `high`, beats."""
    cleaner = case.rules.cleaner
    if event.protected_offset == low:
        return f": the fix {cleaner.fix} protected {low}"
    if cleaner.map_range == "dirty" and high < event.first_dirty_offset:
        return f": its map began at {event.first_dirty_offset} (map_range: dirty)"
    if event.partial:
        return f": its map was full at {event.upper_bound}"
    if cleaner.map_reads_from != "segment_start":
        return f" (map_reads_from: {cleaner.map_reads_from})"
    return ""


def crashed_after(case: Case, step: Step) -> str:
    """That a replica crashed as soon as a pass had said how far it got."""
    after = step.position + 1
    following = case.events[after][1] if after < len(case.events) else None
    if isinstance(following, ReplicaCrashed) and following.replica == step.event.replica:
        rule = case.rules.storage.cleaner_checkpoint
        name = following.replica
        return f": {name} crashed with its checkpoint moved on (cleaner_checkpoint: {rule})"
    return ""


# Transactions.


def undecided(case: Case, why: Why, replica: str, uid: int) -> Facts:
    """Why a log has not got the marker that decides a record, and what decides it there."""
    known = case.written(uid)
    if known is None or not known.batch.transactional:
        return []
    marker = case.next_marker(known.batch.producer_id, known.offset)
    facts: Facts = []
    if marker is not None:
        facts = [
            fact
            for fact in undeleted(case, why, replica, uid, marker.record.uid)
            if case.past.uid_at(replica, marker.offset) != marker.record.uid
        ]
    return [*facts, *_verdict(case, replica, uid)]


def _verdict(case: Case, replica: str, uid: int) -> Facts:
    """What decides transactional data in a log, beside committed history."""
    data, written = case.history.written[uid], case.history.written
    producer, past = data.batch.producer_id, case.past

    def decides(other: int) -> bool:
        known = written.get(other)
        return (
            known is not None
            and ends_transaction(known.batch.control)
            and known.batch.producer_id == producer
        )

    above = range(data.offset + 1, past.log_end(replica))
    here = next((u for at in above if decides(u := past.uid_at(replica, at))), 0)
    committed = next((u for u in case.history.committed[data.offset + 1 :] if decides(u)), 0)
    if here == committed:
        return []
    text = (
        f"{case.name(uid)} is decided by {case.name(committed) if committed else 'no marker'} in "
        f"committed history, on {replica} by {case.name(here) if here else 'no marker'}"
    )
    return [Fact("marker", text, past.appended_at.get(committed))]


def last_removal(case: Case, key: str) -> Facts:
    """The last removal of a record of a key, one that was not beaten before one that was.

    A tombstone of a key that ends with `*` counts for every key that begins like it.
    """
    found = [
        (int(removal.reason != "superseded"), position, removal)
        for position in case.past.all(Cleaned)
        for removal in case.past.event(position).removals
        if _is_of(removal.key or "", key)
    ]
    if not found:
        return []
    _, position, removal = max(reversed(found), key=lambda each: each[:2])
    return removed(case, position, removal)


def _is_of(name: str, key: str) -> bool:
    return name == key or (name.endswith("*") and key.startswith(name[:-1]))
