"""What decided where cleaning, snapshots or log starts are not within their bounds."""

from __future__ import annotations

from sim.diagnose.explain import lost, told
from sim.diagnose.explain import mechanisms as of
from sim.diagnose.explain.case import Case, Fact, Facts, as_context
from sim.protocol.events import (
    Copied,
    LeaderElected,
    LogStartedAfresh,
    LogStartMoved,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotTaken,
)
from sim.protocol.events.sentences import describe


def compaction_bound(case: Case, offset: int) -> Facts:
    """A pass went above the high watermark."""
    event = case.shown_by
    text = f"the pass of {event.replica} went up to {event.upper_bound} with high watermark "
    text += f"{event.high_watermark} {case.by_rules('cleaner_bound')}"
    facts = as_context(lost.lacks(case, event.replica, offset))
    return [*facts, Fact("position", text, case.judged, (of.BY_UNCOMMITTED,))]


def lag(case: Case) -> Facts:
    """A log was cleaned later than promised, or a metric says otherwise."""
    event = case.shown_by
    clock, due = case.clock(event.replica, event.now_ms), "due" if event.eligible else "not due"
    facts = [
        Fact(
            "clock",
            f"{event.replica} looked {case.when(case.judged)}, {clock}: dirty from "
            f"{event.first_dirty_offset}, last stable offset {event.stable_offset}, {due} up to "
            f"{event.upper_bound}, {event.delay_ms:,} ms overdue, metric {event.metric_secs} s, "
            f"max.compaction.lag.ms {event.max_lag_ms:,}, message.timestamp.difference.max.ms "
            f"{event.difference_max_ms}",
            case.judged,
        )
    ]
    offset = case.violation.offset
    uid = 0 if offset is None else case.uid_at(event.replica, offset)
    known = case.written(uid)
    if known is not None:
        text = f"{case.name(uid)} has timestamp {known.record.timestamp_ms:,} ms"
        facts.append(Fact("timestamp", text, case.appended_at.get(uid)))
    return facts


def snapshot_bound(case: Case) -> Facts:
    """A snapshot was taken above the high watermark."""
    return [Fact("position", _taken(case, case.judged), case.judged)]


def _taken(case: Case, at: int) -> str:
    """Who took a snapshot, and what was committed there."""
    name, end, epoch, _ = case.event(at)
    mark, log_end = case.high_watermark(name, at), case.log_end(name, at)
    what = f"{name} took snapshot ({end}, {epoch}) {case.when(at)}"
    return f"{what} with high watermark {mark} and log end offset {log_end}"


def snapshot_content(case: Case, offset: int) -> Facts:
    """A snapshot says something else of a key than committed history."""
    key, at = case.key, case.last(SnapshotTaken, end_offset=offset)
    if at is None:
        return []
    event = case.event(at)
    held = [record.uid for record in event.records if record.key == key]
    has = f"{_taken(case, at)}; it has {case.names(held) or 'nothing'} for {key}"
    facts = [Fact("snapshot", has, at)]
    winner = case.history.winners.get(key, 0)
    known = case.written(winner)
    if known is None or known.offset >= event.end_offset or winner in held:
        return facts
    return [*lost.lacks(case, event.replica, known.offset, winner, at), *facts]


def prefix(case: Case) -> Facts:
    """A log start moved without a snapshot that covers it, or above what is committed."""
    start = case.last(*told.STARTS, replica=case.replica)
    facts = [] if start is None else [_moved_start(case, start)]
    if start != case.judged:
        kind = "loss" if isinstance(case.shown_by, ReplicaWiped) else "snapshot"
        facts.append(Fact(kind, describe(case.shown_by), case.judged))
    return facts


def _moved_start(case: Case, position: int) -> Fact:
    event = case.event(position)
    if isinstance(event, LogStartedAfresh):
        return Fact("position", describe(event), position)
    moved = isinstance(event, LogStartMoved)
    cause = f" ({event.cause}{case.by_clock(position)})" if moved else ""
    newest = case.newest_snapshot(event.replica, position) or "none"
    text = f"{event.replica} moved its log start to {event.log_start_offset}{cause} "
    text += f"{case.when(position)}, high watermark {event.high_watermark}, newest snapshot "
    return Fact("position", f"{text}{newest}", position)


def installed(case: Case) -> Facts:
    """A follower emptied or replaced its log by a snapshot at a wrong time."""
    event = case.shown_by
    taken = case.last(SnapshotTaken, end_offset=event.end_offset, epoch=event.epoch)
    led = case.last(LeaderElected, replica=event.replica)
    facts = []
    if taken is not None:
        text = f"{case.event(taken).replica} took snapshot ({event.end_offset}, {event.epoch}) "
        facts.append(Fact("snapshot", text + case.when(taken), taken))
    if led is not None:
        text = f"{event.replica} leads epoch {case.event(led).epoch} since {case.time(led)}"
        facts.append(Fact("epoch", text, led))
    return [*facts, told.lost_at(case, case.judged)._replace(kind="position")]


def fetching(case: Case) -> Facts:
    """A snapshot's download did not get on."""
    dropped = case.all(SnapshotFetchDropped, replica=case.replica)
    if dropped:
        return [_dropped(case, position) for position in (dropped[-1], *dropped[:-1])]
    last = case.last(SnapshotChunkFetched, replica=case.replica)
    return [] if last is None else [Fact("snapshot", describe(case.event(last)), last)]


def _dropped(case: Case, position: int) -> Fact:
    """That a fetch was given up, and who had deleted what it fetched."""
    event = case.event(position)
    which = {"end_offset": event.end_offset, "epoch": event.epoch}
    gone = case.last(SnapshotDeleted, before=position, **which)
    text = f"{event.replica} gave up snapshot ({event.end_offset}, {event.epoch}) "
    text += f"{case.when(position)}: {event.reason}"
    if gone is not None:
        text += f", which {case.event(gone).replica} had deleted {case.when(gone)}"
    return Fact("snapshot", text, position)


_FETCHING = (
    SnapshotChunkFetched,
    SnapshotFetched,
    SnapshotFetchDropped,
    SnapshotInstalled,
)


def sent_twice(case: Case) -> Facts:
    """A replica was sent what it had."""
    judged, event = case.judged, case.shown_by
    if isinstance(event, Copied):
        size = sum(batch.size_bytes for batch in event.batches)
        text = f"{event.replica}, which had all below {event.fetch_offset}, copied {size:,} bytes "
        text += f"from {event.leader} {case.when(judged)}, a snapshot in the log among them "
        return [Fact("snapshot", text + case.by_rules("snapshot_placement"), judged)]
    before = case.last(*_FETCHING, replica=event.replica, before=judged)
    facts = [] if before is None else [Fact("snapshot", describe(case.event(before)), before)]
    return [*facts, told.happened(case, judged)]
