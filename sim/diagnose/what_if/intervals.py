"""Exact intervals for a share, in plain Python: what is asked about has a few dozen tries."""

from __future__ import annotations

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
    return Interval(_low_end(events, tries), 1.0 - _low_end(tries - events, tries))


def _low_end(events: int, tries: int) -> float:
    """Finds the share at which so many events or more have a chance of `LEVEL` / 2."""
    low, high = 0.0, 1.0 if events else 0.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        ways = [comb(tries, n) * share**n * (1 - share) ** (tries - n) for n in range(tries + 1)]
        low, high = (share, high) if sum(ways[events:]) < LEVEL / 2 else (low, share)
    return (low + high) / 2
