"""Intervals and tests for counts of violating runs. The unit is the run, never the violation.

Rule sets run on the same cases, so two of them are compared by the cases in which they disagree.
Every interval is two-sided and covers at least 95 %; an interval of a difference leaves out 0 if
and only if the test of that difference has p below 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import special

CONFIDENCE = 0.95
TAIL = (1 - CONFIDENCE) / 2
"""What a two-sided interval leaves out on either side."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)
_PRECISION = 1e-10
"""Of the limits of a paired difference, far below what is shown."""


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float


def clopper_pearson(events: int, runs: int) -> Interval:
    """The exact interval of a proportion (Clopper and Pearson 1934): never covers less than 95 %.

    With no event its low end is 0 and its high end 1 - 0.025 ** (1 / runs). Needs `runs` > 0.
    """
    low = special.betaincinv(events, runs - events + 1, TAIL) if events else 0.0
    high = special.betaincinv(events + 1, runs - events, 1 - TAIL) if events < runs else 1.0
    return Interval(float(low), float(high))


def mcnemar_exact(only_left: int, only_right: int) -> float:
    """Two-sided p of McNemar's exact test: could the disagreeing pairs be coin flips?

    1.0 when no pair disagrees.
    """
    if only_left + only_right == 0:
        return 1.0
    tail = special.bdtr(min(only_left, only_right), only_left + only_right, 0.5)
    return min(1.0, 2 * float(tail))


@lru_cache(maxsize=1 << 14)
def paired_difference(only_left: int, only_right: int, pairs: int) -> Interval:
    """The interval of (rate left - rate right) for paired proportions, in [-1, 1].

    Fay and Lumbard, Statistics in Medicine 40 (2021) 1147-1159: it goes with McNemar's exact test,
    so that it leaves out 0 if and only if that test has p < 0.05. Needs `pairs` > 0.
    """
    low = _low_end(only_left, only_right, pairs)
    return Interval(low, -_low_end(only_right, only_left, pairs))


def _low_end(only_left: int, only_right: int, pairs: int) -> float:
    """The low end of a paired difference.

    The difference is (share of pairs that disagree) * (2 * lean - 1), where lean is the share of
    left among those. What Clopper and Pearson's limits leave open about each of the two, at every
    confidence at once, is a beta distribution; the low end is the 2.5 % quantile of the product. A
    lean to the left counts with the low side of the share, one to the right with the high side.
    """
    from scipy.optimize import brentq  # to be imported, it takes as long as all else here

    apart = only_left + only_right
    if only_left == 0:  # the lean is 0 at its low side
        return -clopper_pearson(apart, pairs).high
    to_the_right = float(special.betainc(only_left, only_right + 1, 0.5))
    if to_the_right < TAIL:
        lean, weights = _lean(only_left, only_right, to_the_right, 1.0)

        def above(difference: float) -> float:
            share = np.minimum(1.0, difference / lean)
            within = special.betainc(apart, pairs - apart + 1, share)
            return float(to_the_right + weights @ within) - TAIL

        return float(brentq(above, 0.0, 1.0, xtol=_PRECISION))
    lean, weights = _lean(only_left, only_right, 0.0, to_the_right)
    if apart == pairs:  # the share is 1 at its high side
        return float(2 * special.betaincinv(only_left, only_right + 1, TAIL) - 1)

    def below(difference: float) -> float:
        share = np.minimum(1.0, difference / lean)
        return float(weights @ special.betaincc(apart + 1, pairs - apart, share)) - TAIL

    return float(brentq(below, -1.0, 0.0, xtol=_PRECISION))


def _lean(
    only_left: int, only_right: int, start: float, end: float
) -> tuple[np.ndarray, np.ndarray]:
    """2 * lean - 1 at the nodes of an integral over its quantiles from `start` to `end`."""
    quantiles = start + (end - start) * (_NODES + 1) / 2
    lean = 2 * special.betaincinv(only_left, only_right + 1, quantiles) - 1
    return lean, _WEIGHTS * (end - start) / 2


def mean_difference(total: float, squares: float, differing: int, cases: int) -> Interval | None:
    """Student's interval of the mean of differences; None where fewer than two are not 0.

    Of many cases nearly all may agree: the degrees of freedom are those of the cases that differ.

    Args:
        total: Sum of the differences.
        squares: Sum of their squares.
        differing: How many are not 0.
        cases: How many there are.
    """
    if differing < 2:
        return None
    variance = max(0.0, squares - total**2 / cases) / (cases - 1)
    half = float(special.stdtrit(differing - 1, 1 - TAIL)) * (variance / cases) ** 0.5
    return Interval(total / cases - half, total / cases + half)


def holm(values: Sequence[float]) -> list[float]:
    """The p values adjusted for looking at all of them (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = highest
    return adjusted
