"""Why a cleaner removed a record: what it compared, and who needed the record still."""

from __future__ import annotations

from sim import trace
from sim.check.history import Written
from sim.check.promise import DEFAULT_HEADER
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, FactKind, Facts, listed
from sim.explain.past import Became, Horizon
from sim.log.record import Control

NAMED = 4
"""Of the records that somebody still held so many are named: the last ones."""

BY_TIME = ("horizon", "record_horizon", "last_modified", "cleaning_checkpoint")
"""Values of `tombstone_removal` that compare a clock with a time."""


def removal_at(event: trace.Cleaned, offset: int) -> trace.Removal | None:
    """What a pass took at an offset; None = nothing."""
    return next((each for each in event.removals if each.offset == offset), None)


def removed(case: Case, position: int, removal: trace.Removal) -> Facts:
    """The fact by which a pass removed a record, and why what evicted it is gone, too, if it is."""
    event = case.past.event(position)
    if removal.reason == "superseded" and removal.winner_offset is not None:
        return [_superseded(case, position, removal, removal.winner_offset)]
    if removal.reason in ("tombstone", "marker"):
        return [_expired(case, position, removal)]
    if removal.reason == "aborted":
        return [_aborted(case, position, removal)]
    span = f"[{event.first_dirty_offset}, {event.upper_bound})"
    text = (
        f"{event.replica} removed {case.name(removal.uid)} {case.when(position)} "
        f"({removal.reason}) in its pass over {span}"
    )
    return [Fact("order", text, position, (of.UNMAPPED,))]


# Another record won.


def _superseded(case: Case, position: int, removal: trace.Removal, winner_offset: int) -> Fact:
    """A newer record of the key won, as the cleaner compares them."""
    event, replica = case.past.event(position), case.past.event(position).replica
    winner = case.past.uid_at(replica, winner_offset, position)
    text = (
        f"{replica} removed {case.name(removal.uid)} {case.when(position)}, beaten by "
        f"{case.name(winner) if winner else f'the record at {winner_offset}'}"
    )
    if winner and removal.key is not None and not case.beats(winner, removal.uid):
        text += ", which does not beat it by what the topic promises"
        text += _moved_timestamp(case, replica, winner, position)
        text += _other_settings(case, replica)
    if removal.key is None:
        text += f", as one key to the cleaner (marker_lookup: {case.rules.cleaner.marker_lookup})"
    if case.tombstone(removal.uid):
        needed = still_needed(case, position, removal)
        text += f", while {needed}" if needed else ""
    kind: FactKind = case.order_kind()
    if winner_offset >= event.high_watermark:
        text += f", which was not committed: high watermark {event.high_watermark}"
        kind = "position"
    elif event.protected_offset is None and removal.offset == event.log_end_offset - 1:
        text += ", and nothing of its offset stayed" * (removal.offset not in event.emptied)
    return Fact(kind, text, position, (_how_evicted(case, position, removal, winner_offset),))


def _how_evicted(case: Case, position: int, removal: trace.Removal, winner_offset: int) -> str:
    """Why the record that a pass held for the winner is none, or may have been one."""
    event, evicted = case.past.event(position), case.written(removal.uid)
    by = case.written(case.past.last_written(event.replica, winner_offset, position))
    if evicted is not None and evicted.batch.control is not None:
        return of.EVICTED
    if evicted is None or by is None:
        return of.SUPERSEDED
    if by.version < evicted.version:
        return _how_lower(case, evicted, by)
    if winner_offset >= event.high_watermark:
        return of.BY_UNCOMMITTED
    return of.AS_ABORTED if case.aborted(by.record.uid) else of.SUPERSEDED


def _how_lower(case: Case, evicted: Written, by: Written) -> str:
    """In what the version that evicted a higher one could be mistaken."""
    cleaner = case.rules.cleaner
    if settings_differ(case):
        return of.BY_OTHER_SETTINGS
    high, low = evicted.version, by.version
    if cleaner.strategy == "timestamp":
        return of.BY_MOVED_TIME if cleaner.horizon_rebase == "deltas_kept" else of.BY_LOWER
    if high[:-1] == low[:-1]:
        return of.BY_TIE
    if cleaner.strategy != "header":
        return of.BY_LOWER
    name = case.rules.topic.strategy_header or DEFAULT_HEADER
    first, second = (
        [raw for header, raw in each.record.headers if header == name] for each in (evicted, by)
    )
    if not first or not second:
        return of.BY_NO_VERSION
    if len(first) > 1 or len(second) > 1:
        return of.BY_OTHER_HEADER
    if len(first[0]) != len(second[0]):
        return of.BY_OTHER_LENGTH
    return of.BY_NEGATIVE if low[1] < 0 else of.BY_LOWER


