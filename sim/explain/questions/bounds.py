"""What decided where cleaning, snapshots or log starts are not within their bounds."""

from __future__ import annotations

from sim import trace
from sim.explain import mechanisms as of
from sim.explain.case import Case, Fact, FactKind, Facts, as_context
from sim.explain.lost import Why
from sim.trace.sentences import describe


def compaction_bound(case: Case, why: Why) -> Facts:
    """A pass went above the high watermark."""
    event, offset = case.shown_by, case.violation.offset
    facts = [] if offset is None else why.lacks(event.replica, offset)
    text = (
        f"the pass of {event.replica} went up to {event.upper_bound} with high watermark "
        f"{event.high_watermark} (cleaner_bound: {case.rules.cleaner.cleaner_bound})"
    )
    own = Fact("position", text, case.judged, (of.BY_UNCOMMITTED,))
    return [*as_context(facts), own]


def lag(case: Case, _: Why) -> Facts:
    """A log was cleaned later than promised, or a metric says otherwise."""
    event = case.shown_by
    if not isinstance(event, trace.CleanerLooked):
        return []
    text = (
        f"{event.replica} looked {case.when(case.judged)}, "
        f"{case.clock(event.replica, event.now_ms)}: dirty from {event.first_dirty_offset}, last "
        f"stable offset {event.stable_offset}, {'due' if event.eligible else 'not due'} up to "
        f"{event.upper_bound}, {event.delay_ms:,} ms overdue, metric {event.metric_secs} s, "
        f"max.compaction.lag.ms {event.max_lag_ms:,}, message.timestamp.difference.max.ms "
        f"{event.difference_max_ms}"
    )
    facts = [Fact("clock", text, case.judged)]
    offset = case.violation.offset
    uid = 0 if offset is None else case.past.uid_at(event.replica, offset)
    known = case.written(uid)
    if known is not None:
        text = f"{case.name(uid)} has timestamp {known.record.timestamp_ms:,} ms"
        facts.append(Fact("timestamp", text, case.past.appended_at.get(uid)))
    return facts


def snapshot_bound(case: Case, _: Why) -> Facts:
    """A snapshot was taken above the high watermark."""
    return [_taken(case, case.judged, "")]


def _taken(case: Case, position: int, more: str) -> Fact:
    """That a snapshot was taken, with what its replica knew."""
    event, past = case.past.event(position), case.past
    name = event.replica
    text = (
        f"{name} took snapshot ({event.end_offset}, {event.epoch}) {case.when(position)} with high "
        f"watermark {past.high_watermark(name, position)} and log end offset "
        f"{past.log_end(name, position)}{more}"
    )
    return Fact("snapshot" if more else "position", text, position)


def snapshot_content(case: Case, why: Why) -> Facts:
    """A snapshot says something else of a key than committed history."""
    past, key, end = case.past, case.violation.key, case.violation.offset
    for position in reversed(past.all(trace.SnapshotTaken)):
        event = past.event(position)
        if end not in (event.end_offset, None):
            continue
        held = [record.uid for record in event.records if record.key == key]
        fact = _taken(case, position, f"; it has {case.names(held) or 'nothing'} for {key}")
        winner = case.history.winners.get(key or "", 0)
        offset = case.history.written[winner].offset if winner else event.end_offset
        if offset < event.end_offset and winner not in held:
            return [*why.lacks(event.replica, offset, winner, before=position), fact]
        return [fact]
    text = f"{case.violation.replica} has no snapshot there"
    return [Fact("snapshot", text, None)] if case.violation.replica else []


def prefix(case: Case, _: Why) -> Facts:
    """A log start moved without a snapshot that covers it, or above what is committed."""
    past, judged, replica = case.past, case.judged, case.violation.replica or ""
    kinds = (trace.PrefixDeleted, trace.LogStartMoved, trace.LogStartedAfresh)
    start = past.last(*kinds, replica=replica)
    facts: Facts = []
    if start is not None:
        facts.append(_moved_start(case, start))
    if start != judged:
        kind: FactKind = "loss" if isinstance(case.shown_by, trace.ReplicaWiped) else "snapshot"
        facts.append(Fact(kind, describe(case.shown_by), judged))
    return facts


