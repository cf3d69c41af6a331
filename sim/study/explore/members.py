"""Every replica, or every rest, that a search met, by number, with its names in all orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from sim.study.explore.parts import Changes, Member, Parts
from sim.study.explore.tables import Column, Hashes, Known, Memo, Numbering, Numbers


class Members:
    """Replicas, or rests, by number; each is a row of numbers of parts, its hash the sum of theirs.

    Attributes:
        parts: The parts of them.
    """

    def __init__(
        self,
        parts: Parts,
        orders: int,
        start: Sequence[Member],
        facts: Callable[[Member], list[int]],
    ) -> None:
        """Those of the start.

        Args:
            parts: The parts of them.
            orders: The ways to rename replicas, of which 0 leaves all as it is.
            start: Those of the start, which have the first numbers.
            facts: What is looked up of each: see `facts`.
        """
        self.parts, self._facts_of = parts, facts
        self._rows = Column(np.int32, len(start[0]))
        self._hashes = Column(np.uint64, 2)
        self._known = Known()
        self._facts = Column(np.int32, len(facts(start[0])))
        self._images = Column(np.int32, orders)
        self._orbits = Column(np.uint64)
        self._read: dict[tuple[int, ...], Column] = {}
        self._changed = Memo(self._with_changes)
        self._changes = Numbering(())
        for one in start:
            self.number(one)

    def __getitem__(self, number: int) -> Member:
        """One in parts."""
        return tuple(self._rows.values[number].tolist())

    def __len__(self) -> int:
        """How many were met."""
        return self._rows.length

    def number(self, member: Sequence[int]) -> int:
        """The number of one, which is new if it never came before."""
        row = np.array([member], np.int32)
        return int(self._numbers(row, self._hashes_of(row))[0])

    @property
    def hashes(self) -> Hashes:
        """Index = number."""
        found: Hashes = self._hashes.values
        return found

    @property
    def facts(self) -> Numbers:
        """Row = number: what is looked up of it."""
        found: Numbers = self._facts.values
        return found

    def images(self) -> Numbers:
        """Row = number, column = order: the number of the same with other names."""
        while self._images.length < len(self):
            begin = self._images.length
            rows = self._rows.values[begin:].copy()
            images = [np.arange(begin, len(self))]
            for order in range(1, self._images.values.shape[1]):
                other = self.parts.images(rows, order)
                places = self.parts.naming
                more = self._hashes_of(other[:, places]) - self._hashes_of(rows[:, places])
                images.append(self._numbers(other, self.hashes[begin : begin + len(rows)] + more))
            self._images.extend(np.column_stack(images))
        found: Numbers = self._images.values
        return found

    def orbits(self) -> NDArray[np.uint64]:
        """Index = number: a number that is the same with other names."""
        images = self.images()
        new = images[self._orbits.length :]
        self._orbits.extend(self.hashes[new, 0].min(axis=1))
        found: NDArray[np.uint64] = self._orbits.values
        return found

    def read(self, places: tuple[int, ...]) -> Hashes:
        """Index = number: a hash of the parts at some places."""
        found = self._read.setdefault(places, Column(np.uint64, 2))
        if found.length < len(self):
            rows = self._rows.values[found.length :]
            found.extend(self._hashes_of(rows[:, places]))
        hashes: Hashes = found.values
        return hashes

    def changed(self, numbers: Numbers, changes: Numbers) -> Numbers:
        """The numbers of some once each was changed, by the number of the changes."""
        return self._changed.of(np.column_stack([numbers, changes]))

    def number_of(self, changes: Changes) -> int:
        """The number of some changes; 0 = none."""
        return self._changes.number(changes, changes)

    def parts_at(self, place: int, numbers: Numbers) -> Numbers:
        """The numbers of a part of some."""
        found: Numbers = self._rows.values[numbers, place]
        return found

    def _with_changes(self, pairs: Numbers) -> Numbers:
        """The numbers of some with changes; a row is the numbers of both."""
        hash_of = self.parts.hashes.values
        numbers, kinds = pairs[:, 0], pairs[:, 1]
        rows = self._rows.values.take(numbers, axis=0)
        hashes = self.hashes.take(numbers, axis=0)
        in_order = np.argsort(kinds, kind="stable")
        different, begins = np.unique(kinds[in_order], return_index=True)
        for change, at in zip(different.tolist(), np.split(in_order, begins[1:]), strict=True):
            places, parts = (list(one) for one in zip(*self._changes.values[change], strict=True))
            before = rows[at[:, None], places]
            hashes[at] += hash_of[parts].sum(axis=0) - hash_of[before].sum(axis=1)
            rows[at[:, None], places] = parts
        return self._numbers(rows, hashes)

    def _hashes_of(self, parts: NDArray[np.int32]) -> Hashes:
        """The sum of the hashes of each row of parts."""
        hashes = self.parts.hashes.values
        found: Hashes = np.zeros((len(parts), 2), np.uint64)
        for place in range(parts.shape[1]):
            found += hashes.take(parts[:, place], axis=0)
        return found

    def _numbers(self, rows: NDArray[np.int32], hashes: Hashes) -> Numbers:
        found = self._known.get(hashes)
        at = np.flatnonzero(found < 0)
        if len(at):
            new = at[self._known.add(hashes[at])]
            self._rows.extend(rows.take(new, axis=0))
            self._hashes.extend(hashes[new])
            self._facts.extend([self._facts_of(tuple(row)) for row in rows[new].tolist()])
            found[at] = self._known.get(hashes[at])
        return found
