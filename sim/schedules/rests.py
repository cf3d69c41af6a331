"""All of the states that a search met but the replicas, by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sim.schedules.tables import Column, Hashes, Numbers, hash_of_text
from sim.schedules.world import NOTHING_USED, Rest, rest_part


class Rests:
    """Rests by number, from 0 in order of their arrival.

    Attributes:
        values: Index = number.
        histories: For every committed history that was met a rest that has it.
    """

    def __init__(self, rename: Callable[[Rest, int], Rest], orders: int) -> None:
        """None yet; `rename` gives a rest with the names of an order, of which there are some."""
        self.values: list[Rest] = []
        self.histories: list[Rest] = []
        self._numbers: dict[Rest, int] = {}
        self._rename = rename
        self._hashes = Column(np.uint64, 2)
        self._images = Column(np.int32, orders)
        self._facts = Column(np.int32, 5 + len(NOTHING_USED))
        self._same: dict[Rest, int] = {}
        self._history: dict[object, int] = {}
        self._read: dict[tuple[str, ...], Column] = {}

    def number(self, rest: Rest) -> int:
        """The number of a rest, which is new if it never came before."""
        found = self._numbers.setdefault(rest, len(self.values))
        if found == len(self.values):
            self.values.append(rest)
            self._hashes.append(hash_of_text(rest))
            self._facts.append(self._facts_of(rest))
        return found

    @property
    def hashes(self) -> Hashes:
        """Index = number."""
        found: Hashes = self._hashes.values
        return found

    @property
    def facts(self) -> Numbers:
        """Row = number.

        The leader, the in-sync set, that which was told; a number that is the same whatever was
        used of the budgets; the number of the history; how much was used of each budget.
        """
        found: Numbers = self._facts.values
        return found

    def images(self) -> Numbers:
        """Row = number, column = order: the number of the rest with other names."""
        orders = self._images.values.shape[1]
        while self._images.length < len(self.values):
            number = self._images.length
            rest = self.values[number]
            others = [self.number(self._rename(rest, order)) for order in range(1, orders)]
            self._images.append([number, *others])
        found: Numbers = self._images.values
        return found

    def read(self, names: Sequence[str]) -> Hashes:
        """Index = number: a hash of some parts."""
        found = self._read.setdefault(tuple(names), Column(np.uint64, 2))
        for rest in self.values[found.length :]:
            found.append(hash_of_text([rest_part(rest, name) for name in names]))
        hashes: Hashes = found.values
        return hashes

    def _facts_of(self, rest: Rest) -> tuple[int, ...]:
        same = self._same.setdefault(rest._replace(used=NOTHING_USED), len(self._same))
        history = (rest.committed, rest.twice)
        number = self._history.setdefault(history, len(self.histories))
        if number == len(self.histories):
            self.histories.append(rest)
        return (rest.leader, rest.isr, rest.told, same, number, *[one or 0 for one in rest.used])
