"""What a file for `replog eligible` says about the time to come: threads, and what is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from sim.files.fields import Fields
from sim.limits import GROWN_SEGMENTS, LOOKS
from sim.logfile.eligible_settings import BACKOFF, IO_RATE, THREADS, Settings

Order = Literal["highest_ratio", "most_overdue"]
"""Which of the eligible logs a thread takes: Kafka's, or the one whose deadline passed first."""

ORDERS: tuple[str, ...] = get_args(Order)
TOO_LONG = f"{LOOKS.most:,} looks, {BACKOFF} apart"

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
    backoff_ms = broker.fields.integer(BACKOFF, 15_000, minimum=1)
    if until_ms - now_ms > LOOKS.most * backoff_ms:
        most = now_ms + LOOKS.most * backoff_ms
        given.fail("until_ms", f"{until_ms} is above the largest allowed, {most}: {TOO_LONG}")
    order = given.choice("order", ORDERS)
    return ScheduleSettings(
        until_ms,
        "most_overdue" if order == "most_overdue" else "highest_ratio",
        broker.fields.integer(THREADS, 1, minimum=1),
        broker.fields.maybe_integer(IO_RATE, minimum=1),
        backoff_ms,
    )


def growth_of(fields: Fields, *, lasts_ms: int | None) -> Growth:
    """What the fields of a log say about its growth in a schedule of `lasts_ms`; None = no such.

    Raises:
        BadInput: A value is of the wrong kind, there is no schedule in which it would count, or the
            log would have more segments than anybody looks at.
    """
    for name in GROWTH_FIELDS:
        if fields.has(name) and lasts_ms is None:
            fields.fail(name, "says something in a schedule alone; give `schedule`")
    survives = fields.values.get("survives")
    if survives is None:
        survives = STEADY.survives
    if type(survives) not in (int, float) or not 0 <= survives <= 1:
        fields.fail("survives", f"expected a number from 0 to 1, not {survives!r}")
    every_ms = fields.maybe_integer("segment_every_ms", minimum=1)
    if every_ms is not None and lasts_ms is not None:
        text = f"segments, one every {every_ms} ms for {lasts_ms} ms"
        fields.at("segment_every_ms").check(GROWN_SEGMENTS.too_many(lasts_ms // every_ms, text))
    return Growth(every_ms, float(survives))
