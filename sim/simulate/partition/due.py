"""The answer to why a partition is not compacted, when it will be, and what would change that.

What the cleaner's manager decides is `sim.simulate.logfile.eligible`; here is what a partition's
files tell beside it: who has the open transaction, and how fast the log grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sim.protocol.compaction.eligibility import CleanLimit
from sim.protocol.log import Log
from sim.simulate.logfile.eligible import LogEligibility
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.run import replica_of
from sim.simulate.logfile.steps import Clean

RATE_SEGMENTS: Final = 5
"""The rate of writing is that of so many closed segments, the last ones."""
ROLLS_AHEAD: Final = 10_000
"""Segments that are rolled ahead at most, to see when a log gets dirty enough."""


@dataclass(frozen=True)
class Due:
    """The decision of the cleaner's manager on a partition, now and later.

    Attributes:
        decision: What its manager decides now.
        log: The log that it was asked about.
        bytes_per_ms: Bytes that are written in a millisecond, by timestamps of the last closed
            segments; None if timestamps do not tell.
        at_rate_ms: When it is due if it goes on growing so, in ms; None if it is due now, or not
            within the segments that are looked ahead.
        waits_for: A sentence on the open transaction that holds the bound back; None without one.
    """

    decision: LogEligibility
    log: Log
    bytes_per_ms: float | None
    at_rate_ms: int | None
    waits_for: str | None

    def lines(self) -> Iterator[str]:
        """The answer in sentences."""
        decision, found = self.decision, self.decision.found
        yield from filter(None, (decision.why, self.waits_for, decision.outlook))
        if self.bytes_per_ms is not None and not decision.eligible:
            when = f"due at about {self.at_rate_ms} ms" if self.at_rate_ms else "not due soon"
            yield (
                f"it grows by {self.bytes_per_ms * 3_600_000:,.0f} bytes an hour, by the "
                f"timestamps of its last closed segments: at that rate {when}"
            )
        if found.cleanable_bytes:
            total = found.clean_bytes + found.cleanable_bytes
            yield (
                f"a pass reads {total:,} bytes and writes as many at most, for "
                f"{found.cleanable_bytes:,} dirty ones: a lower ratio means more such passes"
            )

    @property
    def as_json(self) -> dict[str, Any]:
        """The answer as data."""
        rate = self.bytes_per_ms
        return {
            **self.decision.answer,
            "open_transaction": self.waits_for,
            "bytes_per_hour": None if rate is None else round(rate * 3_600_000),
            "due_at_this_rate_ms": self.at_rate_ms,
        }


def due(file: LogFile) -> Due:
    """Looks at a partition as its cleaner's manager does."""
    step = file.steps[-1]
    assert isinstance(step, Clean)
    replica = replica_of(file)
    decision, log = replica.decide(file.topic, now_ms=step.now_ms), replica.log
    rate, at_rate = _bytes_per_ms(log), None
    if rate is not None and decision.considered and not decision.eligible:
        at_rate = _due_at_rate(decision, log, file.topic.roll_bytes or (1 << 30), rate)
    return Due(decision, log, rate, at_rate, _open_transaction(decision, log))


def _bytes_per_ms(log: Log) -> float | None:
    """The rate of the last closed segments that have timestamps; none if they take no time."""
    closed = [one for one in log.segments[:-1] if one.first_timestamp_ms >= 0][-RATE_SEGMENTS:]
    if not closed:
        return None
    last = log.active.first_timestamp_ms if log.active.batches else closed[-1].largest_timestamp_ms
    took_ms = last - closed[0].first_timestamp_ms
    return sum(one.size_bytes for one in closed) / took_ms if took_ms > 0 else None


def _due_at_rate(decision: LogEligibility, log: Log, full: int, rate: float) -> int | None:
    """When enough is dirty, in ms, if what is written comes at that rate and is committed.

    The active segment rolls when it has `full` bytes or is as old as `segment.ms`; what it holds is
    dirty then. The lag settings only delay or hasten that by what `outlook` says, and are left out.
    """
    config, found = decision.log.config, decision.found
    dirty, now_ms, size = (
        found.cleanable_bytes,
        float(decision.now_ms),
        float(log.active.size_bytes),
    )
    began_ms = float(log.active.first_timestamp_ms) if log.active.batches else now_ms
    for _ in range(ROLLS_AHEAD):
        rolled = now_ms + max(0.0, full - size) / rate
        if config.roll_ms:
            rolled = min(rolled, max(now_ms, began_ms + config.roll_ms))
        dirty += int(size + (rolled - now_ms) * rate)
        if dirty > 0 and dirty / (found.clean_bytes + dirty) > config.min_cleanable_dirty_ratio:
            return int(rolled)
        began_ms, now_ms, size = float(int(rolled)), rolled, 0.0
    return None


def _open_transaction(decision: LogEligibility, log: Log) -> str | None:
    """Names the producer of the transaction that holds the bound back, and since when."""
    bound = decision.found.bound
    if bound.limit is not CleanLimit.STABLE_OFFSET:
        return None
    for producer_id, producer in log.producers.producers.items():
        began = producer.open_since
        if began is not None and began <= bound.limited_to:
            times = [one.timestamp_ms for one in log.batches() if one.base_offset >= began]
            since = f", since {times[0]} ms" if times else ""
            return (
                f"producer {producer_id}, epoch {producer.epoch}, has it open from offset "
                f"{began} on{since}; `kafka-transactions abort` ends one that nobody ends any more"
            )
    return None
