"""Growing arrays, and tables that number many 128-bit hashes at once.

Among ten million hashes, two are equal by chance with a probability of 1 in 10**24.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Hashes = NDArray[np.uint64]
"""Two words of 64 bits a row."""

_SPREAD = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
_SHIFT = np.uint64(31)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
ODD = np.array([pow(0x9E3779B97F4A7C15, one + 1, 1 << 64) for one in range(64)], np.uint64)
"""Odd numbers by which hashes are multiplied before they are added, one for each place.

They are powers of one number: no sum of a few of them is the sum of others, as 1 + 7 is 3 + 5. By
1, 3, 5 and 7 the four replicas x, y, y, x would have the same hash as y, x, x, y.
"""


class GrowingColumn:
    """A growing array of one type, from which vectors look up rows by number."""

    def __init__(self, kind: Any, width: int = 0) -> None:
        """Starts empty; with `width` 0 a row is one value."""
        self._array = np.zeros((1024, width) if width else 1024, kind)
        self.length = 0

    def append(self, value: Any) -> None:
        """Appends a row to the column."""
        self._make_room(1)
        self._array[self.length] = value
        self.length += 1

    def extend(self, values: Any) -> None:
        """Appends several rows to the column."""
        self._make_room(len(values))
        self._array[self.length : self.length + len(values)] = values
        self.length += len(values)

    @property
    def values(self) -> Any:
        """The rows so far."""
        return self._array[: self.length]

    def _make_room(self, rows: int) -> None:
        if self.length + rows > len(self._array):
            larger = max(2 * len(self._array), self.length + rows)
            array = np.zeros((larger, *self._array.shape[1:]), self._array.dtype)
            array[: self.length] = self.values
            self._array = array


class Numbering:
    """Numbers for values, from 0 in order of their arrival.

    Attributes:
        values: The values; the index is their number.
    """

    def __init__(self, *values: Hashable) -> None:
        """Starts with some values, each its own key."""
        self.values: list[Any] = list(values)
        self._numbers: dict[Hashable, int] = {one: at for at, one in enumerate(values)}

    def of(self, value: Hashable) -> int:
        """The number of a value that is its own key."""
        return self.number(value, value)

    def number(self, key: Hashable, value: Any) -> int:
        """The number of a value, a new one if its key is new."""
        found = self._numbers.setdefault(key, len(self.values))
        if found == len(self.values):
            self.values.append(value)
        return found


class Derived:
    """A row for each value of a growing list, computed on demand."""

    def __init__(
        self, of: Sequence[Any], compute: Callable[[Any], Any], kind: Any, width: int = 0
    ) -> None:
        """Starts without rows; with `width` 0 a row is one value."""
        self._of, self._compute, self._column = of, compute, GrowingColumn(kind, width)

    @property
    def values(self) -> Any:
        """The rows; the index is the number of the value."""
        column, of = self._column, self._of
        while column.length < len(of):
            column.append(self._compute(of[column.length]))
        return column.values


class Known:
    """Numbers for hashes, from 0 in order of their arrival: a table with open addressing."""

    def __init__(self) -> None:
        """Starts without any known hash."""
        self.size = 0
        self._make(1024)

    def _make(self, length: int) -> None:
        self._first, self._second = np.zeros(length, np.uint64), np.zeros(length, np.uint64)
        self._numbers = np.zeros(length, np.int64)
        self._last = length - 1

    def get(self, hashes: Hashes) -> Numbers:
        """The number of each hash; -1 for an unknown one."""
        first, second = hashes[:, 0], hashes[:, 1]
        at = first.astype(np.int64) & self._last
        found = np.where(self._are_at(at, first, second), self._numbers.take(at), -1)
        left = np.flatnonzero((found < 0) & (self._first.take(at) != 0))
        at = at[left]
        while len(left):
            at = at + 1 & self._last
            same = self._are_at(at, first[left], second[left])
            found[left[same]] = self._numbers[at[same]]
            on = np.flatnonzero(~same & (self._first[at] != 0))
            left, at = left[on], at[on]
        return found

    def add(self, hashes: Hashes) -> Mask:
        """Adds hashes; returns a mask of the new ones, of equal ones the first."""
        while 2 * (self.size + len(hashes)) > len(self._first):
            self._grow()
        first, second, numbers = hashes[:, 0], hashes[:, 1], self._numbers
        new = np.zeros(len(hashes), np.bool_)
        slots = np.zeros(len(hashes), np.int64)
        left = np.arange(len(hashes) - 1, -1, -1)  # reversed: the last write to a slot stays
        at = first[left].astype(np.int64) & self._last
        while len(left):
            free = np.flatnonzero(self._first[at] == 0)
            numbers[at[free]] = left[free]
            won = free[numbers[at[free]] == left[free]]
            self._first[at[won]], self._second[at[won]] = first[left[won]], second[left[won]]
            new[left[won]], slots[left[won]] = True, at[won]
            on = np.flatnonzero(~self._are_at(at, first[left], second[left]))
            left, at = left[on], at[on] + 1 & self._last
        kept = np.flatnonzero(new)
        numbers[slots[kept]] = np.arange(self.size, self.size + len(kept))
        self.size += len(kept)
        return new

    def _are_at(self, at: Numbers, first: NDArray[np.uint64], second: NDArray[np.uint64]) -> Mask:
        there: Mask = self._first.take(at) == first
        there &= self._second.take(at) == second
        return there

    def _grow(self) -> None:
        used = np.flatnonzero(self._first)
        in_order = np.empty_like(used)
        in_order[self._numbers[used]] = used
        known = np.column_stack([self._first[in_order], self._second[in_order]])
        self._make(2 * len(self._first))
        self.size = 0
        self.add(known)


class Memo:
    """Results that were computed for rows of numbers, kept by hash."""

    def __init__(self, compute: Callable[[Numbers], Any]) -> None:
        """Starts without results; `compute` returns a number for each of some rows."""
        self._compute, self._known, self._values = compute, Known(), GrowingColumn(np.int64)

    def of(self, rows: Numbers) -> Numbers:
        """The number for each row; what was never seen is computed."""
        hashes = hash_of(rows)
        numbers = self._known.get(hashes)
        left = np.flatnonzero(numbers < 0)
        if len(left):
            new = left[self._known.add(hashes[left])]
            self._values.extend(self._compute(rows[new]))
            numbers[left] = self._known.get(hashes[left])
        found: Numbers = self._values.values.take(numbers)
        return found


def one_by_one(compute: Callable[[list[int]], int]) -> Memo:
    """A memo of a function of one row."""
    return Memo(lambda rows: [compute(row) for row in rows.tolist()])


def hash_of(numbers: Numbers) -> Hashes:
    """A hash of each row of numbers of 32 bits, which are mixed two at a time."""
    words = np.zeros((2, len(numbers)), np.uint64)
    for place in range(0, numbers.shape[1], 2):
        column = numbers[:, place].astype(np.uint64) & _LOW
        if place + 1 < numbers.shape[1]:
            column |= numbers[:, place + 1].astype(np.uint64) << _HALF
        column += ODD[place]
        column ^= column >> _SHIFT
        for word, spread in enumerate(_SPREAD):
            mixed = column * spread
            mixed ^= mixed >> _SHIFT
            words[word] += mixed * ODD[place]
    words ^= words >> _SHIFT
    return np.ascontiguousarray(words.T)


def hash_of_text(value: object) -> tuple[int, int]:
    """The hash of the text of a value (`repr`), the same in every process."""
    digest = blake2b(repr(value).encode(), digest_size=16).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")
