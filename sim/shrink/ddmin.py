"""Delta debugging: a value is made smaller for as long as it still shows what it is to show.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), with passes of
more kinds than the removal of chunks. Each pass proposes smaller values one after the other; the
first one that still shows it is the new best, and the pass goes on from where it was. When a round
of passes finds nothing any more, the result is a fixpoint: shrinking it again changes nothing.

Nothing here is left to chance, and no pass looks at the clock: a budget cuts the work short, and
does nothing else. The best so far and the place where the work stands (`Place`) are all there is
to know, so an interrupted shrink goes on from those two as if nothing had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Item = TypeVar("Item")
_Value_co = TypeVar("_Value_co", covariant=True)

Position = tuple[int, ...]
"""Where a pass stands; the pass alone knows what the numbers mean. Empty = at its beginning."""


class Proposal(NamedTuple, Generic[_Value_co]):
    """A value that might do, and where the pass stands if it does."""

    position: Position
    value: _Value_co


Pass: TypeAlias = Callable[[T, Position], Iterator[Proposal[T]]]
"""One way to make a value smaller: smaller values in an order of its own, from a position on."""


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


class Budget(NamedTuple):
    """What a shrink may cost; None = as much as it takes.

    Attributes:
        within_s: Seconds by the clock of the wall.
        tries: How many values are tried.
    """

    within_s: float | None = None
    tries: int | None = None


UNLIMITED: Final = Budget()


class Reduced(NamedTuple, Generic[T]):
    """What came of a shrink.

    Attributes:
        value: The smallest value found.
        tries: How many values were tried, not counting those that had been tried before.
        complete: Whether it came to an end; False = the budget cut it short.
    """

    value: T
    tries: int
    complete: bool


class Reducer(Generic[T]):
    """Shrinks one value.

    Attributes:
        best: The smallest value so far.
        place: Where the work stands.
        tries: How many values were tried so far.
    """

    def __init__(
        self,
        value: T,
        passes: Sequence[Pass[T]],
        *,
        shows: Callable[[T], T | None],
        smaller: Callable[[T, T], bool],
        key: Callable[[T], Hashable],
        place: Place = BEGINNING,
    ) -> None:
        """A shrink that has tried nothing.

        Args:
            value: It shows what it is to show.
            passes: In the order of a round.
            shows: The value, or as much of it as it takes, if it shows it; None = it does not.
            smaller: Whether the first value is smaller than the second; a strict order without
                endless descents, so that shrinking ends.
            key: What tells values apart; a value is not tried twice.
            place: Where an earlier shrink of this value stood.
        """
        self.best = value
        self.place = place
        self.tries = 0
        self._passes = passes
        self._shows = shows
        self._smaller = smaller
        self._key = key
        self._failed: set[Hashable] = set()

    def run(
        self,
        budget: Budget = UNLIMITED,
        *,
        improved: Callable[[T, Place], None] | None = None,
        tried: Callable[[int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> Reduced[T]:
        """Shrink until a round of passes finds nothing, or the budget is spent.

        Args:
            budget: When to stop.
            improved: Told of each new best value and where the work stands then.
            tried: Told after each other try how many there were.
            clock: Seconds, for the budget.
        """
        until = None if budget.within_s is None else clock() + budget.within_s
        while True:
            while self.place.number < len(self._passes):
                for proposal in self._proposals():
                    if (until is not None and clock() >= until) or self.tries == budget.tries:
                        return Reduced(self.best, self.tries, complete=False)
                    before = self.tries
                    if self._take(proposal):
                        if improved is not None:
                            improved(self.best, self.place)
                        break
                    if tried is not None and self.tries > before:
                        tried(self.tries)
                else:
                    self.place = Place(self.place.number + 1, (), self.place.changed)
            if not self.place.changed:
                return Reduced(self.best, self.tries, complete=True)
            self.place = BEGINNING

    def _proposals(self) -> Iterator[Proposal[T]]:
        return self._passes[self.place.number](self.best, self.place.position)

    def _take(self, proposal: Proposal[T]) -> bool:
        """Make a proposal the best value if it is smaller and shows what it is to show."""
        value = proposal.value
        key = self._key(value)
        if key in self._failed:
            return False
        self.tries += 1
        shown = self._shows(value)
        if shown is None or not self._smaller(shown, self.best):
            self._failed.add(key)
            return False
        self.best = shown
        self.place = Place(self.place.number, proposal.position, changed=True)
        return True


def chunks(length: int, start: Position) -> Iterator[tuple[Position, range]]:
    """Parts of a sequence to leave out: halves first, then ever smaller ones, the last part first.

    What comes late depends on what came before, and not the other way round, so leaving out from
    the end finds more. A position is the size of a chunk and where the chunk ends.
    """
    size, end = (start[0], min(start[1], length)) if start else ((length + 1) // 2, length)
    while size >= 1:
        while end > 0:
            begin = max(0, end - size)
            yield (size, end), range(begin, end)
            end = begin
        size, end = size // 2 if size > 1 else 0, length


def without(items: Sequence[Item], left_out: range) -> list[Item]:
    """A sequence without a part of it."""
    return [*items[: left_out.start], *items[left_out.stop :]]


def ddmin(
    items: Sequence[Item],
    shows: Callable[[Sequence[Item]], bool],
    *,
    budget: Budget = UNLIMITED,
    key: Callable[[Sequence[Item]], Hashable] = tuple,
) -> Reduced[Sequence[Item]]:
    """The items of which none can be left out by itself: 1-minimal, not the shortest there is.

    Args:
        items: They show what is to be shown.
        shows: Whether some of them, in their order, do.
        budget: When to stop.
        key: What tells two choices of items apart; default: the items, if they are hashable.
    """

    def remove(value: Sequence[Item], start: Position) -> Iterator[Proposal[Sequence[Item]]]:
        for position, part in chunks(len(value), start):
            yield Proposal(position, without(value, part))

    return Reducer(
        items,
        [remove],
        shows=lambda value: value if shows(value) else None,
        smaller=lambda a, b: len(a) < len(b),
        key=key,
    ).run(budget)
