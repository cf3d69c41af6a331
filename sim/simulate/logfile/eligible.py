"""The choice of the log to clean, with the reason for each log, and when it is due.

`replog eligible` prints it. The time when a log is due, and the setting that would make it due now,
hold if nothing more is written: an append rolls segments, and makes a log dirtier.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from sim.files.limits import LONG
from sim.protocol.compaction.eligibility import (
    CleanLimit,
    Eligibility,
    EligibilityConfig,
    FirstDirty,
    age_from_ms,
    earliest_dirty_ms,
    eligibility,
    first_dirty,
    held_back_by,
    select,
)
from sim.protocol.log import Segment
from sim.protocol.log.log import from_offset

_CLOSED = "the active segment closed, as an append does by segment.ms or segment.bytes"


@dataclass(frozen=True, slots=True)
class DescribedLog:
    """Facts about a log that decide whether it is cleaned.

    Attributes:
        config: The settings that decide when it is cleaned.
        segments: In order; the last one is active.
        log_start_offset: Inclusive.
        log_end_offset: Exclusive.
        high_watermark: Exclusive.
        last_stable_offset: Exclusive.
        checkpoint: First dirty offset as the last pass stored it; None before the first pass.
        in_progress: True while a pass runs over it, or cleaning is paused.
        uncleanable: True after a pass over it failed.
        compacts: False if its `cleanup.policy` is `delete`, so that it is never cleaned.
        committed: High watermark of a log whose cleaner goes beyond it, where `high_watermark` is
            the log end offset; None = it is `high_watermark`.
        undecided: False if the transaction at the last stable offset has a marker, which is not
            below the high watermark yet.
        stable_later: Last stable offset once all is committed, and that transaction has ended if it
            is undecided; None = the log end offset.
    """

    config: EligibilityConfig
    segments: tuple[Segment, ...]
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    checkpoint: int | None
    in_progress: bool
    uncleanable: bool
    compacts: bool = True
    committed: int | None = None
    undecided: bool = True
    stable_later: int | None = None


@dataclass(frozen=True, slots=True)
class LogEligibility:
    """Verdict of the cleaner on one log.

    Attributes:
        log: The log.
        now_ms: Time of the verdict in ms.
        dirty: Where the dirty section begins.
        found: Numbers of the decision by sizes and times alone: policy, `in_progress` and
            `uncleanable` are not part of it.
    """

    log: DescribedLog
    now_ms: int
    dirty: FirstDirty
    found: Eligibility

    @property
    def considered(self) -> bool:
        """True for a log that is compacted, is not being cleaned, and had no pass that failed."""
        return self.log.compacts and not (self.log.in_progress or self.log.uncleanable)

    @property
    def eligible(self) -> bool:
        """True if the cleaner could select the log."""
        return self.considered and self.found.eligible

    @property
    def numbers(self) -> dict[str, Any]:
        """Numbers by which the cleaner's manager decides, and how far a pass would go, by name."""
        found = self.found
        return {
            "first_dirty_offset": self.dirty.offset,
            "first_uncleanable_offset": found.bound.offset,
            "effective_upper_bound": found.bound.effective,
            "force_update_checkpoint": self.dirty.force_update,
            "clean_bytes": found.clean_bytes,
            "cleanable_bytes": found.cleanable_bytes,
            "cleanable_ratio": found.dirty_ratio,
            "compaction_delay_ms": found.compaction_delay_ms,
        }

    @property
    def answer(self) -> dict[str, Any]:
        """The verdict as `replog eligible --json` has it."""
        verdict = {"eligible": self.eligible, "why": self.why, "outlook": self.outlook}
        return {**self.numbers, **verdict}

    @property
    def earliest_ms(self) -> int | None:
        """Time of the oldest dirty segment in ms, from which the delay counts; None without one."""
        log = self.log
        return earliest_dirty_ms(log.segments, log.config, first_dirty_offset=self.dirty.offset)

    @property
    def why(self) -> str:
        """A sentence on the condition that decides, and on the bound."""
        return f"{self._verdict()}; {self._bound()}"

    @property
    def outlook(self) -> str | None:
        """A sentence on when it becomes eligible, and which changes make it so now.

        None for a log that is eligible, or is not considered at all.
        """
        if self.eligible or not self.considered:
            return None
        due_ms, cures = self.due_ms, list(self._cures())
        when = "it is never due" if due_ms is None else f"it is due at {due_ms} ms at the earliest"
        cured = f"; what would make it due now: {', or '.join(cures)}" if cures else ""
        return f"if nothing more is written {when}{cured}"

    def at(self, now_ms: int, *, committed: bool = False, **settings: int) -> Eligibility:
        """Numbers at another time, under other settings, or if all of the log were committed."""
        log = self.log
        later = log.log_end_offset if log.stable_later is None else log.stable_later
        return eligibility(
            log.segments,
            replace(log.config, **settings),  # type: ignore[arg-type]
            first_dirty_offset=self.dirty.offset,
            stable_offset=later if committed else log.last_stable_offset,
            now_ms=now_ms,
        )

    @property
    def due_ms(self) -> int | None:
        """Of a log that is not eligible, the time from which it is, in ms; None if it never is.

        Segments only grow older, so a log that is eligible once stays eligible. No time is beyond
        64 bits.
        """
        config, segments = self.log.config, self.log.segments
        times: set[int] = set()
        if config.min_compaction_lag_ms > 0:
            closed = segments[from_offset(segments, self.dirty.offset) : -1]
            times |= {age_from_ms(one) + config.min_compaction_lag_ms for one in closed}
        if config.max_compaction_lag_ms is not None and self.earliest_ms is not None:
            times.add(self.earliest_ms + config.max_compaction_lag_ms + 1)
        later = sorted(at_ms for at_ms in times if self.now_ms < at_ms <= LONG)
        first = bisect_left(later, x=True, key=lambda at_ms: self.at(at_ms).eligible)
        return later[first] if first < len(later) else None

    def _cures(self) -> Iterator[str]:
        """Changes, each of which alone makes the log due now."""
        found, earliest = self.found, self.earliest_ms
        if found.cleanable_bytes:
            yield f"min.cleanable.dirty.ratio {_below(found)} or lower"
            lag_ms = -1 if earliest is None else self.now_ms - earliest - 1
            if (
                lag_ms >= max(1, self.log.config.min_compaction_lag_ms)
                and self.at(self.now_ms, max_compaction_lag_ms=lag_ms).eligible
            ):
                yield f"max.compaction.lag.ms {lag_ms} or lower"
        relief, relieved = self._relief()
        if relieved.eligible:
            yield relief
        elif relieved.cleanable_bytes > 0 == found.cleanable_bytes:
            yield f"{relief}, with min.cleanable.dirty.ratio {_below(relieved)} or lower"

    def _relief(self) -> tuple[str, Eligibility]:
        """The change that lifts the limit that holds now, and the numbers after it."""
        log, bound, now_ms = self.log, self.found.bound, self.now_ms
        if bound.limit is CleanLimit.MIN_LAG:
            return "min.compaction.lag.ms 0", self.at(now_ms, min_compaction_lag_ms=0)
        if bound.limit is CleanLimit.STABLE_OFFSET:
            committed = self.at(now_ms, committed=True)
            if bound.limited_to < log.high_watermark and log.undecided:
                return "the end of that transaction", committed
            return f"a high watermark of {log.log_end_offset}", committed
        rolled = replace(log, segments=(*log.segments, Segment(log.log_end_offset)))
        return _CLOSED, replace(self, log=rolled).at(now_ms)

    def _verdict(self) -> str:
        found = self.found
        if not self.log.compacts:
            return "not eligible: its cleanup.policy is delete, it is never compacted"
        if self.log.in_progress:
            return "not eligible: it is in progress, being cleaned or paused already"
        if self.log.uncleanable:
            return "not eligible: it is marked uncleanable, a pass over it failed unexpectedly"
        if found.dirty_ratio is None:
            return "not eligible: 0 bytes, nothing lies below the bound"
        bytes_of = f"{found.cleanable_bytes} of {found.clean_bytes + found.cleanable_bytes} bytes"
        ratio = f"ratio {found.dirty_ratio:g} ({bytes_of}) is"
        least = f"above min.cleanable.dirty.ratio {self.log.config.min_cleanable_dirty_ratio:g}"
        if found.overdue:
            return (
                f"eligible by delay: {self._delay()}, and {found.cleanable_bytes} bytes are "
                "cleanable"
            )
        if found.eligible:
            return f"eligible: {ratio} {least}"
        if found.compaction_delay_ms > 0:
            return f"not eligible by delay: {self._delay()}, but 0 bytes are cleanable"
        return f"not eligible: {self._delay()}, and {ratio} not {least}"

    def _delay(self) -> str:
        """Describes the delay: how long the log is overdue, and from what time that counts."""
        most = self.log.config.max_compaction_lag_ms
        if most is None:
            return "no delay without max.compaction.lag.ms"
        earliest = self.earliest_ms
        if earliest is None:
            return "no delay, for no dirty segment but the active one has a first timestamp above 0"
        if self.found.compaction_delay_ms == 0:
            return (
                f"no delay, its oldest dirty segment of {earliest} ms is "
                f"{self.now_ms - earliest} ms old, not more than max.compaction.lag.ms {most}"
            )
        return (
            f"its oldest dirty segment, of {earliest} ms, is {self.found.compaction_delay_ms} ms "
            f"over max.compaction.lag.ms {most}"
        )

    def _bound(self) -> str:
        """Describes where cleaning would stop, and which limit keeps it from going further."""
        bound, text = self.found.bound, self.limit
        if bound.limited_to < bound.offset:
            text = f"the first dirty offset {bound.offset} is past all that may be cleaned: {text}"
        rounded = f" (rounded down to a segment from {bound.offset})"
        return f"bound {bound.effective}{rounded * (bound.effective != bound.offset)}: {text}"

    @property
    def limit(self) -> str:
        """The limit that keeps cleaning from going further, in words."""
        log, to, limit = self.log, self.found.bound.limited_to, self.found.bound.limit
        if limit is CleanLimit.ACTIVE_SEGMENT:
            return f"the active segment, from {to}, is never cleaned"
        if limit is CleanLimit.MIN_LAG:
            lag, first = log.config.min_compaction_lag_ms, self.dirty.offset
            young = held_back_by(
                log.segments, first_dirty_offset=first, lag_ms=lag, now_ms=self.now_ms
            )
            assert young is not None  # it set the limit
            return (
                f"min.compaction.lag.ms {lag} keeps the segment at {to}, which has a record of "
                f"{age_from_ms(young)} ms, younger than that"
            )
        if to < log.high_watermark:
            committed = log.high_watermark if log.committed is None else log.committed
            return (
                f"the last stable offset is {to}, the first unstable one: a transaction that began "
                f"there is not decided below the high watermark {committed}"
            )
        return f"the high watermark is {to}"


