"""Values by number: what a search meets again and again is kept once, and named by its number.

Of every value a table has a hash of 128 bits that is the same in every process, and, for each way
to rename the replicas, the number of the value with other names.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

V = TypeVar("V", bound=Hashable)
Numbers = NDArray[np.int64]


BITS = 21
"""Of a number of a key."""
_ODD = np.uint64(0xBF58476D1CE4E5B9)


class Column:
    """A growing array of one type, for what vectors look up by number."""

    def __init__(self, kind: Any, width: int = 0) -> None:
        """Empty; `width` 0 = one value a row."""
        self._array = np.zeros((1024, width) if width else 1024, kind)
        self.length = 0

    def append(self, value: Any) -> None:
        """One more row."""
        if self.length == len(self._array):
            self._array = np.concatenate([self._array, np.zeros_like(self._array)])
        self._array[self.length] = value
        self.length += 1

    @property
    def values(self) -> Any:
        """All rows."""
        return self._array[: self.length]


class Memo:
    """Numbers by keys, for many keys at once; a key is a row of up to six numbers.

    Keys are found by a hash of 64 bits and compared in full, so that no two are taken for one.
    """

    def __init__(self) -> None:
        """Nothing is known."""
        self._hashes = np.zeros(0, np.uint64)
        self._keys = np.zeros((0, 2), np.uint64)
        self._values = np.zeros(0, np.int64)

    def look_up(self, keys: Numbers) -> Numbers:
        """The number of each key, -1 for one that is not known."""
        if not len(self._values):
            return np.full(len(keys), -1, np.int64)
        packed = _packed(keys)
        hashes = _mixed(packed)
        place = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        same = (self._keys[place] == packed).all(axis=1)
        return np.where(same, self._values[place], -1)

    def add(self, keys: Numbers, values: Numbers) -> None:
        """These keys, none of which was known, have these numbers."""
        packed = _packed(keys)
        hashes = np.concatenate([self._hashes, _mixed(packed)])
        order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[order]
        if (self._hashes[1:] == self._hashes[:-1]).any():
            raise OverflowError("two keys have one hash")
        self._keys = np.concatenate([self._keys, packed])[order]
        self._values = np.concatenate([self._values, values])[order]

    def resolve(self, keys: Numbers, compute: Callable[[list[int]], int]) -> Numbers:
        """The number of each key; what is not known is computed, and known from then on."""
        found = self.look_up(keys)
        left = np.flatnonzero(found < 0)
        if len(left):
            different, inverse = once(keys[left])
            new = keys[left[different]]
            values = np.array([compute(key) for key in new.tolist()], np.int64)
            self.add(new, values)
            found[left] = values[inverse]
        return found


def once(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Where each different row is first, and which of them each row is."""
    packed = _packed(keys)
    _, first, inverse = np.unique(_mixed(packed), return_index=True, return_inverse=True)
    if not (packed[first][inverse] == packed).all():
        raise OverflowError("two keys have one hash")
    return first, inverse


def _packed(keys: Numbers) -> NDArray[np.uint64]:
    """Two words of three numbers each, which have 21 bits."""
    words = np.zeros((len(keys), 2), np.uint64)
    for place in range(keys.shape[1]):
        column = keys[:, place]
        if len(column) and (column.max() >= 1 << BITS or column.min() < -1):
            raise OverflowError(f"more than {1 << BITS:,} different parts of states")
        word = place // 3
        words[:, word] = words[:, word] << np.uint64(BITS) | (column + 1).astype(np.uint64)
    return words


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed: NDArray[np.uint64] = words[:, 0] * _ODD ^ words[:, 1]
    mixed = (mixed ^ mixed >> np.uint64(29)) * _ODD
    return mixed ^ mixed >> np.uint64(32)


class Table(Generic[V]):
    """Numbers for values, from 0 in order of their arrival.

    Attributes:
        values: Index = number.
        hashes: Two words of 64 bits for each.
    """

    def __init__(
        self,
        rename: Callable[[V, int], V],
        renamings: int,
        facts: Callable[[V], Sequence[int]],
        hash_of: Callable[[V], int] | None = None,
    ) -> None:
        """Empty.

        Args:
            rename: A value with the names of a renaming, by its number.
            renamings: How many there are; number 0 leaves all as it is.
            facts: What vectors ask of a value: always as many numbers.
            hash_of: A number of which the last 128 bits are a value's hash; None = of its text.
        """
        self.values: list[V] = []
        self._numbers: dict[V, int] = {}
        self._rename, self._renamings, self._facts_of = rename, renamings, facts
        self._hash_of = hash_of or _hash_of_text
        self.hashes = Column(np.uint64, 2)
        self._images = Column(np.int64, renamings)
        self._facts: Column | None = None
        self._imaged = 0

    def number(self, value: V) -> int:
        """The number of a value, which is new if it never came before."""
        found = self._numbers.get(value)
        if found is None:
            found = self._numbers[value] = len(self.values)
            self.values.append(value)
            self.hashes.append(divmod(self._hash_of(value) % (1 << 128), 1 << 64))
            facts = self._facts_of(value)
            if self._facts is None:
                self._facts = Column(np.int64, len(facts))
            self._facts.append(facts)
        return found

    def facts(self) -> Numbers:
        """Row = number: what vectors ask."""
        assert self._facts is not None
        found: Numbers = self._facts.values
        return found

    def images(self) -> Numbers:
        """Row = number, column = renaming: the number of the renamed value."""
        while self._imaged < len(self.values):
            value = self.values[self._imaged]
            images = [self._imaged]
            images += [self.number(self._rename(value, one)) for one in range(1, self._renamings)]
            self._images.append(images)
            self._imaged += 1
        found: Numbers = self._images.values
        return found


def _hash_of_text(value: object) -> int:
    return int.from_bytes(blake2b(repr(value).encode(), digest_size=16).digest(), "big")
