"""Why a cleaner removed a record: what it compared, and who needed the record still."""

from __future__ import annotations

from sim.explain.case import Case, Fact, FactKind, listed
from sim.log.record import Batch
from sim.trace import (
    Appended,
    Cleaned,
    ConfigChanged,
    Copied,
    Event,
    Pushed,
    Removal,
    RemovalBoundMoved,
)

NAMED = 4
"""Of the records that somebody still held so many are named: the last ones."""

BY_TIME = ("horizon", "record_horizon", "last_modified", "cleaning_checkpoint")
"""Values of `tombstone_removal` that compare a clock with a time."""


def removed(case: Case, position: int, event: Cleaned, removal: Removal) -> list[Fact]:
    """The facts by which a pass removed a record, the deciding one first."""
    if removal.reason == "superseded" and removal.winner_offset is not None:
        return [_superseded(case, position, event, removal, removal.winner_offset)]
    if removal.reason in ("tombstone", "marker"):
        return [_expired(case, position, event, removal)]
    if removal.reason == "aborted":
        return [_aborted(case, position, event, removal)]
    span = f"[{event.first_dirty_offset}, {event.upper_bound})"
    text = (
        f"{event.replica} removed {case.name(removal.uid)} {case.when(position)} "
        f"({removal.reason}) in its pass over {span}"
    )
    return [Fact("order", text, position)]


def _superseded(
    case: Case, position: int, event: Cleaned, removal: Removal, winner_offset: int
) -> Fact:
    """A newer record of the key won, as the cleaner compares them."""
    winner = case.uid_at(event.replica, winner_offset, before=position)
    text = (
        f"{event.replica} removed {case.name(removal.uid)} {case.when(position)}, beaten by "
        f"{case.name(winner) if winner else f'the record at {winner_offset}'}"
    )
    if winner and removal.key is not None and not case.beats(winner, removal.uid):
        text += ", which does not beat it by what the topic promises"
        text += _moved_timestamp(case, event.replica, winner, position)
        text += _other_settings(case, event.replica)
    if removal.key is None:
        text += f", as one key to the cleaner (marker_lookup: {case.rules.cleaner.marker_lookup})"
    if case.tombstone(removal.uid):
        needed = still_needed(case, position, event.replica, removal)
        text += f", while {needed}" if needed else ""
    kind: FactKind = case.order_kind()
    if winner_offset >= event.high_watermark:
        text += f", which was not committed: high watermark {event.high_watermark}"
        kind = "position"
    elif event.protected_offset is None and removal.offset == event.log_end_offset - 1:
        text += ", and nothing of its offset stayed" * (removal.offset not in event.emptied)
    return Fact(kind, text, position)


def _other_settings(case: Case, replica: str) -> str:
    """That the settings of a replica changed during the run, and to what."""
    found = []
    for at, (_, event) in enumerate(case.events[: case.cone.judged + 1]):
        if isinstance(event, ConfigChanged) and event.replica == replica:
            values = ", ".join(f"{name} {value}" for name, value in event.settings)
            found.append(f"{values} {case.when(at)}")
    return f"; {replica} got other settings: {listed(found)}" if found else ""


def _moved_timestamp(case: Case, replica: str, winner: int, position: int) -> str:
    """That a delete horizon took the timestamp of the winner with it."""
    horizon = horizon_of(case, replica, case.known.batches[winner], position)
    if horizon is None or case.rules.cleaner.horizon_rebase != "deltas_kept":
        return ""
    return (
        f": its timestamp had moved with the base of its batch to the delete horizon "
        f"{horizon[0]:,} ms (horizon_rebase: deltas_kept)"
    )


def _expired(case: Case, position: int, event: Cleaned, removal: Removal) -> Fact:
    """A tombstone or a marker went: its horizon and the clock, or a bound, allowed it."""
    name, rule = event.replica, case.rules.cleaner.tombstone_removal
    batch = case.known.batches.get(removal.uid)
    what = case.name(removal.uid)
    if removal.reason == "tombstone":
        what = f"the tombstone {what}"
    kind: FactKind = "horizon"
    because = f"at once (tombstone_removal: {rule})" if rule == "immediate" else ""
    horizon = None if batch is None else horizon_of(case, name, batch, position)
    if rule in BY_TIME:
        kind, because = _by_time(case, event, batch, horizon)
    bound = case.known.last("bound", name, before=position)
    if bound is not None:
        moved = case.event(bound)
        assert isinstance(moved, RemovalBoundMoved)
        below = moved.offset if removal.reason == "tombstone" else moved.marker_offset
        because = f"as all below {below} may go, it was told {case.when(bound)}"
        kind = "position"
    elif rule == "leo_gated":
        ends = [
            f"{other} at {case.end_of(other, before=position)}" for other in _others(case, name)
        ]
        because = f"as every log end offset it knew of was above it (now {listed(ends)})"
        kind = "position"
    text = f"{name} removed {what} {case.when(position)}" + (f" {because}" if because else "")
    needed = still_needed(case, position, name, removal)
    return Fact(kind, text + (f", while {needed}" if needed else ""), position)


def _others(case: Case, name: str) -> list[str]:
    return [other for other in case.known.replicas if other != name]


