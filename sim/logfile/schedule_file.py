"""What a file for `replog eligible` says about the time to come: threads, and what is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sim.files.document import Place
from sim.files.models import Part
from sim.limits import GROWN_SEGMENTS
from sim.logfile.batches import Natural
from sim.logfile.eligible_settings import OF_THREADS, BrokerLines, dotted

Order = Literal["highest_ratio", "most_overdue"]
"""Which of the eligible logs a thread takes: Kafka's, or the one whose deadline passed first."""

IN_A_SCHEDULE = "says something in a schedule alone; give `schedule`"


@dataclass(frozen=True, slots=True)
class Growth:
    """What happens to a log as time goes by.

    Attributes:
        segment_every_ms: So often the active segment is closed and the next one begins, of the size
            of the active one; None = nothing is written.
        survives: Share of the bytes that a pass leaves of what it reads.
    """

    segment_every_ms: int | None = None
    survives: float = 1.0


STEADY = Growth()
"""Nothing is written, and nothing goes."""


class ScheduleLine(Part):
    """Until when the cleaner is watched."""

    until_ms: Natural
    """Where the schedule ends, in ms; a pass may end after it."""
    order: Order | None = None
    """Which log a thread takes; default: the one with the highest ratio, as in Kafka."""


@dataclass(frozen=True, slots=True)
class ScheduleSettings:
    """Until when the cleaner is watched, and what it has.

    Attributes:
        until_ms: Where the schedule ends, in ms; a pass may end after it.
        order: Which log a thread takes.
        threads: `log.cleaner.threads`.
        bytes_per_second: `log.cleaner.io.max.bytes.per.second`, of all threads together; None = a
            pass takes no time.
        backoff_ms: `log.cleaner.backoff.ms`: how long a thread sleeps that found nothing to do.
    """

    until_ms: int
    order: Order
    threads: int = 1
    bytes_per_second: int | None = None
    backoff_ms: int = 15_000


def schedule_settings(
    line: ScheduleLine | None, broker: BrokerLines, place: Place, *, now_ms: int
) -> ScheduleSettings | None:
    """What the file at `place` asks for, with the threads of its broker; None = no schedule.

    Raises:
        BadInput: It ends before it begins, or threads have nothing to do.
    """
    if line is None:
        for name in OF_THREADS:
            if getattr(broker, name) is not None:
                place.at("broker").at(dotted(name)).fail(IN_A_SCHEDULE)
        return None
    if line.until_ms < now_ms:
        text = f"{line.until_ms} is before now_ms, {now_ms}"
        place.at("schedule").at("until_ms").fail(text)
    return ScheduleSettings(
        line.until_ms,
        line.order or "highest_ratio",
        broker.log_cleaner_threads or 1,
        broker.log_cleaner_io_max_bytes_per_second,
        broker.log_cleaner_backoff_ms or 15_000,
    )


def check_growth(all_logs: Iterable[Growth], place: Place, *, lasts_ms: int) -> None:
    """Raise BadInput at `place` when the logs get more segments than are looked at one by one."""
    every = [growth.segment_every_ms for growth in all_logs if growth.segment_every_ms is not None]
    text = f"segments more, one every `segment_every_ms` for {lasts_ms} ms"
    place.check(GROWN_SEGMENTS.too_many(sum(lasts_ms // every_ms for every_ms in every), text))
