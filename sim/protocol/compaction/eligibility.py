"""When a log is cleaned, from where and up to where: dirty ratio and compaction lags.

Pure functions over what is known of a log's segments: KIP-58, KIP-354. Source:
LogCleanerManager.cleanableOffsets, .calculateCleanableBytes, .maxCompactionDelay,
.grabFilthiestCompactedLog, and LogToClean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from msgspec import Struct

from sim.protocol.log import Segment
from sim.protocol.log.log import from_offset

LagEstimate = Literal["first_timestamp", "previous_segment", "largest_less_roll"]
"""When the oldest record of a segment is taken to have been written (KIP-354).

first_timestamp: what its first record says, if it has a timestamp; previous_segment: from the
second segment on, the largest timestamp of the one before it; largest_less_roll: where the first
record has no timestamp above 0, the largest one, else the last modification, less the longest time
that a segment is the active one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibilityConfig:
    """The settings, and the rule, that decide when a log is cleaned.

    Attributes:
        min_cleanable_dirty_ratio: `min.cleanable.dirty.ratio`; a dirty ratio has to be above it.
        min_compaction_lag_ms: `min.compaction.lag.ms`; 0 = none.
        max_compaction_lag_ms: `max.compaction.lag.ms`; None = no bound.
        lag_estimate: From when the maximum lag counts.
        segment_ms: `segment.ms`; None = no bound.
    """

    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int | None = None
    lag_estimate: LagEstimate = "first_timestamp"
    segment_ms: int | None = 604_800_000

    @property
    def roll_ms(self) -> int:
        """The longest that a segment is active, in ms (LogConfig.maxSegmentMs); 0 = no bound."""
        bounds = (self.segment_ms, self.max_compaction_lag_ms)
        return min([bound for bound in bounds if bound is not None], default=0)


class FirstDirty(Struct, frozen=True, gc=False):
    """Where the dirty section begins (inclusive).

    `force_update` is true when the checkpoint was invalid and is to be rewritten at once.
    """

    offset: int
    force_update: bool


def first_dirty(
    checkpoint: int | None, *, log_start_offset: int, log_end_offset: int
) -> FirstDirty:
    """The first dirty offset by the cleaner's checkpoint; None = there is none yet.

    A checkpoint below the log start or above the log end is invalid; the whole log is dirty then.
    """
    if checkpoint is None:
        return FirstDirty(log_start_offset, force_update=False)
    if not log_start_offset <= checkpoint <= log_end_offset:
        return FirstDirty(log_start_offset, force_update=True)
    return FirstDirty(checkpoint, force_update=False)


class CleanLimit(Enum):
    """The limits that may stop a cleaner."""

    ACTIVE_SEGMENT = "active segment"
    MIN_LAG = "min.compaction.lag.ms"
    STABLE_OFFSET = "last stable offset"


# Looking up a member by its name costs as much as a call, and a cleaner looks often.
_ACTIVE_SEGMENT, _MIN_LAG, _STABLE_OFFSET = CleanLimit


class Bound(Struct, frozen=True, gc=False):
    """The end of what the cleaner may clean.

    Attributes:
        offset: The first uncleanable offset (exclusive bound), never below the first dirty one.
        effective: The same rounded down to the base of a segment: where a pass really ends.
        limit: Which limit is the lowest; of equal ones the first in `CleanLimit`.
        limited_to: The offset of that limit (exclusive). When it is below `offset`, then `offset`
            is the first dirty one, and nothing is cleanable.
    """

    offset: int
    effective: int
    limit: CleanLimit
    limited_to: int


def held_back_by(
    segments: Sequence[Segment], *, first_dirty_offset: int, lag_ms: int, now_ms: int
) -> Segment | None:
    """The first segment younger than `lag_ms` (strictly), which waits with all after it.

    The segments from the one that holds the first dirty offset on are looked at, but for the active
    one. A segment's age counts from its largest timestamp, without timestamps from its last
    modification. None = no segment waits.
    """
    if lag_ms <= 0:
        return None
    for segment in segments[from_offset(segments, first_dirty_offset) : -1]:
        if age_from_ms(segment) > now_ms - lag_ms:
            return segment
    return None


def age_from_ms(segment: Segment) -> int:
    """The time in ms that the minimum lag counts from (LogSegment.largestTimestamp)."""
    largest = segment.largest_timestamp_ms
    return largest if largest >= 0 else segment.last_modified_ms


