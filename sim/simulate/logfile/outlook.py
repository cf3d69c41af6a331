"""A log that is not eligible: what stands in the way, when it is due, and which setting cures it.

All of it if nothing more is written: what is appended rolls segments, and makes a log dirtier.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from sim.protocol.compaction.eligibility import (
    Eligibility,
    Limit,
    age_from_ms,
    earliest_dirty_ms,
    eligibility,
    from_offset,
)
from sim.protocol.log import Segment
from sim.simulate.logfile.described import DescribedLog

_CLOSED = (
    "the active segment closed, which only the next append does, as segment.ms and segment.bytes "
    "say"
)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is to be said of a log that is not eligible.

    Attributes:
        log: The log.
        now_ms: When the cleaner's manager looks.
        first_dirty_offset: Where its dirty section begins.
        found: What the manager finds.
    """

    log: DescribedLog
    now_ms: int
    first_dirty_offset: int
    found: Eligibility

    def at(self, now_ms: int, *, committed: bool = False, **settings: int) -> Eligibility:
        """The same at another time, under other settings, or if all of it were committed."""
        log = self.log
        return eligibility(
            log.segments,
            replace(log.config, **settings),  # type: ignore[arg-type]
            first_dirty_offset=self.first_dirty_offset,
            stable_offset=log.log_end_offset if committed else log.last_stable_offset,
            now_ms=now_ms,
        )

    @property
    def due_ms(self) -> int | None:
        """From when on it is eligible; None = never.

        Segments only grow older, so what is eligible once is so from then on.
        """
        times = sorted({at_ms for at_ms in self._changes() if at_ms > self.now_ms})
        first = bisect_left(times, x=True, key=lambda at_ms: self.at(at_ms).eligible)
        return times[first] if first < len(times) else None

    def _changes(self) -> Iterator[int]:
        """When a lag of a dirty segment passes."""
        log, config = self.log, self.log.config
        closed = log.segments[from_offset(log.segments, self.first_dirty_offset) : -1]
        if config.min_compaction_lag_ms > 0:
            yield from (age_from_ms(one) + config.min_compaction_lag_ms for one in closed)
        most, earliest = config.max_compaction_lag_ms, self._earliest_ms
        if most is not None and earliest is not None:
            yield earliest + most + 1

    @property
    def _earliest_ms(self) -> int | None:
        """From when the maximum lag counts; None = no dirty segment says."""
        log = self.log
        return earliest_dirty_ms(
            log.segments, log.config, first_dirty_offset=self.first_dirty_offset
        )

    @property
    def told(self) -> str:
        """When it is due, then what would make it so now."""
        due_ms, cures = self.due_ms, list(self._cures())
        when = "it is never due" if due_ms is None else f"it is due at {due_ms} ms at the earliest"
        cured = f"; what would make it due now: {', or '.join(cures)}" if cures else ""
        return f"if nothing more is written {when}{cured}"

    def _cures(self) -> Iterator[str]:
        """What makes it due now, one change each."""
        found, earliest = self.found, self._earliest_ms
        if found.cleanable_bytes:
            yield f"min.cleanable.dirty.ratio {_below(found)} or lower"
            lag_ms = -1 if earliest is None else self.now_ms - earliest - 1
            if lag_ms >= max(1, self.log.config.min_compaction_lag_ms):
                yield f"max.compaction.lag.ms {lag_ms} or lower"
        relief, relieved = self._relief()
        if relieved.eligible:
            yield relief
        elif relieved.cleanable_bytes > 0 == found.cleanable_bytes:
            yield f"{relief}, with min.cleanable.dirty.ratio {_below(relieved)} or lower"

    def _relief(self) -> tuple[str, Eligibility]:
        """What moves the bound that is the lowest now, and what came of it."""
        log, bound, now_ms = self.log, self.found.bound, self.now_ms
        if bound.limit is Limit.MIN_LAG:
            return "min.compaction.lag.ms 0", self.at(now_ms, min_compaction_lag_ms=0)
        if bound.limit is Limit.STABLE_OFFSET:
            committed = self.at(now_ms, committed=True)
            if bound.limited_to < log.high_watermark:
                return "the end of that transaction", committed
            return f"a high watermark of {log.log_end_offset}", committed
        rolled = replace(log, segments=(*log.segments, Segment(log.log_end_offset)))
        return _CLOSED, replace(self, log=rolled).at(now_ms)


def _below(found: Eligibility) -> str:
    """A ratio that is exceeded."""
    assert found.dirty_ratio is not None  # there are bytes
    return f"{max(0, ceil(found.dirty_ratio * 1000) - 1) / 1000:g}"
