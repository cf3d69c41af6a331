"""Explains why a cleaner removed a record: what it compared, and which replicas needed it."""

from __future__ import annotations

from typing import Any, Final

from sim.check.facts import Written
from sim.check.promise import DEFAULT_HEADER
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, Fact, FactKind, listed
from sim.diagnose.explain.past import Became, Horizon
from sim.protocol import events as on
from sim.protocol.events import Removal
from sim.protocol.log.record import Control

NAMED: Final = 4
"""How many of the last records that a replica still held are named."""

BY_TIME: Final = ("horizon", "record_horizon", "last_modified", "cleaning_checkpoint")
"""Values of `tombstone_removal` that compare a clock with a time."""


def removal_at(event: object, offset: int) -> Removal | None:
    """The removal of an offset by a pass; None without one."""
    removals = event.removals if isinstance(event, on.Cleaned) else ()
    return next((each for each in removals if each.offset == offset), None)


def span(event: Any) -> str:
    """The range of offsets that a pass cleaned, such as `[2, 9)`."""
    return f"[{event.first_dirty_offset}, {event.upper_bound})"


def removed(case: Case, position: int, removal: Removal) -> Fact:
    """The fact that a pass removed a record, with its reason."""
    case.lacks_marker(case.known(removal.uid))
    event, what = case.event(position), case.name(removal.uid)
    what = f"the tombstone {what}" if removal.reason == "tombstone" else what
    text = f"{event.replica} removed {what} {case.when(position)}"
    needed = ""
    if case.tombstone(removal.uid) or removal.reason in ("tombstone", "marker"):
        needed = "; ".join(
            f"{replica}, log end offset {case.log_end(replica, position)}"
            f"{case.fault(replica, position)}, still held {case.names(held[-NAMED:])}"
            for replica, held in holders(case, position, removal).items()
        )
    needed = f", while {needed}" if needed else ""
    if removal.reason == "superseded" and removal.winner_offset is not None:
        return _superseded(case, position, removal, removal.winner_offset, text, needed)
    if removal.reason in ("tombstone", "marker"):
        kind, because, how = _expired(case, position, removal)
        return Fact(kind, text + because + needed, position, (how,))
    if removal.reason == "aborted":
        text += _aborted(case, position, removal)
        return Fact("marker", text + needed, position, (of.AS_ABORTED,))
    text += f" ({removal.reason}) in its pass over {span(event)}"
    return Fact("order", text, position, (of.UNMAPPED,))


# Another record won.


def _superseded(
    case: Case, position: int, removal: Removal, winner_offset: int, text: str, needed: str
) -> Fact:
    """The fact that another record of the key won, as the cleaner compares them."""
    event, keyed = case.event(position), removal.key is not None
    winner = case.uid_at(event.replica, winner_offset, position)
    text += f", beaten by {case.name(winner) if winner else f'the record at {winner_offset}'}"
    if winner and keyed and not case.folded.beats(winner, removal.uid):
        text += _unfairly(case, event.replica, winner, position)
    text += "" if keyed else f", as one key to the cleaner {case.by_rules('marker_lookup')}"
    text += needed
    last = event.protected_offset is None and removal.offset == event.log_end_offset - 1
    uncommitted = winner_offset >= event.high_watermark
    if uncommitted:
        text += f", which was not committed: high watermark {event.high_watermark} "
        text += case.by_rules("cleaner_bound")
    elif last and removal.offset not in event.emptied:
        text += ", and nothing of its offset stayed"
    evicted = case.known(removal.uid)
    by = case.known(case.last_written(event.replica, winner_offset, position))
    how = of.SUPERSEDED
    if evicted is not None and evicted.batch.control is not None:
        how = of.EVICTED
    elif evicted is not None and by is not None:
        if by.version < evicted.version:
            how = _how_lower(case, evicted, by)
        elif uncommitted:
            how = of.BY_UNCOMMITTED
        elif (marker := case.next_marker(by)) and by.batch.transactional:
            how = of.AS_ABORTED if marker.batch.control is Control.ABORT else of.SUPERSEDED
    return Fact("position" if uncommitted else case.order_kind(), text, position, (how,))


