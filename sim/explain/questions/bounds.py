"""What decided where cleaning, snapshots or log starts are not within their bounds."""

from __future__ import annotations

from sim import trace
from sim.explain import lost
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, Facts, as_context


def compaction_bound(case: Case) -> Facts:
    """A pass went above the high watermark."""
    offset = case.violation.offset
    facts = [] if offset is None else lost.lacks(case, case.shown_by.replica, offset)
    return [*as_context(facts), case.fact("went up", case.judged, of.BY_UNCOMMITTED)]


def lag(case: Case) -> Facts:
    """A log was cleaned later than promised, or a metric says otherwise."""
    event = case.shown_by
    if not isinstance(event, trace.CleanerLooked):
        return []
    due = "due" if event.eligible else "not due"
    facts = [case.fact("looked", case.judged, due=due)]
    offset = case.violation.offset
    uid = 0 if offset is None else case.uid_at(event.replica, offset)
    known = case.written(uid)
    if known is not None:
        at, timestamp_ms = case.appended_at.get(uid), known.record.timestamp_ms
        facts.append(case.fact("timestamp", at, uid=uid, timestamp_ms=timestamp_ms))
    return facts


def snapshot_bound(case: Case) -> Facts:
    """A snapshot was taken above the high watermark."""
    return [case.fact("snapshot above", case.judged)]


def snapshot_content(case: Case) -> Facts:
    """A snapshot says something else of a key than committed history."""
    key, end = case.key, case.violation.offset
    taken = case.all(trace.SnapshotTaken)
    at = next((one for one in reversed(taken) if end in (case.event(one).end_offset, None)), None)
    if at is None:
        missing = case.fact("snapshot missing", None, name=case.replica)
        return [missing] if case.replica else []
    event = case.event(at)
    held = [record.uid for record in event.records if record.key == key]
    facts = [case.fact("snapshot has", at, held=held, key=key)]
    winner = case.history.winners.get(key, 0)
    known = case.written(winner)
    if known is None or known.offset >= event.end_offset or winner in held:
        return facts
    return [*lost.lacks(case, event.replica, known.offset, winner, at), *facts]


def prefix(case: Case) -> Facts:
    """A log start moved without a snapshot that covers it, or above what is committed."""
    kinds = (trace.PrefixDeleted, trace.LogStartMoved, trace.LogStartedAfresh)
    start = case.last(*kinds, replica=case.replica)
    facts = [] if start is None else [_moved_start(case, start)]
    if start != case.judged:
        kind = "loss" if isinstance(case.shown_by, trace.ReplicaWiped) else "snapshot"
        facts.append(case.fact("event", case.judged, kind=kind))
    return facts


def _moved_start(case: Case, position: int) -> Fact:
    event = case.event(position)
    if isinstance(event, trace.LogStartedAfresh):
        return case.fact("event", position)
    moved = isinstance(event, trace.LogStartMoved)
    cause = f"{event.cause}{case.by_clock(position)}" if moved else None
    return case.fact("moved start", position, cause=cause)


def installed(case: Case) -> Facts:
    """A follower emptied or replaced its log by a snapshot at a wrong time."""
    event = case.shown_by
    if not isinstance(event, trace.SnapshotInstalled | trace.LogEmptied):
        return []
    taken = case.last(trace.SnapshotTaken, end_offset=event.end_offset, epoch=event.epoch)
    led = case.last(trace.LeaderElected, replica=event.replica)
    facts = [] if taken is None else [case.fact("taken", taken)]
    facts += [] if led is None else [case.fact("leads", led, at=led)]
    return [*facts, case.fact(type(event).__name__, case.judged, kind="position")]


def fetching(case: Case) -> Facts:
    """A snapshot's download did not get on."""
    dropped = case.all(trace.SnapshotFetchDropped, replica=case.replica)
    if dropped:
        return [_dropped(case, position) for position in (dropped[-1], *dropped[:-1])]
    last = case.last(trace.SnapshotChunkFetched, replica=case.replica)
    return [] if last is None else [case.fact("event", last, kind="snapshot")]


def _dropped(case: Case, position: int) -> Fact:
    """That a fetch was given up, and who had deleted what it fetched."""
    event = case.event(position)
    which = {"end_offset": event.end_offset, "epoch": event.epoch}
    gone = case.last(trace.SnapshotDeleted, before=position, **which)
    if gone is None:
        return case.fact("gave up", position)
    return case.fact("gave up", position, deleter=case.event(gone).replica, deleted=case.when(gone))


_FETCHING = (
    trace.SnapshotChunkFetched,
    trace.SnapshotFetched,
    trace.SnapshotFetchDropped,
    trace.SnapshotInstalled,
)


def sent_twice(case: Case) -> Facts:
    """A replica was sent what it had."""
    judged, event = case.judged, case.shown_by
    if isinstance(event, trace.Copied):
        size = sum(batch.size_bytes for batch in event.batches)
        return [case.fact("sent twice", judged, size=size)]
    before = case.last(*_FETCHING, replica=event.replica, before=judged)
    facts = [] if before is None else [case.fact("event", before, kind="snapshot")]
    return [*facts, case.fact("event then", judged)]
