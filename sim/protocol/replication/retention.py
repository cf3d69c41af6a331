"""Deletion of old segments: `compact,delete` topics, and what their followers do about it.

Only whole segments from the start of the log go, never beyond the high watermark, and never the
empty active one. Source: UnifiedLog.deleteOldSegments, .deletableSegments;
ReplicaFetcherThread.processPartitionData for the followers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sim.protocol.compaction.eligibility import age_from_ms
from sim.protocol.events import Event, LogStartedAfresh, LogStartMoved
from sim.protocol.log import Log, Segment
from sim.protocol.replication.replica import Replica


class Retention(NamedTuple):
    """How long and how much a topic with `delete` in its `cleanup.policy` keeps.

    Attributes:
        retention_ms: `retention.ms`; None = no bound.
        retention_bytes: `retention.bytes`; None = no bound.
    """

    retention_ms: int | None = None
    retention_bytes: int | None = None


def delete_old_segments(
    replica: Replica, retention: Retention | None, *, now_ms: int
) -> list[Event]:
    """Delete what lies below the log start; with a `retention` also what is too old or too much.

    `now_ms` is the replica's own clock. When everything goes the active segment is rolled first.
    """
    log = replica.log
    delete_below_start(log)
    if retention is None:
        return []
    events: list[Event] = []
    for cause, condition in _conditions(log, retention, now_ms):
        _delete_while(log, condition, now_ms=now_ms)
        begin = log.segments[0].base_offset
        if begin > log.log_start_offset:
            _move_start(replica, begin)
            events.append(LogStartMoved(replica.name, begin, log.high_watermark, cause))
    return events


Condition = Callable[[Segment, int], bool]
"""Whether a segment that ends at an offset (exclusive) may go."""


def _conditions(log: Log, retention: Retention, now_ms: int) -> list[tuple[str, Condition]]:
    found: list[tuple[str, Condition]] = []
    limit_bytes, limit_ms = retention.retention_bytes, retention.retention_ms
    if limit_bytes is not None:
        excess = log.size_bytes - limit_bytes

        def too_much(segment: Segment, _: int) -> bool:
            nonlocal excess
            excess -= segment.size_bytes
            return excess >= 0

        found.append(("retention.bytes", too_much))
    if limit_ms is not None:
        found.append(("retention.ms", lambda segment, _: now_ms - age_from_ms(segment) > limit_ms))
    return found


def delete_below_start(log: Log) -> None:
    """Delete the segments that lie below the log start; the active one never does.

    Source: UnifiedLog.deleteLogStartOffsetBreachedSegments.
    """
    start = log.log_start_offset
    _delete_while(log, lambda segment, end: end <= start and segment is not log.active, now_ms=0)


def _delete_while(log: Log, condition: Condition, *, now_ms: int) -> None:
    """Delete whole segments from the start while `condition` holds, below the high watermark."""
    count = 0
    segments = log.segments
    for index, segment in enumerate(segments):
        last = index + 1 == len(segments)
        end = log.log_end_offset if last else segments[index + 1].base_offset
        if log.high_watermark < end or (last and not segment.batches):
            break
        if not condition(segment, end):
            break
        count += 1
    if count == len(segments):
        log.roll(now_ms=now_ms)
    log.snapshots.forget(segment.base_offset for segment in log.segments[:count])
    del log.segments[:count]


def _move_start(replica: Replica, offset: int) -> None:
    replica.log.log_start_offset = offset
    replica.first_dirty_offset = max(replica.first_dirty_offset, offset)


def take_log_start(replica: Replica, offset: int) -> list[Event]:
    """A follower takes over the leader's log start, as far as its own high watermark allows."""
    log = replica.log
    if offset <= log.log_start_offset or offset > log.high_watermark:
        return []
    _move_start(replica, offset)
    return [LogStartMoved(replica.name, offset, log.high_watermark, "the leader's log start")]


def start_afresh(replica: Replica, offset: int) -> list[Event]:
    """A follower whose log ends below the leader's log start begins anew there.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate, truncateFullyAndStartAt.
    """
    log = replica.log
    before = (log.log_end_offset, log.high_watermark)
    log.reset_to(offset)
    replica.first_dirty_offset = replica.cleanly_compacted_offset = offset
    replica.last_cleaning = None
    return [LogStartedAfresh(replica.name, offset, *before)]
