"""The loop of every shrink: passes propose, the first smaller value that shows the target is kept.

Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002),
with more kinds of passes than the removal of chunks. When a round of passes finds nothing, the
result is a fixpoint: shrinking it again changes nothing.

There is no randomness, and no pass looks at the clock: a budget only ends the work early. To go on
after that, shrink the best found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from math import inf
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import Struct, structs

from sim.check import Violation
from sim.protocol.events import Event

V = TypeVar("V")
Item = TypeVar("Item")


class ShownTarget(NamedTuple, Generic[V]):
    """A value that shows the target of a shrink, and its run.

    Attributes:
        value: A story or a scenario.
        violation: The target's violation in this run.
        events: (time, event) up to the violation.
    """

    value: V
    violation: Violation
    events: Sequence[tuple[int, Event]]


class Pass(NamedTuple, Generic[V]):
    """A way to make a value smaller.

    Attributes:
        edits: Edits to try, in order; by default the smaller values themselves.
        made: Smaller values that an edit makes.
    """

    edits: Callable[[ShownTarget[V]], Iterable[Any]]
    made: Callable[[ShownTarget[V], Any], Iterable[V]] = lambda _, value: (value,)


class ShrinkBudget:
    """A limit of seconds and runs for one shrink, or several in a row.

    Attributes:
        tries: Number of values run so far.
    """

    def __init__(self, within_s: float | None = None, tries: int | None = None) -> None:
        """Starts the budget: seconds from now on, and runs; None for no limit."""
        self.tries = 0
        self._most_s = inf if within_s is None else within_s
        self._most_tries = inf if tries is None else tries
        self._begun = time.monotonic()

    def is_over(self, share: float = 1.0) -> bool:
        """Checks that this share of the budget is spent."""
        spent_s = time.monotonic() - self._begun
        return self.tries >= self._most_tries * share or spent_s >= self._most_s * share


class ShrinkKind(NamedTuple, Generic[V]):
    """The passes, size and identity of values that are shrunk in the same way.

    Attributes:
        passes: Passes in the order of a round.
        size: Size of a value, the most important part first; no value can get smaller for ever.
        key: Identity of a value; no value is tried twice.
    """

    passes: Sequence[Pass[V]]
    size: Callable[[ShownTarget[V]], Iterable[Any]]
    key: Callable[[V], Hashable]


class Reducer(Generic[V]):
    """Shrinks one value.

    Attributes:
        best: Smallest value so far.
    """

    def __init__(
        self,
        best: ShownTarget[V],
        kind: ShrinkKind[V],
        shows: Callable[[V], ShownTarget[V] | None],
    ) -> None:
        """Starts with nothing tried.

        Args:
            best: Value to shrink.
            kind: Passes and size of such values.
            shows: Function that runs a value and returns as much of it as shows the target, or
                None.
        """
        self.best, self._size = best, [*kind.size(best)]
        self._kind, self._shows = kind, shows
        self._seen = {kind.key(best.value)}
        self._untried = self._rounds()

    def run(
        self,
        budget: ShrinkBudget,
        *,
        share: float = 1.0,
        report: Callable[[bool], None] = lambda _: None,
    ) -> bool:
        """Shrinks until a round finds nothing; False if the share of the budget is spent before.

        `report` is called after each try, with True for a new best. A further call goes on.
        """
        while not budget.is_over(share):
            best = self.best
            if next(self._untried, None) is None:
                return True
            budget.tries += 1
            report(self.best is not best)
        return False

    def _rounds(self) -> Iterator[V]:
        """Tries values until a round of passes finds nothing smaller; yields each after its try.

        A pass goes on from the edit that succeeded, and then starts again, since edits that failed
        may succeed after later ones.
        """
        before = None
        while before is not self.best:
            before = self.best
            for one in self._kind.passes:
                since: int | None = 0
                while since is not None:
                    found = yield from self._improved(one, since)
                    since = 0 if found is None and since else found

    def _improved(self, one: Pass[V], since: int) -> Generator[V, None, int | None]:
        """Tries the edits of a pass from an index on; returns that of the first that succeeds."""
        for position, edit in islice(enumerate(one.edits(self.best)), since, None):
            for value in one.made(self.best, edit):
                if self._is_new(value):
                    improved = self._keep(value)
                    yield value
                    if improved:
                        return position
        return None

    def _is_new(self, value: V) -> bool:
        before = len(self._seen)
        self._seen.add(self._kind.key(value))
        return len(self._seen) > before

    def _keep(self, value: V) -> bool:
        """Makes a value the best if it is smaller and shows the target."""
        shown = self._shows(value)
        if shown is None or (size := [*self._kind.size(shown)]) >= self._size:
            return False
        self.best, self._size = shown, size
        self._is_new(shown.value)
        return True


def chunks(count: int) -> Iterator[range]:
    """Yields ranges of indices to leave out: halves first, then ever smaller ones, from the end.

    Later parts depend on earlier ones, so leaving out from the end succeeds more often.
    """
    size = (count + 1) // 2
    while size:
        yield from (range(max(0, end - size), end) for end in range(count, 0, -size))
        size //= 2


def without(items: Sequence[Item], *left_out: int) -> list[Item]:
    """Removes items of a sequence by index."""
    return [item for index, item in enumerate(items) if index not in left_out]


def put_at(items: Sequence[Item], index: int, item: Item) -> tuple[Item, ...]:
    """Replaces the item at an index."""
    return (*items[:index], item, *items[index + 1 :])


def plainer(own: Any, default: Any) -> Iterator[Any]:
    """Yields the default, then copies of the value with one part of the default each."""
    if own == default:
        return
    yield default
    if type(own) is not type(default):
        return
    change = structs.replace if isinstance(own, Struct) else replace
    put = getattr(own, "_replace", partial(change, own))
    for name in getattr(type(own), "__match_args__", ()):
        for less in plainer(getattr(own, name), getattr(default, name)):
            yield put(**{name: less})
    if type(own) is tuple and len(own) == len(default) and hasattr(type(own[0]), "__match_args__"):
        for index, pair in enumerate(zip(own, default, strict=True)):
            for less in plainer(*pair):
                yield put_at(own, index, less)