def _by_time(
    case: Case, event: Cleaned, batch: Batch | None, horizon: tuple[int, int] | None
) -> tuple[FactKind, str]:
    """The clock of a pass against the delete horizon, or the retention where there is none."""
    clock = case.clock(event.replica, event.now_ms)
    if horizon is None or batch is None:
        retention = case.rules.topic.delete_retention_ms
        return "horizon", f"since by {clock} the retention of {retention:,} ms was over"
    at_ms, given = horizon
    giver, source = given_by(case, batch.base_offset, given)
    from_whom = ""
    early_ms = 0
    if isinstance(giver, Cleaned):
        by = case.clock(giver.replica, giver.now_ms)
        from_whom = f" (given {case.when(source)} by {giver.replica}, {by})"
        skews = case.skews or {}
        # In simulated time this pass is so long before the one that gave it plus the retention.
        apart_ms = skews.get(event.replica, 0) - skews.get(giver.replica, 0)
        early_ms = at_ms - event.now_ms + apart_ms
    kind: FactKind = "clock" if early_ms > 0 else "horizon"
    early = f", {early_ms:,} ms before the retention was over" if early_ms > 0 else ""
    return kind, f"since {clock} had passed its delete horizon {at_ms:,} ms{from_whom}{early}"


def given_by(case: Case, base_offset: int, given: int) -> tuple[Event, int]:
    """The event that gave a horizon first, where it was copied with its batch, and its position."""
    event = case.event(given)
    while isinstance(event, Copied):
        earlier = case.known.last("horizon", event.leader, str(base_offset), before=given)
        if earlier is None:
            break
        given, event = earlier, case.event(earlier)
    return event, given


def horizon_of(case: Case, replica: str, batch: Batch, before: int) -> tuple[int, int] | None:
    """The delete horizon of a batch on a replica in ms, and the position of what gave it."""
    position = case.known.last("horizon", replica, str(batch.base_offset), before=before)
    if position is None:
        return None
    event = case.event(position)
    match event:
        case Cleaned():
            found = dict(event.horizons).get(batch.base_offset)
        case Copied(_, _, _, batches, _):
            found = next(
                (b.delete_horizon_ms for b in batches if b.base_offset == batch.base_offset), None
            )
        case Appended(_, one) | Pushed(_, _, one):
            found = one.delete_horizon_ms
        case _:
            found = None
    return None if found is None else (found, position)


def still_needed(case: Case, position: int, remover: str, removal: Removal) -> str:
    """Who held, or was given later, a record that only the removed one takes away."""
    if removal.reason == "marker" or removal.key is None:
        return _still_undecided(case, position, remover, removal)
    found = []
    for replica in _others(case, remover):
        end = case.end_of(replica, before=position)
        held = [
            uid
            for uid in case.uids_of(removal.key)
            if case.uid_at(replica, case.known.records[uid].offset, before=position) == uid
            and not case.tombstone(uid)
            and case.beats(removal.uid, uid)
        ]
        if end <= removal.offset and held:
            fault = case.fault_of(replica, position)
            names = case.names(held[-NAMED:])
            found.append(f"{replica}, log end offset {end}{fault}, still held {names}")
    return "; ".join(found)


def _still_undecided(case: Case, position: int, remover: str, removal: Removal) -> str:
    """Who held data of the transaction that a removed marker ends."""
    batch, known = case.known.batches.get(removal.uid), case.known
    if batch is None:
        return ""
    ended = [
        written.batch.last_offset
        for one in known.all("marker", str(batch.producer_id), before=position)
        if isinstance(written := case.event(one), Appended)
    ]
    begins = max((offset for offset in ended if offset < removal.offset), default=-1)
    data = [
        uid
        for uid, other in known.batches.items()
        if other.producer_id == batch.producer_id
        and other.control is None
        and begins < known.records[uid].offset < removal.offset
    ]
    found = []
    for replica in _others(case, remover):
        end = case.end_of(replica, before=position)
        held = [
            u for u in data if case.uid_at(replica, known.records[u].offset, before=position) == u
        ]
        if end <= removal.offset and held:
            fault = case.fault_of(replica, position)
            names = case.names(held[-NAMED:])
            found.append(f"{replica}, log end offset {end}{fault}, still held {names}")
    return "; ".join(found)


def _aborted(case: Case, position: int, event: Cleaned, removal: Removal) -> Fact:
    """Data went since the cleaner took its transaction for aborted."""
    batch = case.known.batches.get(removal.uid)
    producer = -1 if batch is None else batch.producer_id
    ends = {}
    for one in case.known.all("marker", str(producer), before=position):
        written = case.event(one)
        if isinstance(written, Appended):
            ends[written.batch.last_offset] = written.batch.control
    below = [offset for offset in ends if offset < removal.offset]
    above = [offset for offset in ends if offset > removal.offset]
    markers = []
    for offset in (*below[-1:], *above[:1]):
        held = case.uid_at(event.replica, offset, before=position)
        gone = "" if held else f", which {event.replica} does not hold any more"
        markers.append(f"{ends[offset]} at {offset}{gone}")
    seen = f"; the markers next to it: {listed(markers)}" if markers else ""
    text = (
        f"{event.replica} removed {case.name(removal.uid)} {case.when(position)}, taking its "
        f"transaction (producer {producer}) for aborted{seen}"
    )
    needed = (
        still_needed(case, position, event.replica, removal) if case.tombstone(removal.uid) else ""
    )
    text += f", while {needed}" if needed else ""
    return Fact("marker", text, position)
