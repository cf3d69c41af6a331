"""Exact intervals for a share, in plain Python: what is asked about has a few dozen tries."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

LEVEL = 0.05
"""Of 20 intervals at most one misses the true share, on average."""

_HALVINGS = 40


class Interval(NamedTuple):
    """Where a share lies with confidence 1 - `LEVEL`."""

    low: float
    high: float


def clopper_pearson(events: int, tries: int) -> Interval:
    """The exact interval of a share (Clopper and Pearson 1934), two-sided.

    Needs 0 <= `events` <= `tries`, and `tries` above 0.
    """
    low = 0.0 if events == 0 else _where(lambda share: _tail(events, tries, share), LEVEL / 2)
    missed = tries - events
    high = 1.0 if missed == 0 else 1.0 - _where(lambda s: _tail(missed, tries, s), LEVEL / 2)
    return Interval(low, high)


def _tail(events: int, tries: int, share: float) -> float:
    """Chance of so many events or more; it rises with the share."""
    rest = 1.0 - share
    return sum(comb(tries, n) * share**n * rest ** (tries - n) for n in range(events, tries + 1))


def _where(rises: Callable[[float], float], value: float) -> float:
    """Where in [0, 1] a function that rises reaches a value."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < value else (low, middle)
    return (low + high) / 2
