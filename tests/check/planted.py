"""Mistakes to plant in what replicas run, and random scenarios that give them work to spoil."""

from collections.abc import Callable
from typing import Any

from sim.compaction.strategies import EarlierOfEquals, HeaderStrategy
from sim.log import Record
from sim.rules import rules_from
from sim.scenario.generate.mix import Mix

LATE = Mix(mix="reference", duration_ms=5000, late_share=(0.3, 0.5), delete_share=(0.2, 0.4))
CALM = Mix(
    mix="reference",
    duration_ms=5000,
    delete_share=(0.3, 0.5),
    faults=(0, 0),
    tail_hunts=0.0,
    idle_phases=(2, 3),
)
KAFKA = {"preset": "kafka-4.0", "map_range": "full"}
BY_HEADER = rules_from({**KAFKA, "strategy": "header", "delete_retention_ms": 60_000})
"""Tombstones outlast the run, so that nothing but a mistake breaks an invariant."""
BY_MARK = rules_from({**KAFKA, "delete_retention_ms": 100})
"""Without faults nobody lags behind a tombstone that goes early."""


class MissingWins(HeaderStrategy):
    """A record without version beats all."""

    def version(self, record: Record) -> tuple[int, ...]:
        found = super().version(record)
        return found if found[0] else (2, 0, record.offset)


class FirstHeader(HeaderStrategy):
    """The first header of the name counts, not the last."""

    def version(self, record: Record) -> tuple[int, ...]:
        return super().version(record._replace(headers=record.headers[::-1]))


class AnyHeader(HeaderStrategy):
    """The last header counts, whatever its name is."""

    def version(self, record: Record) -> tuple[int, ...]:
        named = tuple((self.header, value) for _, value in record.headers)
        return super().version(record._replace(headers=named))


class Unsigned(HeaderStrategy):
    """A negative version is read as a large one."""

    def version(self, record: Record) -> tuple[int, ...]:
        has, number, offset = super().version(record)
        return (has, number % (1 << 64), offset)


ORDERS: dict[str, Callable[[str], Any]] = {
    "equal versions go to the earlier record": lambda name: EarlierOfEquals(HeaderStrategy(name)),
    "no version wins over any": MissingWins,
    "the first header of the name": FirstHeader,
    "the last header of any name": AnyHeader,
    "numbers without sign": Unsigned,
}
MARKS: dict[str, dict[str, Callable[[Record], bool]]] = {
    "flag": {
        "the null value instead of the flag": lambda record: record.value is None,
        "the null value as well": lambda record: record.flagged is True or record.value is None,
        "on null values alone": lambda record: record.flagged is True and record.value is None,
        "the wrong way round": lambda record: not record.flagged,
        "never": lambda record: False,
    },
    "null_value": {
        "an empty text is taken for none": lambda record: not record.value,
    },
}
