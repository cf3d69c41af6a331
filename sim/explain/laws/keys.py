"""What decided where the state of a key, or a transaction, is not the committed one."""

from __future__ import annotations

import re

from sim.check.folding import own_state
from sim.explain.case import Case, Fact, listed
from sim.explain.laws.logs import two_records_at
from sim.explain.removed import horizon_of, removed
from sim.explain.why import Facts, Why
from sim.log.record import Control
from sim.trace import (
    Cleaned,
    CleaningFailed,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Removal,
    RemovalBoundMoved,
    ReplicaCrashed,
)

_DELETED_AT = re.compile(r"was deleted at offset (\d+)")
"""How the laws on deleted keys name the tombstone."""


def state_differs(case: Case, why: Why) -> Facts:
    """A log folds to something else for a key: what it lacks of the winner, what it kept."""
    violation, judged = case.violation, case.cone.judged
    replica, key = violation.replica, violation.key
    if replica is None or key is None:
        return []
    if case.rules.snapshots.state_machine == "deltas":
        return taken_from_key(case, key)
    held, winner = _held_and_wanted(case, replica, key)
    facts: Facts = []
    if winner and winner != held:
        offset = case.known.records[winner].offset
        has = case.uid_at(replica, offset, before=judged + 1) == winner
        if has:
            facts += _hidden(case, why, replica, winner)
        else:
            facts += why.lacks(replica, offset, before=judged)
    if held:
        can_lose = winner and held != winner and case.beats(winner, held)
        kept = _passed_over(case, replica, held, winner) if can_lose else []
        facts = [*kept, *facts] if kept else facts + _survived(case, why, replica, held, winner)
    return facts or taken_from_key(case, key)


def _held_and_wanted(case: Case, replica: str, key: str) -> tuple[int, int]:
    """What a log gives a key, and what committed history does, 0 = nothing.

    Where the violation says at which offset the key was deleted, the tombstone there: it may have
    been there for a while only, and another record wins by now.
    """
    winner, records = case.history.winners.get(key, 0), case.known.records
    view, offset = case.history.replicas.get(replica), case.violation.offset
    held = own_state(case.history, view).get(key, 0) if view is not None else 0
    if offset is not None:
        held = next((uid for uid in case.uids_of(key) if records[uid].offset == offset), held)
    said = _DELETED_AT.search(case.violation.sentence)
    if said is not None:
        deleted_at = int(said[1])
        winner = next((u for u in case.uids_of(key) if records[u].offset == deleted_at), winner)
    return held, winner


def _hidden(case: Case, why: Why, replica: str, winner: int) -> Facts:
    """The winner is in the log, and does not count there."""
    record, mark = case.known.records[winner], case.high_watermark_of(replica)
    if record.offset >= mark:
        leader = case.leader_at(case.cone.judged + 1)
        text = (
            f"{replica} holds {case.name(winner)} above its high watermark {mark}, so that it does "
            "not count there"
        )
        if leader is not None and leader[0] != replica:
            text += (
                f"; {leader[0]}, leader of epoch {leader[1]}, is at "
                f"{case.high_watermark_of(leader[0])}"
            )
        return [Fact("position", text, case.known.last("mark", replica))]
    return of_transaction(case, why, replica, winner)


def _survived(case: Case, why: Why, replica: str, held: int, winner: int) -> Facts:
    """Why a record that lost is still there."""
    records = case.known.records
    offset = records[held].offset
    committed = case.committed_at(offset)
    if committed and committed != held:
        text = f"{replica} holds {case.name(held)} where {case.name(committed)} is committed"
        position = case.known.slot(replica, offset)
        return [*two_records_at(case, why, offset), Fact("epoch", text, position)]
    if case.known.batches[held].transactional and (
        decided := of_transaction(case, why, replica, held)
    ):
        return decided
    if not winner or not case.beats(winner, held):
        return []
    if offset < records[winner].offset:
        return []
    at = case.known.appended_at[held]
    text = f"{case.name(held)} was appended {case.when(at)}"
    if case.uid_at(replica, records[winner].offset, before=at) == winner:
        text += f" and kept, though {case.name(winner)} beats it"
    else:
        text += (
            f", when {replica} held nothing of {case.name(winner)} any more: only its "
            f"{case.order_kind()} says that it loses"
        )
    return [Fact(case.order_kind(), text, at)]