def _unfairly(case: Case, replica: str, winner: int, position: int) -> str:
    """Words for a winner that does not win by the strategy that the topic promises."""
    text = ", which does not beat it by what the topic promises"
    horizons = case.horizons(replica, case.written[winner].batch.base_offset, position)
    if horizons and case.rules.cleaner.horizon_rebase == "deltas_kept":
        text += ": its timestamp had moved with the base of its batch to the delete horizon "
        text += f"{horizons[-1].at_ms:,} ms {case.by_rules('horizon_rebase')}"
    settings = [
        f"{', '.join(f'{name} {value}' for name, value in case.event(at).settings)} {case.when(at)}"
        for at in case.all(on.ConfigChanged, replica=replica)
    ]
    return text + (f"; {replica} got other settings: {listed(settings)}" if settings else "")


def _how_lower(case: Case, evicted: Written, by: Written) -> str:
    """The mechanism by which a lower version could evict a higher one."""
    cleaner = case.rules.cleaner
    if _settings_differ(case):
        return of.BY_OTHER_SETTINGS
    if cleaner.strategy == "timestamp":
        return of.BY_MOVED_TIME if cleaner.horizon_rebase == "deltas_kept" else of.BY_LOWER
    if evicted.version[:-1] == by.version[:-1]:
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
    return of.BY_NEGATIVE if by.version[1] < 0 else of.BY_LOWER


def _settings_differ(case: Case) -> bool:
    """Checks that the settings of a broker changed during the run."""
    return any(case.event(one).replica in case.steps for one in case.all(on.ConfigChanged))


# A tombstone or a marker was due, or a transaction counted as aborted.


def _expired(case: Case, position: int, removal: Removal) -> tuple[FactKind, str, str]:
    """Kind, words and mechanism of the removal of a tombstone or a marker.

    Its horizon and a clock, or a bound, allowed it.
    """
    event, rule = case.event(position), case.rules.cleaner.tombstone_removal
    base = case.written[removal.uid].batch.base_offset
    given = case.horizon_given(event.replica, base, position)
    bound = case.last(on.RemovalBoundMoved, replica=event.replica, before=position)
    mechanism = _by_rule(case, position, removal, given)
    if bound is not None:
        data = removal.reason == "tombstone"
        below = case.event(bound).offset if data else case.event(bound).marker_offset
        because = f" by the removal bound {below} that it learned {case.when(bound)}"
        return "position", because, of.COORDINATED if removal.offset < below else mechanism
    if rule == "leo_gated":
        others = (name for name in case.replicas if name != event.replica)
        ends = listed([f"{each} at {case.log_end(each, position)}" for each in others])
        because = f" as every log end offset it knew of was above it (now {ends})"
        return "position", because, mechanism
    if rule in BY_TIME:
        return *_by_time(case, position, given), mechanism
    at_once = " at once (tombstone_removal: immediate)" * (rule == "immediate")
    return "horizon", at_once, mechanism


def _by_rule(case: Case, position: int, removal: Removal, given: Horizon | None) -> str:
    """The mechanism by which the removal rule allowed a tombstone or a marker to be removed."""
    cleaner, rule = case.rules.cleaner, case.rules.cleaner.tombstone_removal
    data = case.written[removal.uid].batch.control is None
    if removal.reason == "tombstone" and data and not case.tombstone(removal.uid):
        return of.BY_OTHER_SETTINGS if _settings_differ(case) else of.AS_TOMBSTONE
    stamped = given is not None and isinstance(case.event(given.position), on.Cleaned)
    if given is not None and stamped and rule not in ("immediate", "last_modified"):
        apart_ms, early_ms = _early(case, position, given)
        return of.CLOCK_AHEAD if apart_ms and early_ms > 0 else of.HORIZON_PASSED
    if rule == "immediate":
        return of.AT_ONCE
    if "last_modified" in (rule, cleaner.unstamped_tombstones):
        return of.BY_SEGMENT_AGE
    return of.HORIZON_PASSED if rule.endswith("horizon") else of.AT_ONCE


def _early(case: Case, position: int, given: Horizon) -> tuple[int, int]:
    """Lead of the clock of a pass, and earliness of the pass, both in ms.

    Both compare with the clock of the replica that set the delete horizon. A pass that was not
    early has 0 or less.
    """
    apart_ms, (at, _) = 0, case.events[position]
    now_ms, given_ms = case.event(position).now_ms, case.event(given.position).now_ms
    if case.last(on.Acknowledged) is not None:  # a timed run; times of a story are steps
        apart_ms = (now_ms - at) - (given_ms - case.events[given.position][0])
    return apart_ms, given.at_ms - now_ms + apart_ms


