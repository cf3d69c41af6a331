"""Numbers of a sweep for people: their intervals, tests and notation. The unit is the run.

Rule sets run on the same cases, so two of them are compared by the cases in which they disagree.
Every interval is two-sided, of 95 %; that of a rate covers at least as much. SciPy is imported
where one is computed: who runs a sweep only counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

TAIL = 0.025
"""Probability outside a two-sided interval on either side."""
MINUS = "\u2212"


class Interval(NamedTuple):
    """A two-sided confidence interval."""

    low: float
    high: float


def clopper_pearson(events: int, runs: int) -> Interval:
    """The exact interval of a proportion (Clopper and Pearson 1934): never covers less than 95 %.

    With no event its low end is 0 and its high end 1 - 0.025 ** (1 / runs). Needs `runs` > 0.
    """
    from scipy import special

    low = special.betaincinv(events, runs - events + 1, TAIL) if events else 0.0
    high = special.betaincinv(events + 1, runs - events, 1 - TAIL) if events < runs else 1.0
    return Interval(float(low), float(high))


def mcnemar_exact(only_left: int, only_right: int) -> float:
    """Two-sided p of McNemar's exact test: could the disagreeing pairs be coin flips?

    1.0 when no pair disagrees.
    """
    from scipy import special

    if only_left + only_right == 0:
        return 1.0
    tail = special.bdtr(min(only_left, only_right), only_left + only_right, 0.5)
    return min(1.0, 2 * float(tail))


def mean_difference(total: float, squares: float, differing: int, cases: int) -> Interval | None:
    """Student's interval of the mean of differences; None where fewer than two are not 0.

    Nearly all cases may agree, so the degrees of freedom are those of the cases that differ.

    Args:
        total: Sum of the differences.
        squares: Sum of their squares.
        differing: Number of differences that are not 0.
        cases: Number of all differences.
    """
    from scipy import special

    if differing < 2:
        return None
    variance = max(0.0, squares - total**2 / cases) / (cases - 1)
    half = float(special.stdtrit(differing - 1, 1 - TAIL)) * (variance / cases) ** 0.5
    return Interval(total / cases - half, total / cases + half)


def holm(values: Sequence[float]) -> list[float]:
    """The p values adjusted for looking at all of them (Holm 1979), in the order given."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    scaled = (min(1.0, (len(values) - rank) * values[at]) for rank, at in enumerate(order))
    adjusted = dict(zip(order, accumulate(scaled, max), strict=True))
    return [adjusted[place] for place in range(len(values))]


def count(number: int) -> str:
    """Formats a count as 12,345."""
    return f"{number:,}".replace("-", MINUS)


def counted(number: int, noun: str) -> str:
    """Formats a count with its noun: 1 run, 2 runs."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def share(value: float) -> str:
    """Formats a proportion in per cent: 12.7 %, 0.035 %, 0 %."""
    return f"{_digits(100 * value)} %"


def shares(interval: Interval) -> str:
    """Formats an interval of shares: 10.7 to 13.6 %."""
    return f"{_digits(100 * interval.low)} to {share(interval.high)}"


def number(value: float) -> str:
    """Formats a mean, as a whole number from 1,000 on."""
    if abs(value) >= 1000:
        return count(round(value))
    return _digits(value)


def signed_numbers(interval: Interval) -> str:
    """Formats the interval of a mean difference: +0.83 to +0.86."""
    low, high = (f"{'+' if one > 0 else ''}{number(one)}" for one in interval)
    return f"{low} to {high}"


def p_value(value: float) -> str:
    """Formats a p value: "p < 0.0001", "p = 0.016"."""
    return "p < 0.0001" if value < 1e-4 else f"p = {_digits(value)}"


def _digits(value: float) -> str:
    """Formats with three significant digits from 1 on (all before the point), two below 1.

    There are at most 12 decimals.
    """
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    decimals = max(0, 2 - size) if size >= 0 else 1 - size
    return f"{value:.{min(decimals, 12)}f}".replace("-", MINUS)