def _passed_over(case: Case, replica: str, held: int, winner: int) -> Facts:
    """A pass of the replica saw a record and one that beats it, and kept the one that lost.

    That it took the winner for the loser is another matter: what it compared then says why.
    """
    known = case.known
    low, high = known.records[held].offset, known.records[winner].offset
    for position in known.all("cleaned", replica):
        event = case.event(position)
        if not isinstance(event, Cleaned) or event.upper_bound <= max(low, high):
            continue
        seen = case.uid_at(replica, low, before=position) == held
        seen = seen and case.uid_at(replica, high, before=position) == winner
        kept = case.uid_at(replica, low, before=position + 1) == held
        beaten = any(r.offset == high and r.reason == "superseded" for r in event.removals)
        if seen and kept and not beaten:
            text = (
                f"the pass of {replica} over [{event.first_dirty_offset}, {event.upper_bound}) "
                f"{case.when(position)} kept {case.name(held)}, though {case.name(winner)} beats it"
                f"{_because(case, event, low, high) or crashed_after(case, position, replica)}"
            )
            return [Fact(case.order_kind(), text, position)]
    return []


def crashed_after(case: Case, position: int, replica: str) -> str:
    """That a replica crashed as soon as a pass had said how far it got."""
    following = case.event(position + 1) if position + 1 < len(case.events) else None
    if isinstance(following, ReplicaCrashed) and following.replica == replica:
        rule = case.rules.storage.cleaner_checkpoint
        return f": {replica} crashed with its checkpoint moved on (cleaner_checkpoint: {rule})"
    return ""


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


def taken_from_key(case: Case, key: str) -> Facts:
    """The last removal of a record of a key, one that was not beaten before one that was.

    A tombstone of a key that ends with `*` counts for every key that begins like it.
    """
    best: tuple[int, int, Removal] | None = None
    for position, (_, event) in enumerate(case.events[: case.cone.judged + 1]):
        for removal in event.removals if isinstance(event, Cleaned) else ():
            name = removal.key or ""
            if name == key or (name.endswith("*") and key.startswith(name[:-1])):
                rank = int(removal.reason != "superseded")
                if best is None or (rank, position) >= best[:2]:
                    best = (rank, position, removal)
    if best is None:
        return []
    event = case.event(best[1])
    assert isinstance(event, Cleaned)
    return removed(case, best[1], event, best[2])


def kept_loser(case: Case, _: Why) -> Facts:
    """A clean section holds two records of a key: which pass kept the one that loses."""
    violation = case.violation
    assert violation.replica is not None
    replica = violation.replica
    held = [
        uid
        for uid in case.uids_of(violation.key or "")
        if case.uid_at(replica, case.known.records[uid].offset) == uid
    ]
    if len(held) < 2:
        return []
    best = held[0]
    for uid in held[1:]:
        best = uid if case.beats(uid, best) else best
    losers = [uid for uid in held if uid != best]
    text = f"{replica} holds {case.names(losers)} beside {case.name(best)}, which beats it"
    position = case.known.last("cleaned", replica)
    event = None if position is None else case.event(position)
    if isinstance(event, Cleaned):
        span = f"[{event.first_dirty_offset}, {event.upper_bound})"
        text += f"; its pass over {span} {case.when(position or 0)} kept both"
        dirty = case.rules.cleaner.map_range == "dirty"
        first = event.first_dirty_offset
        if event.protected_offset in [case.known.records[uid].offset for uid in losers]:
            text += f": the fix {case.rules.cleaner.fix} protects {event.protected_offset}"
        elif case.rules.cleaner.map_reads_from != "segment_start":
            text += f" (map_reads_from: {case.rules.cleaner.map_reads_from})"
        elif dirty and case.known.records[best].offset < first:
            text += f": its map begins at {first} (map_range: dirty) and knows only what is above"
        text += crashed_after(case, position or 0, replica)
    return [Fact(case.order_kind(), text, position)]


