"""The choices that one random log is made by: numbers that can be left out and lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """The choices that make one log, random or given.

    Args:
        given: What was chosen before, or some of it.
        rng: Chooses the rest; without it the rest is 0.

    Attributes:
        made: All choices so far.
    """

    def __init__(self, given: Sequence[int] = (), rng: Random | None = None) -> None:
        self.made: list[int] = []
        self._rng = rng
        self._given = given

    def below(self, bound: int) -> int:
        """A number from 0 up to `bound` (exclusive)."""
        at = len(self.made)
        if at < len(self._given):
            chosen = min(self._given[at], bound - 1)
        else:
            chosen = self._rng.randrange(bound) if self._rng is not None else 0
        self.made.append(chosen)
        return chosen

    def once_in(self, times: int) -> bool:
        """Whether what is rare happens."""
        return self.below(times) == times - 1

    def pick(self, *values: T) -> T:
        """One of the values."""
        return values[self.below(len(values))]

    def some(self, least: int, most: int) -> range:
        """To be walked through that often."""
        return range(least + self.below(most - least + 1))


def smallest(choices: Sequence[int], differs: Callable[[Sequence[int]], bool]) -> list[int]:
    """Choices that still make a log that `differs`, as few and as low as was found."""
    best = list(choices)
    size = len(best)
    while size:
        at = 0
        while at < len(best):
            rest = best[at + size :]
            lowered = ([0] * len(best[at : at + size]), [one // 2 for one in best[at : at + size]])
            for attempt in (rest, *(part + rest for part in lowered)):
                tried = best[:at] + attempt
                if tried != best and differs(tried):
                    best = tried
                    break
            else:
                at += size
        size //= 2
    return best


def numbered(seed: int, number: int) -> Choices:
    """The choices of one of the logs of a seed."""
    return Choices(rng=Random(f"{seed}/{number}"))
