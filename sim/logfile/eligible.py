"""Which log the cleaner would clean, and why not the others (`replog eligible`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.compaction.eligibility import (
    Eligibility,
    EligibilityConfig,
    FirstDirty,
    Limit,
    Scan,
    age_from_ms,
    earliest_dirty_ms,
    eligibility,
    first_dirty,
    held_back_by,
    max_compaction_delay_secs,
    select,
)
from sim.logfile.eligible_file import DescribedLog, EligibleFile


@dataclass(frozen=True, slots=True)
class LogEligibility:
    """What the cleaner makes of one log.

    Attributes:
        dirty: Where its dirty section begins.
        found: The numbers; `eligible` says nothing of `in_progress` and `uncleanable` yet.
        why: One sentence.
    """

    log: DescribedLog
    dirty: FirstDirty
    found: Eligibility
    why: str

    @property
    def considered(self) -> bool:
        """Nobody cleans it at present, and no pass over it ended in an unexpected error."""
        return not (self.log.in_progress or self.log.uncleanable)

    @property
    def eligible(self) -> bool:
        """Whether it could be selected."""
        return self.considered and self.found.eligible


@dataclass(frozen=True, slots=True)
class Selection:
    """What the cleaner makes of all logs, and which one it would clean; None = none.

    `delay_secs` is the metric `max-compaction-delay-secs` after this one look.
    """

    selected: str | None
    logs: dict[str, LogEligibility]
    delay_secs: int


def select_log(file: EligibleFile) -> Selection:
    """Look at every log and select the one to clean."""
    logs = {name: look_at(log, now_ms=file.now_ms) for name, log in file.logs.items()}
    selected = select({name: one.found for name, one in logs.items() if one.eligible})
    delays = tuple(one.found.compaction_delay_ms for one in logs.values() if one.considered)
    scan = Scan(0, delays, cleaned=selected is not None)
    return Selection(selected, logs, max_compaction_delay_secs([scan]))


def first_dirty_of(log: DescribedLog) -> FirstDirty:
    """Where the dirty section of a log begins."""
    return first_dirty(
        log.checkpoint, log_start_offset=log.log_start_offset, log_end_offset=log.log_end_offset
    )


def look_at(log: DescribedLog, *, now_ms: int) -> LogEligibility:
    """What the cleaner makes of one log at `now_ms`."""
    dirty = first_dirty_of(log)
    found = eligibility(
        log.segments,
        log.config,
        first_dirty_offset=dirty.offset,
        stable_offset=log.last_stable_offset,
        now_ms=now_ms,
    )
    return LogEligibility(log, dirty, found, _why(log, dirty, found, log.config, now_ms=now_ms))


def eligible_answer(selection: Selection) -> dict[str, Any]:
    """What `replog eligible --json` answers."""
    return {
        "selected": selection.selected,
        "logs": {
            name: {
                "first_dirty_offset": one.dirty.offset,
                "first_uncleanable_offset": one.found.bound.offset,
                "effective_upper_bound": one.found.bound.effective,
                "force_update_checkpoint": one.dirty.force_update,
                "clean_bytes": one.found.clean_bytes,
                "cleanable_bytes": one.found.cleanable_bytes,
                "cleanable_ratio": one.found.dirty_ratio,
                "compaction_delay_ms": one.found.compaction_delay_ms,
                "eligible": one.eligible,
                "why": one.why,
            }
            for name, one in selection.logs.items()
        },
    }


def _why(
    log: DescribedLog,
    dirty: FirstDirty,
    found: Eligibility,
    config: EligibilityConfig,
    *,
    now_ms: int,
) -> str:
    """The first condition that is not met, or the one that made it eligible; then the bound."""
    verdict = _verdict(log, dirty, found, config, now_ms=now_ms)
    return f"{verdict}; {_bound(log, dirty, found, config, now_ms=now_ms)}"


def _verdict(
    log: DescribedLog,
    dirty: FirstDirty,
    found: Eligibility,
    config: EligibilityConfig,
    *,
    now_ms: int,
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
    log: DescribedLog,
    dirty: FirstDirty,
    found: Eligibility,
    config: EligibilityConfig,
    *,
    now_ms: int,
) -> str:
    """How overdue it is, and since when that counts."""
    most = config.max_compaction_lag_ms
    if most is None:
        return "no delay without max.compaction.lag.ms"
    earliest = earliest_dirty_ms(log.segments, config, first_dirty_offset=dirty.offset)
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
    log: DescribedLog,
    dirty: FirstDirty,
    found: Eligibility,
    config: EligibilityConfig,
    *,
    now_ms: int,
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
