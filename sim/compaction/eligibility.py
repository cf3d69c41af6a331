"""Is it time to clean, and up to where? Dirty ratio and compaction lags (KIP-58, KIP-354).

Source: LogCleanerManager.cleanableOffsets, .calculateCleanableBytes, .maxCompactionDelay and
LogToClean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sim.log import Segment


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibilityConfig:
    """The topic settings that decide when a log is cleaned.

    Attributes:
        min_cleanable_dirty_ratio: `min.cleanable.dirty.ratio`, compared strictly.
        min_compaction_lag_ms: `min.compaction.lag.ms`; 0 = none.
        max_compaction_lag_ms: `max.compaction.lag.ms`; None = no bound.
    """

    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int | None = None


class Eligibility(NamedTuple):
    """Whether a log is eligible, and the numbers behind it.

    Attributes:
        eligible: True when a pass should run.
        upper_bound: First offset the pass leaves alone; the base of a segment.
        clean_bytes: Bytes of the segments that start below the first dirty offset.
        cleanable_bytes: Bytes of the segments from the one that holds the first dirty offset on.
        dirty_ratio: cleanable / (clean + cleanable); None when both are 0.
        compaction_delay_ms: How long the oldest uncleaned segment is overdue, in ms.
    """

    eligible: bool
    upper_bound: int
    clean_bytes: int
    cleanable_bytes: int
    dirty_ratio: float | None
    compaction_delay_ms: int


def cleanable_bound(
    segments: Sequence[Segment],
    *,
    first_dirty_offset: int,
    stable_offset: int,
    min_compaction_lag_ms: int,
    now_ms: int,
) -> int:
    """The first uncleanable offset, rounded down to the base of a segment (exclusive bound).

    `stable_offset` is the last stable offset. The active segment is never cleaned; with a minimum
    lag neither is the first segment with a record younger than it, nor any after it.
    """
    bound = min(stable_offset, segments[-1].base_offset)
    if min_compaction_lag_ms > 0:
        for index, segment in enumerate(segments[:-1]):
            if segments[index + 1].base_offset <= first_dirty_offset:
                continue
            largest = segment.largest_timestamp_ms
            age_from = largest if largest >= 0 else segment.last_modified_ms
            if age_from > now_ms - min_compaction_lag_ms:
                bound = min(bound, segment.base_offset)
                break
    for segment in reversed(segments):
        if segment.base_offset <= bound:
            return segment.base_offset
    return segments[0].base_offset


def eligibility(
    segments: Sequence[Segment],
    config: EligibilityConfig,
    *,
    first_dirty_offset: int,
    stable_offset: int,
    now_ms: int,
) -> Eligibility:
    """Decide whether the log that consists of `segments` should be cleaned now."""
    bound = cleanable_bound(
        segments,
        first_dirty_offset=first_dirty_offset,
        stable_offset=stable_offset,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        now_ms=now_ms,
    )
    clean_bytes = cleanable_bytes = 0
    earliest: int | None = None
    for index, segment in enumerate(segments[:-1]):
        ends_above_dirty = segments[index + 1].base_offset > first_dirty_offset
        if segment.base_offset < first_dirty_offset:
            clean_bytes += segment.size_bytes
        if ends_above_dirty:
            if segment.base_offset < bound:
                cleanable_bytes += segment.size_bytes
            if segment.first_timestamp_ms > 0:
                first = segment.first_timestamp_ms
                earliest = first if earliest is None else min(earliest, first)
    delay = 0
    if config.max_compaction_lag_ms is not None and earliest is not None:
        delay = max(0, now_ms - config.max_compaction_lag_ms - earliest)
    total = clean_bytes + cleanable_bytes
    ratio = cleanable_bytes / total if total else None
    overdue = delay > 0 and cleanable_bytes > 0
    dirty = ratio is not None and ratio > config.min_cleanable_dirty_ratio
    return Eligibility(overdue or dirty, max(bound, 0), clean_bytes, cleanable_bytes, ratio, delay)
