"""What a file for `replog eligible` says about the time to come: threads, and what is written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from sim.files.document import Place
from sim.files.fields import Fields
from sim.limits import GROWN_SEGMENTS
from sim.logfile.eligible_settings import BACKOFF, IO_RATE, THREADS, Settings

Order = Literal["highest_ratio", "most_overdue"]
"""Which of the eligible logs a thread takes: Kafka's, or the one whose deadline passed first."""

ORDERS: tuple[str, ...] = get_args(Order)

GROWTH_FIELDS = ("segment_every_ms", "survives")
"""Fields of a log that have a meaning in a schedule alone."""


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


def schedule_at(fields: Fields, broker: Settings, *, now_ms: int) -> ScheduleSettings | None:
    """The file's `schedule` with the threads of its `broker`; None = it asks for none.

    Raises:
        BadInput: A field is missing, unknown or of the wrong kind, or threads have nothing to do.
    """
    if not fields.has("schedule"):
        for name in (THREADS, IO_RATE, BACKOFF):
            if broker.fields.has(name):
                broker.fields.fail(name, "says something in a schedule alone; give `schedule`")
        return None
    given = Fields(fields.values["schedule"], fields.at("schedule"), ("until_ms", "order"))
    given.require("until_ms")
    until_ms = given.integer("until_ms")
    if until_ms < now_ms:
        given.fail("until_ms", f"{until_ms} is before now_ms, {now_ms}")
    order = given.choice("order", ORDERS)
    return ScheduleSettings(
        until_ms,
        "most_overdue" if order == "most_overdue" else "highest_ratio",
        broker.fields.integer(THREADS, 1, minimum=1),
        broker.fields.maybe_integer(IO_RATE, minimum=1),
        broker.fields.integer(BACKOFF, 15_000, minimum=1),
    )


def growth_of(fields: Fields, *, lasts_ms: int | None) -> Growth:
    """What the fields of a log say about its growth in a schedule of `lasts_ms`; None = no such.

    Raises:
        BadInput: A value is of the wrong kind, or there is no schedule in which it would count.
    """
    for name in GROWTH_FIELDS:
        if fields.has(name) and lasts_ms is None:
            fields.fail(name, "says something in a schedule alone; give `schedule`")
    survives = fields.values.get("survives")
    if survives is None:
        survives = STEADY.survives
    if type(survives) not in (int, float) or not 0 <= survives <= 1:
        fields.fail("survives", f"expected a number from 0 to 1, not {survives!r}")
    return Growth(fields.maybe_integer("segment_every_ms", minimum=1), float(survives))


def check_growth(all_logs: Iterable[Growth], place: Place, *, lasts_ms: int) -> None:
    """Raise BadInput at `place` when the logs get more segments than are looked at one by one."""
    every = [growth.segment_every_ms for growth in all_logs if growth.segment_every_ms is not None]
    text = f"segments more, one every `segment_every_ms` for {lasts_ms} ms"
    place.check(GROWN_SEGMENTS.too_many(sum(lasts_ms // every_ms for every_ms in every), text))
