"""The answer to why a partition is not compacted, when it will be, and what would change that.

What the cleaner's manager decides is `sim.simulate.logfile.eligible`; here is what a partition's
files tell beside it: who has the open transaction, and how fast the log grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from sim.protocol.compaction.eligibility import CleanLimit
from sim.simulate.logfile.eligible import LogEligibility
from sim.simulate.logfile.file import LogFile
from sim.simulate.logfile.replica import LogReplica
from sim.simulate.logfile.run import replica_of
from sim.simulate.logfile.steps import Clean

RATE_SEGMENTS: Final = 5
"""The rate of writing is that of so many closed segments, the last ones."""
ROLLS_AHEAD: Final = 10_000
"""Segments that are rolled ahead at most, to see when a log gets dirty enough."""


@dataclass(frozen=True)
class Growth:
    """How fast a log grows, by timestamps of its records.

    Attributes:
        bytes_per_ms: Bytes that are written in a millisecond.
        segments: Segments that this was measured over.
    """

    bytes_per_ms: float
    segments: int


@dataclass(frozen=True)
class Due:
    """The decision of the cleaner's manager on a partition, now and later.

    Attributes:
        decision: What its manager decides now.
        aborted: Aborted transactions of the log.
        growth: How fast the log grows; None = timestamps do not tell.
        at_rate_ms: When it is due if it goes on growing so, in ms; None = it is due now, or not
            within the segments that are looked ahead.
        waits_for: The open transaction that holds the bound back; None = none does.
    """

    decision: LogEligibility
    replica: LogReplica
    growth: Growth | None
    at_rate_ms: int | None
    waits_for: str | None

    def lines(self) -> Iterator[str]:
        """The answer in sentences."""
        decision = self.decision
        yield decision.why
        if self.waits_for is not None:
            yield self.waits_for
        if decision.outlook is not None:
            yield decision.outlook
        if self.growth is not None and not decision.eligible:
            grows = f"it grows by {self.growth.bytes_per_ms * 3_600_000:,.0f} bytes an hour"
            of = f"by the timestamps of its last {self.growth.segments} closed segments"
            when = (
                "not due soon" if self.at_rate_ms is None else f"due at about {self.at_rate_ms} ms"
            )
            yield f"{grows}, {of}: at that rate {when}"
        found = decision.found
        if found.cleanable_bytes:
            total = found.clean_bytes + found.cleanable_bytes
            yield (
                f"a pass reads {total:,} bytes and writes as many at most, for "
                f"{found.cleanable_bytes:,} dirty ones: a lower ratio means more such passes"
            )

    @property
    def as_json(self) -> dict[str, Any]:
        """The answer as data."""
        one = self.decision
        return {
            **one.numbers,
            "eligible": one.eligible,
            "why": one.why,
            "outlook": one.outlook,
            "open_transaction": self.waits_for,
            "bytes_per_hour": None
            if self.growth is None
            else round(self.growth.bytes_per_ms * 3_600_000),
            "due_at_this_rate_ms": self.at_rate_ms,
        }


def due(file: LogFile) -> Due:
    """Looks at a partition as its cleaner's manager does."""
    step = file.steps[-1]
    assert isinstance(step, Clean)
    replica = replica_of(file)
    decision = replica.decide(file.topic, now_ms=step.now_ms)
    growth = _growth(replica)
    at_rate = None if growth is None else _due_at_rate(decision, replica, file, growth)
    return Due(decision, replica, growth, at_rate, _open_transaction(decision, replica))


def _growth(replica: LogReplica) -> Growth | None:
    """The rate of the last closed segments that have timestamps; none if they take no time."""
    closed = [one for one in replica.log.segments[:-1] if one.first_timestamp_ms >= 0]
    closed = closed[-RATE_SEGMENTS:]
    active = replica.log.active
    if not closed:
        return None
    until = active.first_timestamp_ms if active.batches else closed[-1].largest_timestamp_ms
    took_ms = until - closed[0].first_timestamp_ms
    if took_ms <= 0:
        return None
    return Growth(sum(one.size_bytes for one in closed) / took_ms, len(closed))


def _due_at_rate(
    decision: LogEligibility, replica: LogReplica, file: LogFile, growth: Growth
) -> int | None:
    """When enough is dirty, in ms, if what is written comes at that rate and is committed.

    The active segment rolls when it is full or as old as `segment.ms`; what it holds is dirty then.
    The lag settings only delay or hasten that by what `outlook` says, and are left out.
    """
    if decision.eligible or not decision.considered:
        return None
    config, active = decision.log.config, replica.log.active
    full = file.topic.roll_bytes or (1 << 30)
    roll_ms = config.roll_ms or None
    clean, dirty = decision.found.clean_bytes, decision.found.cleanable_bytes
    began_ms = active.first_timestamp_ms if active.batches else decision.now_ms
    size, now_ms = float(active.size_bytes), float(decision.now_ms)
    for _ in range(ROLLS_AHEAD):
        by_size = now_ms + max(0.0, full - size) / growth.bytes_per_ms
        by_time = by_size if roll_ms is None else max(now_ms, float(began_ms + roll_ms))
        rolled = min(by_size, by_time)
        dirty += int(size + (rolled - now_ms) * growth.bytes_per_ms)
        if dirty > 0 and dirty / (clean + dirty) > config.min_cleanable_dirty_ratio:
            return int(rolled)
        began_ms, now_ms, size = int(rolled), rolled, 0.0
    return None


def _open_transaction(decision: LogEligibility, replica: LogReplica) -> str | None:
    """Names the producer of the transaction that holds the bound back, and since when."""
    bound = decision.found.bound
    if bound.limit is not CleanLimit.STABLE_OFFSET:
        return None
    for producer_id, producer in replica.log.producers.producers.items():
        if producer.open_since is not None and producer.open_since <= bound.limited_to:
            first = next(
                (b for b in replica.log.batches() if b.base_offset >= producer.open_since), None
            )
            since = "" if first is None else f", since {first.timestamp_ms} ms"
            return (
                f"producer {producer_id}, epoch {producer.epoch}, has it open from offset "
                f"{producer.open_since} on{since}; "
                "`kafka-transactions abort` ends one that nobody ends any more"
            )
    return None