def bound_of(
    segments: Sequence[Segment],
    *,
    first_dirty_offset: int,
    stable_offset: int,
    min_compaction_lag_ms: int,
    now_ms: int,
) -> Bound:
    """The end of what the cleaner may clean; `stable_offset`: last stable offset (exclusive)."""
    limited_to, limit = segments[-1].base_offset, _ACTIVE_SEGMENT
    if min_compaction_lag_ms > 0:
        young = held_back_by(
            segments,
            first_dirty_offset=first_dirty_offset,
            lag_ms=min_compaction_lag_ms,
            now_ms=now_ms,
        )
        if young is not None and young.base_offset < limited_to:
            limited_to, limit = young.base_offset, _MIN_LAG
    if stable_offset < limited_to:
        limited_to, limit = stable_offset, _STABLE_OFFSET
    offset = max(limited_to, first_dirty_offset)
    return Bound(
        offset=offset,
        effective=segments[from_offset(segments, offset)].base_offset,
        limit=limit,
        limited_to=limited_to,
    )


def earliest_dirty_ms(
    segments: Sequence[Segment], config: EligibilityConfig, *, first_dirty_offset: int
) -> int | None:
    """The smallest estimate above 0, in ms, of the segments that may have to be cleaned.

    They are the segments from the one that holds the first dirty offset on, but for the active one;
    the cleaned part of the first counts, too (LogCleanerManager.maxCompactionDelay). None = there
    is no estimate.
    """
    earliest: int | None = None
    for index in range(from_offset(segments, first_dirty_offset), len(segments) - 1):
        estimate = _written_ms(segments, index, config)
        if estimate > 0 and (earliest is None or estimate < earliest):
            earliest = estimate
    return earliest


def _written_ms(segments: Sequence[Segment], index: int, config: EligibilityConfig) -> int:
    """Time, in ms, when the oldest record of a segment is taken to be written; at most 0 = none.

    Source: LogSegment.getFirstBatchTimestamp; KIP-354, Proposed Changes and Rejected Alternatives.
    """
    if config.lag_estimate == "previous_segment" and index > 0:
        return age_from_ms(segments[index - 1])
    first_ms = segments[index].first_timestamp_ms
    if config.lag_estimate == "largest_less_roll" and first_ms <= 0:
        return age_from_ms(segments[index]) - config.roll_ms
    return first_ms


class Eligibility(Struct, frozen=True, gc=False):
    """The decision whether a log is cleaned now, and the numbers behind it.

    Attributes:
        eligible: True when a pass should run.
        bound: How far it would go.
        clean_bytes: Bytes of the segments that start below the first dirty offset.
        cleanable_bytes: Bytes of the segments from the one that holds the first dirty offset on, up
            to where a pass ends; one that straddles that offset is counted on both sides.
        dirty_ratio: cleanable / (clean + cleanable); None when both are 0.
        compaction_delay_ms: How long the oldest uncleaned segment is overdue, in ms; 0 = it is not.
        overdue: That delay makes it eligible: it is above 0 and there is something to clean.
    """

    eligible: bool
    bound: Bound
    clean_bytes: int
    cleanable_bytes: int
    dirty_ratio: float | None
    compaction_delay_ms: int
    overdue: bool

    @property
    def upper_bound(self) -> int:
        """Where a pass ends (exclusive); the base of a segment."""
        return self.bound.effective


def eligibility(
    segments: Sequence[Segment],
    config: EligibilityConfig,
    *,
    first_dirty_offset: int,
    stable_offset: int,
    now_ms: int,
) -> Eligibility:
    """Decides whether the log that consists of `segments` should be cleaned now."""
    bound = bound_of(
        segments,
        first_dirty_offset=first_dirty_offset,
        stable_offset=stable_offset,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        now_ms=now_ms,
    )
    clean = cleanable = 0
    for segment in segments:
        if segment.base_offset >= first_dirty_offset:
            break
        clean += segment.size_bytes
    for segment in segments[from_offset(segments, first_dirty_offset) :]:
        if segment.base_offset >= bound.effective:
            break
        cleanable += segment.size_bytes
    delay = 0
    if config.max_compaction_lag_ms is not None:
        earliest = earliest_dirty_ms(segments, config, first_dirty_offset=first_dirty_offset)
        if earliest is not None:
            delay = max(0, now_ms - config.max_compaction_lag_ms - earliest)
    total = clean + cleanable
    ratio = cleanable / total if total else None
    overdue = delay > 0 and cleanable > 0
    dirty = ratio is not None and ratio > config.min_cleanable_dirty_ratio
    return Eligibility(
        eligible=overdue or dirty,
        bound=bound,
        clean_bytes=clean,
        cleanable_bytes=cleanable,
        dirty_ratio=ratio,
        compaction_delay_ms=delay,
        overdue=overdue,
    )


def select(logs: Mapping[str, Eligibility]) -> str | None:
    """The log to clean: of the eligible ones that with the highest ratio; of equals the first.

    A log that is overdue does not go before one with a higher ratio.
    """
    eligible = [name for name, found in logs.items() if found.eligible]
    return max(eligible, key=lambda name: logs[name].dirty_ratio or 0.0, default=None)