def reader_keeps(case: Case, why: Why) -> Facts:
    """A consumer that takes the last record it is given ends on another than committed history."""
    key, offset = case.violation.key or "", case.violation.offset
    winner = case.history.winners.get(key, 0)
    kept = next((uid for uid in case.uids_of(key) if case.known.records[uid].offset == offset), 0)
    facts: Facts = []
    for replica in case.known.replicas[:1]:
        if winner and case.uid_at(replica, case.known.records[winner].offset) != winner:
            facts += why.lacks(replica, case.known.records[winner].offset, before=case.cone.judged)
    text = (
        f"the consumer was given {case.name(kept)} last and goes by offsets; "
        f"{case.name(winner)} wins by {case.order_kind()}"
    )
    return [*facts, Fact(case.order_kind(), text, case.known.appended_at.get(kept))]


def ends_on(case: Case, why: Why) -> Facts:
    """A key ends on a record that its producers did not mean to win: what the cleaner compared."""
    found = taken_from_key(case, case.violation.key or "")
    uids = case.uids_of(case.violation.key or "")
    return [*found, Fact("version", f"its records: {case.names(uids)}", None)]


def removed_delete(case: Case, why: Why) -> Facts:
    """A tombstone or a marker went while somebody needed it."""
    event = case.event(case.cone.judged)
    offset = case.violation.offset
    if isinstance(event, Cleaned):
        for removal in event.removals:
            if removal.offset == offset:
                return removed(case, case.cone.judged, event, removal)
    replica = case.violation.replica
    if replica is None or offset is None:
        return []
    return why.lacks(replica, offset, before=case.cone.judged)


def still_there(case: Case, _: Why) -> Facts:
    """A tombstone stays: what the passes over it went by."""
    violation = case.violation
    replica, offset = violation.replica, violation.offset
    if replica is None or offset is None:
        return []
    uid = case.uid_at(replica, offset)
    facts: Facts = []
    for at, (_at, failed) in enumerate(case.events[: case.cone.judged + 1]):
        if isinstance(failed, CleaningFailed) and failed.replica == replica:
            text = (
                f"a pass of {replica} could not go on at {failed.offset} {case.when(at)}, "
                f"{case.name(case.uid_at(replica, failed.offset, before=at))}"
            )
            facts.append(Fact("version", text, at))
    position = case.known.last("cleaned", replica)
    event = None if position is None else case.event(position)
    if not isinstance(event, Cleaned) or position is None:
        text = f"{replica} holds {case.name(uid)} and never cleaned it: it has run no pass"
        return [*facts, Fact("position", text, None)]
    batch = case.known.batches.get(uid)
    horizon = None if batch is None else horizon_of(case, replica, batch, position)
    clock = case.clock(replica, event.now_ms)
    rule = case.rules.cleaner.tombstone_removal
    text = (
        f"{replica} kept the tombstone {case.name(uid)} in its pass up to {event.upper_bound} "
        f"{case.when(position)}, {clock}"
    )
    if event.upper_bound <= offset:
        text += f", which did not reach {offset}"
    elif horizon is not None:
        given = case.known.all("horizon", replica, str(batch.base_offset if batch else offset))
        text += f", its delete horizon being {horizon[0]:,} ms (given {len(given)} times)"
    else:
        text += f" (tombstone_removal: {rule}; it has no delete horizon)"
    facts.append(Fact("horizon", text, position))
    if rule == "coordinated":
        bound = case.known.last("bound", replica)
        moved = None if bound is None else case.event(bound)
        below = moved.offset if isinstance(moved, RemovalBoundMoved) else 0
        ends = [f"{name} at {case.end_of(name)}" for name in case.known.replicas]
        text = f"coordinated removal allows only what is below {below}: {listed(ends)}"
        facts.insert(0, Fact("position", text, bound))
    return facts


