"""Intervals and tests for counts of violating runs. The unit is the run, never the violation.

Rule sets run on the same cases, so two of them are compared by the cases in which they disagree.
Every interval is two-sided, of 95 %; that of a rate covers at least as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from scipy import special

from sim.study.sweep.wording import Interval

TAIL = 0.025
"""Probability outside a two-sided interval on either side."""


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


def mean_difference(total: float, squares: float, differing: int, cases: int) -> Interval | None:
    """Student's interval of the mean of differences; None where fewer than two are not 0.

    Nearly all cases may agree, so the degrees of freedom are those of the cases that differ.

    Args:
        total: Sum of the differences.
        squares: Sum of their squares.
        differing: Number of differences that are not 0.
        cases: Number of all differences.
    """
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
