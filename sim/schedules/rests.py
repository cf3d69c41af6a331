"""All of the states that a search met but the replicas, by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sim.schedules.tables import Derived, Hashes, Numbering, hash_of_text
from sim.schedules.world import NOTHING_USED, Rest, rest_part


class Rests:
    """Rests by number, from 0 in order of their arrival.

    Attributes:
        values: Index = number.
        hashes: A row for each: its hash.
        images: A row for each: in the column of an order, the number of the rest with its names.
        facts: A row for each: the leader, the in-sync set, that which was told; a number that is
            the same whatever was used of the budgets; the number of the history; how much was used
            of each budget.
        histories: For every committed history that was met a rest that has it.
    """

    def __init__(self, rename: Callable[[Rest, int], Rest], orders: int) -> None:
        """None yet; `rename` gives a rest with the names of an order, of which there are some."""
        self._all, self._histories = Numbering(), Numbering()
        self._same = Numbering()
        self.values: list[Rest] = self._all.values
        self.histories: list[Rest] = self._histories.values
        self.hashes = Derived(self.values, hash_of_text, np.uint64, 2)
        self.images = Derived(
            self.values,
            lambda rest: [self.number(rename(rest, order)) for order in range(orders)],
            np.int32,
            orders,
        )
        self.facts = Derived(self.values, self._facts_of, np.int32, 5 + len(NOTHING_USED))
        self._read: dict[tuple[str, ...], Derived] = {}

    def number(self, rest: Rest) -> int:
        """The number of a rest, which is new if it never came before."""
        return self._all.number(rest, rest)

    def read(self, names: Sequence[str]) -> Hashes:
        """Index = number: a hash of some parts."""
        key = tuple(names)
        if key not in self._read:
            self._read[key] = Derived(
                self.values, lambda rest: hash_of_text(_parts(rest, key)), np.uint64, 2
            )
        hashes: Hashes = self._read[key].values
        return hashes

    def _facts_of(self, rest: Rest) -> tuple[int, ...]:
        unused = rest._replace(used=NOTHING_USED)
        return (
            *(rest.leader, rest.isr, rest.told),
            self._same.number(unused, None),
            self._histories.number((rest.committed, rest.twice), rest),
            *[one or 0 for one in rest.used],
        )


def _parts(rest: Rest, names: Sequence[str]) -> list[object]:
    return [rest_part(rest, name) for name in names]