def settings_differ(case: Case) -> bool:
    """Whether settings of some broker were, or became, others than it started with."""
    changed = case.past.all(trace.ConfigChanged)
    return any(case.past.event(one).replica in case.past.steps for one in changed)


def _other_settings(case: Case, replica: str) -> str:
    """That the settings of a replica changed during the run, and to what."""
    found = []
    for position in case.past.all(trace.ConfigChanged, replica=replica):
        settings = case.past.event(position).settings
        values = ", ".join(f"{name} {value}" for name, value in settings)
        found.append(f"{values} {case.when(position)}")
    return f"; {replica} got other settings: {listed(found)}" if found else ""


def _moved_timestamp(case: Case, replica: str, winner: int, position: int) -> str:
    """That a delete horizon took the timestamp of the winner with it."""
    base = case.history.written[winner].batch.base_offset
    horizon = case.past.horizon(replica, base, position)
    if horizon is None or case.rules.cleaner.horizon_rebase != "deltas_kept":
        return ""
    return (
        f": its timestamp had moved with the base of its batch to the delete horizon "
        f"{horizon.at_ms:,} ms (horizon_rebase: deltas_kept)"
    )


# A tombstone or a marker was due.


def _expired(case: Case, position: int, removal: trace.Removal) -> Fact:
    """A tombstone or a marker went: its horizon and the clock, or a bound, allowed it."""
    event = case.past.event(position)
    name, rule = event.replica, case.rules.cleaner.tombstone_removal
    known = case.written(removal.uid)
    base = removal.offset if known is None else known.batch.base_offset
    horizon = case.past.horizon(name, base, position)
    what = case.name(removal.uid)
    if removal.reason == "tombstone":
        what = f"the tombstone {what}"
    kind: FactKind = "horizon"
    because = f"at once (tombstone_removal: {rule})" if rule == "immediate" else ""
    if rule in BY_TIME:
        kind, because = _by_time(case, event, base, horizon)
    bound = case.past.last(trace.RemovalBoundMoved, replica=name, before=position)
    below = 0
    if bound is not None:
        moved = case.past.event(bound)
        below = moved.offset if removal.reason == "tombstone" else moved.marker_offset
        because = f"as all below {below} may go, it was told {case.when(bound)}"
        kind = "position"
    elif rule == "leo_gated":
        ends = [f"{each} at {case.past.log_end(each, position)}" for each in _others(case, name)]
        because = f"as every log end offset it knew of was above it (now {listed(ends)})"
        kind = "position"
    text = f"{name} removed {what} {case.when(position)}" + (f" {because}" if because else "")
    needed = still_needed(case, position, removal)
    mechanism = (
        of.COORDINATED if removal.offset < below else _by_rule(case, position, removal, base)
    )
    return Fact(kind, text + (f", while {needed}" if needed else ""), position, (mechanism,))


def _by_rule(case: Case, position: int, removal: trace.Removal, base: int) -> str:
    """Which clock, or none, let a tombstone or a marker go."""
    known = case.written(removal.uid)
    data = known is not None and known.batch.control is None
    if removal.reason == "tombstone" and data and not case.tombstone(removal.uid):
        return of.BY_OTHER_SETTINGS if settings_differ(case) else of.AS_TOMBSTONE
    event, rule = case.past.event(position), case.rules.cleaner.tombstone_removal
    given = case.past.horizon_given(event.replica, base, position)
    stamped = given is not None and isinstance(case.past.event(given.position), trace.Cleaned)
    if given is not None and stamped and rule not in ("immediate", "last_modified"):
        giver, given_at = case.past.event(given.position), case.past.events[given.position][0]
        at = case.past.events[position][0]
        skewed = event.now_ms - at != giver.now_ms - given_at
        early = case.past.timed and skewed and at < given_at + given.at_ms - giver.now_ms
        return of.CLOCK_AHEAD if early else of.HORIZON_PASSED
    if rule == "immediate":
        return of.AT_ONCE
    if rule == "last_modified" or case.rules.cleaner.unstamped_tombstones == "last_modified":
        return of.BY_SEGMENT_AGE
    return of.HORIZON_PASSED if rule.endswith("horizon") else of.AT_ONCE


def _by_time(
    case: Case, event: trace.Cleaned, base: int, horizon: Horizon | None
) -> tuple[FactKind, str]:
    """The clock of a pass against the delete horizon, or the retention where there is none."""
    clock = case.clock(event.replica, event.now_ms)
    if horizon is None:
        retention = case.rules.topic.delete_retention_ms
        return "horizon", f"since by {clock} the retention of {retention:,} ms was over"
    first = case.past.horizon_given(event.replica, base, horizon.position + 1) or horizon
    giver, from_whom, early_ms = case.past.event(first.position), "", 0
    if isinstance(giver, trace.Cleaned):
        by = case.clock(giver.replica, giver.now_ms)
        from_whom = f" (given {case.when(first.position)} by {giver.replica}, {by})"
        skews = case.skews or {}
        # In simulated time this pass is so long before the one that gave it plus the retention.
        apart_ms = skews.get(event.replica, 0) - skews.get(giver.replica, 0)
        early_ms = horizon.at_ms - event.now_ms + apart_ms
    early = f", {early_ms:,} ms before the retention was over" if early_ms > 0 else ""
    why = f"since {clock} had passed its delete horizon {horizon.at_ms:,} ms{from_whom}{early}"
    return "clock" if early_ms > 0 else "horizon", why