def _by_time(case: Case, position: int, given: Horizon | None) -> tuple[FactKind, str]:
    """Kind and words: the clock of a pass, with the delete horizon or else the retention."""
    event = case.event(position)
    clock = case.clock(event.replica, event.now_ms)
    if given is None:
        retention = case.rules.topic.delete_retention_ms
        if event.now_ms < retention:  # a story begins with the result of the pass
            return "horizon", " by a pass of which only the result is known"
        return "horizon", f" since by {clock} the retention of {retention:,} ms was over"
    why = f" since {clock} had passed its delete horizon {given.at_ms:,} ms"
    giver = case.event(given.position)
    if not isinstance(giver, on.Cleaned):
        return "horizon", why
    by = case.clock(giver.replica, giver.now_ms)
    why += f" (given {case.when(given.position)} by {giver.replica}, {by})"
    _, early_ms = _early(case, position, given)
    if early_ms <= 0:
        return "horizon", why
    return "clock", f"{why}, {early_ms:,} ms before the retention was over"


def _aborted(case: Case, position: int, removal: Removal) -> str:
    """Words for a transaction that a cleaner took for aborted, with the markers next to it."""
    name, producer = case.event(position).replica, case.written[removal.uid].batch.producer_id
    ends = [one for one in case.markers(producer) if case.appended_at[one.record.uid] < position]
    below = [one for one in ends if one.offset < removal.offset]
    above = [one for one in ends if one.offset > removal.offset]
    markers = []
    for end in (*below[-1:], *above[:1]):
        held = case.uid_at(name, end.offset, position)
        gone = "" if held else f", which {name} does not hold any more"
        markers.append(f"{end.batch.control} at {end.offset}{gone}")
    text = f", taking its transaction (producer {producer}) for aborted"
    return text + (f"; the markers next to it: {listed(markers)}" if markers else "")


# Replicas that needed the removed record.


def _decided_by(case: Case, uid: int) -> list[int]:
    """The uids of the values that a tombstone deletes, or of the data that a marker decides."""
    deciding, written = case.written[uid], case.written
    if deciding.key is not None:
        values = [each for each in case.uids_of(deciding.key) if not case.tombstone(each)]
        return [each for each in values if case.folded.beats(uid, each)]
    producer = deciding.batch.producer_id
    mine = case.markers(producer)
    ends = (one.offset for one in mine if case.committed_at(one.offset) == one.record.uid)
    begins = max((offset for offset in ends if offset < deciding.offset), default=-1)
    return [
        each
        for each, known in written.items()
        if begins < known.offset < deciding.offset
        and known.batch.producer_id == producer
        and known.batch.transactional
        and known.batch.control is None
    ]


def holders(case: Case, position: int, removal: Removal) -> dict[str, list[int]]:
    """Replica whose log ended below a removed record -> uids it held that the record decides."""
    decided, remover = _decided_by(case, removal.uid), case.event(position).replica
    held = {
        replica: case.holding(replica, decided, position)
        for replica in case.replicas
        if replica != remover and case.log_end(replica, position) <= removal.offset
    }
    return {replica: uids for replica, uids in held.items() if uids}


def why_needed(case: Case, replica: str, offset: int, uid: int, removed_at: int) -> str:
    """The mechanism by which a replica still needed the record of an offset when it was removed."""
    became = case.fate(replica, offset, uid, removed_at).became
    if became in (Became.CUT, Became.CRASHED):
        return of.HOLDER_CUT if became is Became.CUT else of.TAIL_LOST
    return of.HOLDER_NEW if _is_new(case, replica, removed_at) else of.HOLDER_BEHIND


def _is_new(case: Case, replica: str, before: int) -> bool:
    """Checks that a replica was wiped, or was added after the log of another had changed."""
    for step in case.steps_before(replica, before):
        if isinstance(step.event, on.ReplicaWiped):
            return True
        if isinstance(step.event, on.ReplicaAdded):
            begun = [steps[1:2] for name, steps in case.steps.items() if name != replica]
            return any(second.position < step.position for each in begun for second in each)
    return False
