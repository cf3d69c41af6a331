"""What the harness writes to a real broker: values, deletes, sequences, transactions.

All choices come from a seed, so two runs write the same records.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TypeAlias

KEYS = tuple(f"key-{number}" for number in range(8))
PLAIN = "plain"
IDEMPOTENT = ("idempotent-1", "idempotent-2")
TRANSACTIONAL = ("transactional-1", "transactional-2", "transactional-3")

_TRANSACTION_MS = 600_000  # on a slow machine, too, nobody but the load ends a transaction

Content: TypeAlias = tuple[tuple[str | None, str | None], ...]
"""Keys and values of one batch."""


@dataclass(frozen=True, slots=True)
class Send:
    """A producer sends one batch."""

    producer: str
    content: Content


@dataclass(frozen=True, slots=True)
class End:
    """A transactional producer ends its transaction."""

    producer: str
    commit: bool


Operation: TypeAlias = Send | End


def settings_of(producer: str) -> dict[str, str]:
    """What makes a producer idempotent or transactional."""
    if producer in TRANSACTIONAL:
        return {
            "transactional.id": producer,
            "enable.idempotence": "true",
            "transaction.timeout.ms": str(_TRANSACTION_MS),
        }
    return {"enable.idempotence": str(producer in IDEMPOTENT).lower()}


class Load:
    """Writes operations and remembers which transactions are open."""

    def __init__(self, seed: int) -> None:
        """Begin; the same seed gives the same operations."""
        self._rng = Random(seed)
        self._values = 0
        self._open: list[str] = []

    def some(self, count: int, *, unkeyed: bool = False) -> list[Operation]:
        """About `count` operations of all kinds; every transaction is ended among them.

        Args:
            count: How many before the transactions are ended.
            unkeyed: Also records without a key, which a compacted topic refuses.
        """
        operations = [self._one(unkeyed=unkeyed) for _ in range(count)]
        return operations + [self._end(name) for name in list(self._open)]

    def left_open(self, count: int) -> list[Operation]:
        """A transaction begins; `count` operations later all are ended but this one."""
        first = self._send(TRANSACTIONAL[0])
        operations: list[Operation] = [first]
        for _ in range(count):
            name = self._rng.choice((PLAIN, *IDEMPOTENT, *TRANSACTIONAL))
            ends = name in self._open[1:] and self._rng.random() < 0.6
            operations.append(self._end(name) if ends else self._send(name))
        return operations + [self._end(name) for name in self._open[1:]]

    def end_open(self, *, commit: bool) -> list[Operation]:
        """End what is open."""
        names = list(self._open)
        self._open.clear()
        return [End(name, commit) for name in names]

    def _one(self, *, unkeyed: bool) -> Operation:
        chance = self._rng.random()
        if unkeyed and chance < 0.15:
            return Send(PLAIN, ((None, self._value()), (None, None)))
        if chance < 0.35:
            return self._send(PLAIN)
        if chance < 0.55:
            return self._send(self._rng.choice(IDEMPOTENT))
        name = self._rng.choice(TRANSACTIONAL)
        if name in self._open and self._rng.random() < 0.6:
            return self._end(name)
        return self._send(name)

    def _send(self, name: str) -> Send:
        if name in TRANSACTIONAL and name not in self._open:
            self._open.append(name)
        count = self._rng.randint(1, 4)
        return Send(name, tuple(self._record() for _ in range(count)))

    def _end(self, name: str) -> End:
        self._open.remove(name)
        return End(name, commit=self._rng.random() < 0.5)

    def _record(self) -> tuple[str, str | None]:
        key = self._rng.choice(KEYS)
        return key, None if self._rng.random() < 0.3 else self._value()

    def _value(self) -> str:
        self._values += 1
        return f"value-{self._values}"
