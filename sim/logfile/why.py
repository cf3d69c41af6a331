"""Why a log is eligible for cleaning or not, in one sentence with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    FirstDirty,
    Limit,
    age_from_ms,
    earliest_dirty_ms,
    held_back_by,
)

if TYPE_CHECKING:
    from sim.logfile.eligible import LogGiven


def why(
    log: LogGiven, dirty: FirstDirty, found: Eligibility, config: EligibilityConfig, *, now_ms: int
) -> str:
    """The first condition that is not met, or the one that made it eligible; then the bound."""
    verdict = _verdict(log, dirty, found, config, now_ms=now_ms)
    return f"{verdict}; {_bound(log, dirty, found, config, now_ms=now_ms)}"


def _verdict(
    log: LogGiven, dirty: FirstDirty, found: Eligibility, config: EligibilityConfig, *, now_ms: int
) -> str:
    if log.in_progress:
        return "not eligible: it is in progress, being cleaned or paused already"
    if log.uncleanable:
        return "not eligible: it is marked uncleanable, a pass over it failed unexpectedly"
    if found.dirty_ratio is None:
        return "not eligible: 0 bytes, nothing lies below the bound"
    ratio, least = found.dirty_ratio, config.min_cleanable_dirty_ratio
    bytes_of = f"{found.cleanable_bytes} of {found.clean_bytes + found.cleanable_bytes} bytes"
    delay = _delay(log, dirty, found, config, now_ms=now_ms)
    if found.overdue:
        return f"eligible by delay: {delay}, and {found.cleanable_bytes} bytes are cleanable"
    if found.eligible:
        return (
            f"eligible: ratio {ratio:g} ({bytes_of}) is above min.cleanable.dirty.ratio {least:g}"
        )
    if found.compaction_delay_ms > 0:
        return f"not eligible by delay: {delay}, but 0 bytes are cleanable"
    return (
        f"not eligible: {delay}, and ratio {ratio:g} ({bytes_of}) is not above "
        f"min.cleanable.dirty.ratio {least:g}"
    )


def _delay(
    log: LogGiven, dirty: FirstDirty, found: Eligibility, config: EligibilityConfig, *, now_ms: int
) -> str:
    """How overdue it is, and since when that counts."""
    most = config.max_compaction_lag_ms
    if most is None:
        return "no delay without max.compaction.lag.ms"
    earliest = earliest_dirty_ms(log.segments, first_dirty_offset=dirty.offset)
    if earliest is None:
        return "no delay, for no dirty segment but the active one has a first timestamp above 0"
    if found.compaction_delay_ms == 0:
        return (
            f"no delay, its oldest dirty segment of {earliest} ms is {now_ms - earliest} ms old, "
            f"not more than max.compaction.lag.ms {most}"
        )
    return (
        f"its oldest dirty segment, of {earliest} ms, is {found.compaction_delay_ms} ms over "
        f"max.compaction.lag.ms {most}"
    )


def _bound(
    log: LogGiven, dirty: FirstDirty, found: Eligibility, config: EligibilityConfig, *, now_ms: int
) -> str:
    """Where cleaning would stop, and what keeps it from going further."""
    bound = found.bound
    to = bound.limited_to
    if bound.limit is Limit.ACTIVE_SEGMENT:
        text = f"the active segment, from {to}, is never cleaned"
    elif bound.limit is Limit.MIN_LAG:
        lag = config.min_compaction_lag_ms
        young = held_back_by(
            log.segments, first_dirty_offset=dirty.offset, lag_ms=lag, now_ms=now_ms
        )
        assert young is not None  # it set the limit
        text = (
            f"min.compaction.lag.ms {lag} keeps the segment at {to}, which has a record of "
            f"{age_from_ms(young)} ms, younger than that"
        )
    elif to < log.high_watermark:
        text = (
            f"the last stable offset is {to}, the first unstable one: a transaction that began "
            f"there is not decided below the high watermark {log.high_watermark}"
        )
    else:
        text = f"the high watermark is {to}"
    if to < bound.offset:
        text = f"the first dirty offset {bound.offset} is past all that may be cleaned: {text}"
    rounded = (
        ""
        if bound.effective == bound.offset
        else f" (rounded down to a segment from {bound.offset})"
    )
    return f"bound {bound.effective}{rounded}: {text}"
