"""Intervals and tests for counts of violating runs. The unit is the run, never the violation.

Rule sets run on the same cases, so two of them are compared by the cases in which they disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy import stats

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float


def wilson(events: int, runs: int) -> Interval:
    """Wilson's score interval of a proportion (1927), for pictures: 95 % coverage on average.

    Needs `runs` > 0.
    """
    found = stats.binomtest(events, runs).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(float(found.low), float(found.high))


def clopper_pearson(events: int, runs: int) -> Interval:
    """The exact interval of a proportion (Clopper and Pearson 1934): never covers less than 95 %.

    Needs `runs` > 0.
    """
    found = stats.binomtest(events, runs).proportion_ci(CONFIDENCE, method="exact")
    return Interval(float(found.low), float(found.high))


def upper_bound_of_zero(runs: int) -> float:
    """What a proportion is below, with 95 % confidence, when none of `runs` showed the event.

    One-sided and exact: 1 - 0.05 ** (1 / runs), of which 3 / runs is the well-known shorthand.
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / runs)


def mcnemar_exact(only_left: int, only_right: int) -> float:
    """Two-sided p of McNemar's exact test: could the disagreeing pairs be coin flips?

    1.0 when no pair disagrees.
    """
    if only_left + only_right == 0:
        return 1.0
    return float(stats.binomtest(only_left, only_left + only_right, 0.5).pvalue)


def newcombe_paired(both: int, only_left: int, only_right: int, neither: int) -> Interval:
    """The interval of (rate left - rate right) for paired proportions, in [-1, 1].

    Method 10 of Newcombe, Statistics in Medicine 17 (1998) 2635-2650: Wilson's limits of both
    rates, joined with the correlation of the pairs, which is corrected for continuity. Needs at
    least one pair.
    """
    pairs = both + only_left + only_right + neither
    left = (both + only_left) / pairs
    right = (both + only_right) / pairs
    left_limits = wilson(both + only_left, pairs)
    right_limits = wilson(both + only_right, pairs)
    correlation = _corrected_correlation(both, only_left, only_right, neither)

    def width(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one**2 - 2 * correlation * one * other + other**2))

    below = width(left - left_limits.low, right_limits.high - right)
    above = width(left_limits.high - left, right - right_limits.low)
    return Interval(left - right - below, left - right + above)


def _corrected_correlation(both: int, only_left: int, only_right: int, neither: int) -> float:
    product = (
        (both + only_left) * (only_right + neither) * (both + only_right) * (only_left + neither)
    )
    if product == 0:
        return 0.0
    pairs = both + only_left + only_right + neither
    determinant = both * neither - only_left * only_right
    if determinant > 0:
        return max(determinant - pairs / 2, 0.0) / math.sqrt(product)
    return determinant / math.sqrt(product)


def holm(values: Sequence[float]) -> list[float]:
    """The p values adjusted for looking at all of them (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    adjusted = [0.0] * len(values)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = highest
    return adjusted


def mean_interval(total: int, squares: int, runs: int) -> Interval | None:
    """The interval of a mean, from the sum and the sum of squares of `runs` integers (Student's t).

    Both sums are exact integers, so nothing is lost by taking their difference. None for fewer than
    two runs, which say nothing about the spread.
    """
    if runs < 2:
        return None
    mean = total / runs
    variance = (squares * runs - total * total) / (runs * (runs - 1))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, runs - 1)) * math.sqrt(variance / runs)
    return Interval(mean - half, mean + half)
