"""The loop of every shrink: passes propose, the first smaller value that still shows it is kept.

Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002),
with passes of more kinds than the removal of chunks. When a round of passes finds nothing any more,
the result is a fixpoint: shrinking it again changes nothing.

Nothing here is left to chance, and no pass looks at the clock: a budget cuts the work short, and
does nothing else. The best so far and the place where the work stands (`Place`) are all there is
to know, so an interrupted shrink goes on from those two as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from sim.check import Violation
from sim.trace import Event

V = TypeVar("V")
Item = TypeVar("Item")

Position = tuple[int, ...]
"""Where a pass stands; the pass alone knows what the numbers mean. Empty = at its beginning."""


class Shown(NamedTuple, Generic[V]):
    """A value that shows what is sought, and its run.

    Attributes:
        value: A story or a scenario.
        violation: What is sought, as it is in this run.
        events: (when, event) of all that happened up to it.
    """

    value: V
    violation: Violation
    events: Sequence[tuple[int, Event]]


Pass: TypeAlias = Callable[[Shown[V], Position], Iterator[tuple[Position, V]]]
"""One way to make a value smaller: smaller ones in an order of its own, from a position on, each
with where the pass stands if it is kept."""


class Place(NamedTuple):
    """Where a shrink stands.

    Attributes:
        number: Of the pass that found the best so far, from 0.
        position: Where that pass stands.
        changed: Whether this round has found anything.
    """

    number: int = 0
    position: Position = ()
    changed: bool = False


BEGINNING: Final = Place()


class Budget:
    """What may be spent, by one shrink or by several after each other.

    Attributes:
        tries: How many values were run so far.
    """

    def __init__(
        self,
        within_s: float | None = None,
        tries: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Seconds from now on and runs; None = as many as it takes."""
        self.tries = 0
        self._within_s, self._most_tries = within_s, tries
        self._clock = clock
        self._begun = clock()

    def renew(self) -> None:
        """Give as many seconds again, from now on."""
        self._begun = self._clock()

    def is_over(self, share: float = 1.0) -> bool:
        """Whether so much of it is spent."""
        if self._most_tries is not None and self.tries >= int(self._most_tries * share):
            return True
        if self._within_s is None:
            return False
        return self._clock() - self._begun >= self._within_s * share


class Reducer(Generic[V]):
    """Shrinks one value.

    Attributes:
        best: The smallest so far.
        place: Where the work stands.
    """

    def __init__(
        self,
        best: Shown[V],
        passes: Sequence[Pass[V]],
        *,
        shows: Callable[[V], Shown[V] | None],
        size: Callable[[Shown[V]], Iterable[Any]],
        key: Callable[[V], Hashable],
        place: Place = BEGINNING,
    ) -> None:
        """A shrink that has tried nothing.

        Args:
            best: What to shrink.
            passes: In the order of a round.
            shows: The value, or as much of it as it takes, if it shows it; None = it does not.
            size: What is compared, the most telling first; there are no endless descents in it.
            key: What tells values apart; a value is not tried twice.
            place: Where an earlier shrink of this value stood.
        """
        self.best = best
        self.place = place if place.number < len(passes) else BEGINNING
        self._passes = passes
        self._shows = shows
        self._size = size
        self._key = key
        self._seen = {key(best.value)}

    def run(
        self, budget: Budget, *, share: float = 1.0, told: Callable[[bool], None] = lambda _: None
    ) -> bool:
        """Shrink until a round finds nothing; False = that share of the budget was spent before.

        `told` hears after each try whether there is a new best.
        """
        while True:
            for position, value in self._passes[self.place.number](self.best, self.place.position):
                if budget.is_over(share):
                    return False
                key = self._key(value)
                if key in self._seen:
                    continue
                self._seen.add(key)
                budget.tries += 1
                improved = self._keep(value, position)
                told(improved)
                if improved:
                    break
            else:
                if self._ended():
                    return True

    def _keep(self, value: V, position: Position) -> bool:
        """Make a value the best if it is smaller and shows what it is to show."""
        shown = self._shows(value)
        if shown is None or not self._is_smaller(shown):
            return False
        self.best = shown
        self._seen.add(self._key(shown.value))
        self.place = Place(self.place.number, position, changed=True)
        return True

    def _is_smaller(self, shown: Shown[V]) -> bool:
        for own, other in zip(self._size(shown), self._size(self.best), strict=True):
            if own != other:
                return bool(own < other)
        return False

    def _ended(self) -> bool:
        """Whether all is done; if not, the place is the beginning of the next pass."""
        number, _, changed = self.place
        if number + 1 < len(self._passes):
            self.place = Place(number + 1, (), changed)
            return False
        self.place = BEGINNING
        return not changed


def in_order(smaller: Callable[[Shown[V]], Iterable[V]]) -> Pass[V]:
    """A pass of proposals that are counted through: the position is the number of one, from 0."""

    def run(best: Shown[V], start: Position) -> Iterator[tuple[Position, V]]:
        since = start[0] if start else 0
        for number, value in enumerate(smaller(best)):
            if number >= since:
                yield (number,), value

    return run


def in_chunks(
    count: Callable[[V], int], without: Callable[[Shown[V], range], Iterable[V]]
) -> Pass[V]:
    """A pass that leaves out parts of so many: halves first, then ever smaller ones.

    What comes late depends on what came before, and not the other way round, so leaving out from
    the end finds more. A position is the size of a chunk and where the chunk ends.
    """

    def run(best: Shown[V], start: Position) -> Iterator[tuple[Position, V]]:
        for position, part in chunks(count(best.value), start):
            for value in without(best, part):
                yield position, value

    return run


def chunks(length: int, start: Position) -> Iterator[tuple[Position, range]]:
    """The parts that `in_chunks` leaves out, from a position on."""
    size, end = (start[0], min(start[1], length)) if start else ((length + 1) // 2, length)
    while size >= 1:
        while end > 0:
            begin = max(0, end - size)
            yield (size, end), range(begin, end)
            end = begin
        size, end = size // 2 if size > 1 else 0, length


def alike(names: Sequence[Iterable[Hashable]]) -> list[frozenset[int]]:
    """The indexes of what has a name in common, each set of them once."""
    found: dict[Hashable, set[int]] = {}
    for index, own in enumerate(names):
        for name in own:
            found.setdefault(name, set()).add(index)
    return list(dict.fromkeys(map(frozenset, found.values())))


def without(items: Sequence[Item], *left_out: int) -> list[Item]:
    """A sequence without some of it, by index."""
    return [item for index, item in enumerate(items) if index not in left_out]


def put_at(items: Sequence[Item], index: int, item: Item) -> tuple[Item, ...]:
    """A sequence with another item at an index."""
    return (*items[:index], item, *items[index + 1 :])