def _moved_start(case: Case, position: int) -> Fact:
    event = case.past.event(position)
    if isinstance(event, trace.LogStartedAfresh):
        return Fact("position", describe(event), position)
    moved = isinstance(event, trace.LogStartMoved)
    cause = f" ({event.cause}{case.by_clock(position)})" if moved else ""
    newest = case.past.newest_snapshot(event.replica, position) or "none"
    text = (
        f"{event.replica} moved its log start to {event.log_start_offset}{cause} "
        f"{case.when(position)}, high watermark {event.high_watermark}, newest snapshot {newest}"
    )
    return Fact("position", text, position)


def installed(case: Case, _: Why) -> Facts:
    """A follower emptied or replaced its log by a snapshot at a wrong time."""
    past, judged, event = case.past, case.judged, case.shown_by
    if not isinstance(event, trace.SnapshotInstalled | trace.LogEmptied):
        return []
    facts: Facts = []
    name, snapshot = event.replica, f"({event.end_offset}, {event.epoch})"
    taken = past.last(trace.SnapshotTaken, end_offset=event.end_offset, epoch=event.epoch)
    if taken is not None:
        text = f"{past.event(taken).replica} took snapshot {snapshot} {case.when(taken)}"
        facts.append(Fact("snapshot", text, taken))
    led = past.last(trace.LeaderElected, replica=name)
    if led is not None:
        text = f"{name} leads epoch {past.event(led).epoch} since {case.when(led)}"
        facts.append(Fact("epoch", text.replace("since at", "since"), led))
    does = "emptied its log for" if isinstance(event, trace.LogEmptied) else "installed"
    text = (
        f"{name} {does} snapshot {snapshot} {case.when(judged)}, when its log ended at "
        f"{event.log_end_offset} and its high watermark was {event.high_watermark}"
    )
    return [*facts, Fact("position", text, judged)]


_FETCHING = (
    trace.SnapshotChunkFetched,
    trace.SnapshotFetched,
    trace.SnapshotFetchDropped,
    trace.SnapshotInstalled,
)


def fetching(case: Case, _: Why) -> Facts:
    """A snapshot's download did not get on."""
    past, replica = case.past, case.violation.replica or ""
    dropped = [
        Fact("snapshot", _dropped(case, position), position)
        for position in past.all(trace.SnapshotFetchDropped, replica=replica)
    ]
    if dropped:
        return [dropped[-1], *dropped[:-1]]
    last = past.last(trace.SnapshotChunkFetched, replica=replica)
    return [] if last is None else [Fact("snapshot", describe(past.event(last)), last)]


def _dropped(case: Case, position: int) -> str:
    """That a fetch was given up, and who had deleted what it fetched."""
    past, event = case.past, case.past.event(position)
    gone = past.last(
        trace.SnapshotDeleted, end_offset=event.end_offset, epoch=event.epoch, before=position
    )
    deleted = ""
    if gone is not None:
        deleted = f", which {past.event(gone).replica} had deleted {case.when(gone)}"
    return (
        f"{event.replica} gave up snapshot ({event.end_offset}, {event.epoch}) "
        f"{case.when(position)}: {event.reason}{deleted}"
    )


def sent_twice(case: Case, _: Why) -> Facts:
    """A replica was sent what it had."""
    judged, event = case.judged, case.shown_by
    if isinstance(event, trace.Copied):
        text = (
            f"{event.replica}, which had all below {event.fetch_offset}, copied "
            f"{sum(batch.size_bytes for batch in event.batches):,} bytes from {event.leader} "
            f"{case.when(judged)}, a snapshot in the log among them (snapshot_placement: "
            f"{case.rules.snapshots.snapshot_placement})"
        )
        return [Fact("snapshot", text, judged)]
    before = case.past.last(*_FETCHING, replica=event.replica, before=judged)
    own = Fact("position", f"{describe(event)} {case.when(judged)}", judged)
    if before is None:
        return [own]
    return [Fact("snapshot", describe(case.past.event(before)), before), own]


def fallback(case: Case, why: Why) -> Facts:
    """Whatever removal, cut, loss or election came last."""
    offset, replica = case.violation.offset, case.violation.replica
    facts: Facts = []
    if offset is not None:
        for name in [replica] if replica is not None else list(case.past.steps):
            if not case.past.uid_at(name, offset):
                facts += why.lacks(name, offset)
    if facts:
        return facts
    text = f"{describe(case.shown_by)} {case.when(case.judged)}"
    return [Fact("write", text, case.judged)]