@dataclass(frozen=True, slots=True)
class Selection:
    """Verdict of the cleaner on all logs, and which one it would clean.

    Attributes:
        selected: Name of the log to clean; None if no log is eligible.
        logs: The verdict on each log, by name.
        delay_secs: The metric `max-compaction-delay-secs` after this choice: the largest delay of a
            log that was considered, in seconds; 0 where none is selected (PreCleanStats).
    """

    selected: str | None
    logs: dict[str, LogEligibility]
    delay_secs: int


def select_log(described: Mapping[str, DescribedLog], *, now_ms: int) -> Selection:
    """Judges every log at `now_ms` and selects the one to clean."""
    logs = {name: look_at(log, now_ms=now_ms) for name, log in described.items()}
    selected = select({name: one.found for name, one in logs.items() if one.eligible})
    delays = [one.found.compaction_delay_ms for one in logs.values() if one.considered]
    return Selection(selected, logs, 0 if selected is None else max(delays) // 1000)


def _below(found: Eligibility) -> str:
    """The largest ratio with three digits, such as 0.499, that the log's dirty ratio exceeds."""
    assert found.dirty_ratio is not None  # there are bytes
    return f"{max(0, ceil(found.dirty_ratio * 1000) - 1) / 1000:g}"


def look_at(log: DescribedLog, *, now_ms: int) -> LogEligibility:
    """Verdict of the cleaner on one log at `now_ms`."""
    dirty = first_dirty(
        log.checkpoint, log_start_offset=log.log_start_offset, log_end_offset=log.log_end_offset
    )
    found = eligibility(
        log.segments,
        log.config,
        first_dirty_offset=dirty.offset,
        stable_offset=log.last_stable_offset,
        now_ms=now_ms,
    )
    return LogEligibility(log, now_ms, dirty, found)


def eligible_answer(selection: Selection) -> dict[str, Any]:
    """Answer of `replog eligible --json`."""
    return {
        "selected": selection.selected,
        "logs": {name: one.answer for name, one in selection.logs.items()},
    }