def horizon_changed(case: Case, _: Why) -> Facts:
    """Two passes, or a pass and a copy, gave a batch different horizons."""
    replica, base = case.violation.replica or "", case.violation.offset
    facts: Facts = []
    for position in case.known.all("horizon", replica, str(base)):
        event = case.event(position)
        if isinstance(event, Cleaned):
            given = dict(event.horizons).get(base or 0)
            text = (
                f"{replica} gave the batch at {base} the delete horizon {given:,} ms "
                f"{case.when(position)}, {case.clock(replica, event.now_ms)} (horizon_stamp: "
                f"{case.rules.cleaner.horizon_stamp})"
            )
            facts.append(Fact("horizon", text, position))
    return facts


def transaction(case: Case, why: Why) -> Facts:
    """Data of a transaction counts otherwise in a log than in committed history."""
    replica, offset = case.violation.replica, case.violation.offset
    if replica is None or offset is None:
        return []
    uid = case.uid_at(replica, offset) or case.committed_at(offset)
    return of_transaction(case, why, replica, uid)


def of_transaction(case: Case, why: Why, replica: str, uid: int) -> Facts:
    """Why a log has not got the marker that decides a record, and what decides it there."""
    batch = case.known.batches.get(uid)
    if batch is None or not batch.transactional:
        return []
    marker = _marker_of(case, batch.producer_id, case.known.records[uid].offset)
    facts: Facts = []
    if marker and case.uid_at(replica, case.known.records[marker].offset) != marker:
        at = case.known.records[marker].offset
        facts += why.lacks(replica, at, before=case.cone.judged)
    return [*facts, *verdict(case, replica, uid)]


def _marker_of(case: Case, producer_id: int, above: int) -> int:
    """The committed marker that decides data of a producer below it; 0 = none."""
    for uid in case.history.committed[above + 1 :]:
        batch = case.known.batches.get(uid)
        decides = batch is not None and batch.control in (Control.COMMIT, Control.ABORT)
        if batch is not None and decides and batch.producer_id == producer_id:
            return uid
    return 0


def verdict(case: Case, replica: str, uid: int) -> Facts:
    """What decides transactional data in a log, beside committed history."""
    batch, offset = case.known.batches[uid], case.known.records[uid].offset
    committed = _marker_of(case, batch.producer_id, offset)
    end = case.end_of(replica)
    here = 0
    for at in range(offset + 1, end):
        other = case.known.batches.get(case.uid_at(replica, at))
        decides = other is not None and other.control in (Control.COMMIT, Control.ABORT)
        if other is not None and decides and other.producer_id == batch.producer_id:
            here = case.uid_at(replica, at)
            break
    if here == committed:
        return []
    text = (
        f"{case.name(uid)} is decided by {case.name(committed) if committed else 'no marker'} in "
        f"committed history, on {replica} by {case.name(here) if here else 'no marker'}"
    )
    return [Fact("marker", text, case.known.appended_at.get(committed))]


def coordinator(case: Case, why: Why) -> Facts:
    """A coordinator answered by a state that lacks what was committed."""
    event, judged = case.event(case.cone.judged), case.cone.judged
    name, key = event.replica or "", case.violation.key or ""
    offset = case.violation.offset or 0
    facts: Facts = []
    below = end = None
    loaded = case.known.last("loaded", name, before=judged + 1)
    load = None if loaded is None else case.event(loaded)
    if isinstance(load, CoordinatorLoaded):
        end = load.end_offset
    if isinstance(event, CoordinatorAnswered):
        below = event.below
    up_to = below if below is not None else end
    if up_to is not None and up_to > offset:
        facts += why.lacks(name, offset, before=judged)
    text = f"{name} answers for {key} by its log below {up_to}"
    if end is not None:
        text += f", which it had loaded below {end} {case.when(loaded or 0)}"
    text += f"; {case.name(case.committed_at(offset))} was committed"
    mark = case.high_watermark_of(name, before=judged)
    text += f"; its high watermark was {mark}, its log end offset {case.end_of(name)}"
    return [*facts, Fact("position", text, judged)]