# A transaction was taken for aborted.


def _aborted(case: Case, position: int, removal: trace.Removal) -> Fact:
    """Data went since the cleaner took its transaction for aborted."""
    name, known = case.past.event(position).replica, case.written(removal.uid)
    producer = -1 if known is None else known.batch.producer_id
    ends = {
        batch.last_offset: batch.control
        for one in case.past.all(trace.Appended, before=position)
        if (batch := case.past.event(one).batch).control is not None
        and batch.producer_id == producer
    }
    below = [offset for offset in ends if offset < removal.offset]
    above = [offset for offset in ends if offset > removal.offset]
    markers = []
    for offset in (*below[-1:], *above[:1]):
        gone = f", which {name} does not hold any more"
        held = case.past.uid_at(name, offset, position)
        markers.append(f"{ends[offset]} at {offset}{'' if held else gone}")
    seen = f"; the markers next to it: {listed(markers)}" if markers else ""
    text = (
        f"{name} removed {case.name(removal.uid)} {case.when(position)}, taking its "
        f"transaction (producer {producer}) for aborted{seen}"
    )
    needed = still_needed(case, position, removal) if case.tombstone(removal.uid) else ""
    return Fact(
        "marker", text + (f", while {needed}" if needed else ""), position, (of.AS_ABORTED,)
    )


# Who needed it.


def _others(case: Case, name: str) -> list[str]:
    return [other for other in case.past.steps if other != name]


def decided_by(case: Case, uid: int) -> list[int]:
    """The records that a tombstone deletes, or the data that a marker decides."""
    deciding, written = case.history.written[uid], case.history.written
    if deciding.key is not None:
        values = [each for each in case.uids_of(deciding.key) if not case.tombstone(each)]
        return [each for each in values if case.beats(uid, each)]
    batch = deciding.batch
    ends = [
        written[each].offset
        for each in case.past.controls
        if written[each].batch.producer_id == batch.producer_id
        and case.past.committed_at(written[each].offset) == each
    ]
    begins = max((offset for offset in ends if offset < deciding.offset), default=-1)
    return [
        each
        for each, known in written.items()
        if known.batch.producer_id == batch.producer_id
        and known.batch.transactional
        and known.batch.control is None
        and begins < known.offset < deciding.offset
    ]


def holders(case: Case, position: int, removal: trace.Removal) -> dict[str, list[int]]:
    """Who ended at or below a tombstone or marker as it went, and held what it decides."""
    remover, past = case.past.event(position).replica, case.past
    if case.written(removal.uid) is None:
        return {}
    decided = decided_by(case, removal.uid)
    found = {}
    for replica in _others(case, remover):
        held = [
            uid
            for uid in decided
            if past.uid_at(replica, case.history.written[uid].offset, position) == uid
        ]
        if held and past.log_end(replica, position) <= removal.offset:
            found[replica] = held
    return found


def still_needed(case: Case, position: int, removal: trace.Removal) -> str:
    """Who held, or was given later, a record that only the removed one takes away."""
    return "; ".join(
        f"{replica}, log end offset {case.past.log_end(replica, position)}"
        f"{case.fault(replica, position)}, still held {case.names(held[-NAMED:])}"
        for replica, held in holders(case, position, removal).items()
    )


def why_needed(case: Case, replica: str, offset: int, uid: int, removed_at: int) -> str:
    """Why a replica still needed, when it went, what stood at an offset."""
    became = case.past.fate(replica, offset, uid, removed_at).became
    if became is Became.CUT:
        return of.HOLDER_CUT
    if became is Became.CRASHED:
        return of.TAIL_LOST
    return of.HOLDER_NEW if _is_new(case, replica, removed_at) else of.HOLDER_BEHIND


def _is_new(case: Case, replica: str, before: int) -> bool:
    """Whether a replica was added, or lost its disk, after others had begun."""
    for step in case.past.steps_before(replica, before):
        if isinstance(step.event, trace.ReplicaWiped):
            return True
        if isinstance(step.event, trace.ReplicaAdded):
            return any(
                other[0].position != step.position
                and len(other) > 1
                and other[1].position < step.position
                for other in case.past.steps.values()
            )
    return False


def ends_transaction(control: Control | None) -> bool:
    """Whether a batch is a marker that ends a transaction."""
    return control is Control.COMMIT or control is Control.ABORT
