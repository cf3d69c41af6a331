"""Intervals of what a run costs on average, by resampling the cases of a sweep.

Costs are skewed, and many are 0 in nearly every run: Student's interval of such a mean reaches
below zero and covers too seldom, and so do percentiles of resampled means. The studentised
bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5) takes the
spread of each resample into account. Where differences have both signs, few cases tell its two
tails badly; a difference, or a ratio, gets on each side the outer end of that one and of Student's,
which counts only the cases that differ.
`tests/report/test_coverage.py` says how often they cover.

A case is drawn with its runs under all rule sets, so that what is compared stays paired. Resamples
depend on the number of cases alone, and sums of integers are exact as floats below 2**53: the same
runs give the same interval on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from sim.sweeps.stats import TAIL, Interval

RESAMPLES = 2_000
SEED = 1979
TELLING_MIN = 5
"""Cases in which the value is not 0, below which there is no interval: a resample without any of
them is too likely to say how far up the mean may be."""
_RESAMPLES_AT_ONCE = 50

Values = npt.NDArray[np.float64]


class MeanCost(NamedTuple):
    """What the runs of a rule set cost; `interval` is two-sided, 95 %."""

    runs: int
    """Those that ended."""
    paid_in: int | None
    """Runs in which it is not 0; None without the tables of runs."""
    mean: float | None
    interval: Interval | None
    """Not below 0; None when `paid_in` is below TELLING_MIN."""


class PairedCost(NamedTuple):
    """What two rule sets cost on the cases that ended under both; intervals as in MeanCost.

    All is None for a rule set that is its own baseline, and where no case ended under both.
    """

    differing: int | None = None
    """Cases in which it is not the same under both; None without the tables of runs."""
    difference: float | None = None
    """Mean of (this - baseline)."""
    difference_interval: Interval | None = None
    """None when `differing` is below TELLING_MIN."""
    ratio: float | None = None
    """Mean of this / mean of the baseline; None when the latter is 0."""
    ratio_interval: Interval | None = None


def costs(by_case: Values, baselines: Sequence[int]) -> tuple[list[MeanCost], list[PairedCost]]:
    """One cost under each rule set, alone and against its baseline.

    Args:
        by_case: Whole numbers, cases by rule sets; nan for a run that did not end.
        baselines: With which column each is compared; with itself: not at all.
    """
    alone = [_alone(column) for column in by_case.T]
    paired = [
        None if place == baseline else _paired(by_case[:, place], by_case[:, baseline])
        for place, baseline in enumerate(baselines)
    ]
    blocks = [*alone, *(block for block in paired if block is not None)]
    sums = _resampled(np.hstack(blocks))
    parts = iter(np.split(sums, np.cumsum([block.shape[1] for block in blocks])[:-1], axis=1))
    return (
        [_mean(block, next(parts)) for block in alone],
        [PairedCost() if block is None else _comparison(block, next(parts)) for block in paired],
    )


def _alone(values: Values) -> Values:
    """Columns to add up: whether the run ended, its cost, the square of it."""
    ended = ~np.isnan(values)
    known = np.where(ended, values, 0.0)
    return np.column_stack([ended, known, known**2])


def _paired(these: Values, baseline: Values) -> Values:
    """Columns to add up: whether both ended, both costs, and squares: theirs, of the difference."""
    both = ~np.isnan(these) & ~np.isnan(baseline)
    this, base = np.where(both, these, 0.0), np.where(both, baseline, 0.0)
    return np.column_stack([both, this, base, this**2, base**2, (this - base) ** 2])


def _resampled(columns: Values) -> Values:
    """The sums of each column over RESAMPLES draws of as many cases, with replacement."""
    cases, width = columns.shape
    chance = np.random.default_rng(SEED)
    sums = np.empty((RESAMPLES, width))
    for start in range(0, RESAMPLES, _RESAMPLES_AT_ONCE):
        drawn = chance.integers(cases, size=(_RESAMPLES_AT_ONCE, cases))
        times = np.array([np.bincount(one, minlength=cases) for one in drawn], dtype=np.float64)
        sums[start : start + _RESAMPLES_AT_ONCE] = times @ columns
    return sums


def _mean(block: Values, drawn: Values) -> MeanCost:
    own = block.sum(axis=0, keepdims=True)
    runs, paid_in = int(own[0, 0]), int(np.count_nonzero(block[:, 1]))
    if not runs:
        return MeanCost(0, 0, None, None)
    interval = None
    if paid_in >= TELLING_MIN:
        interval = _studentised(_means(own), _means(_with_two_runs(drawn)))
    if interval is not None:
        interval = Interval(max(0.0, interval.low), interval.high)
    return MeanCost(runs, paid_in, float(own[0, 1]) / runs, interval)


def _comparison(block: Values, drawn: Values) -> PairedCost:
    own = block.sum(axis=0, keepdims=True)
    cases, this, base = own[0, :3].tolist()
    if not cases:
        return PairedCost()
    telling = [int(np.count_nonzero(block[:, column])) for column in (5, 1, 2)]
    by_difference = by_ratio = None
    drawn = _with_two_runs(drawn)
    if telling[0] >= TELLING_MIN:
        by_difference = _outer(_means(_differences(own)), _means(_differences(drawn)), telling[0])
    if min(telling) >= TELLING_MIN:
        positive = drawn[(drawn[:, 1] > 0) & (drawn[:, 2] > 0)]
        logarithm = _outer(_log_ratios(own), _log_ratios(positive), telling[0])
        by_ratio = None if logarithm is None else Interval(*np.exp(logarithm).tolist())
    return PairedCost(
        differing=telling[0],
        difference=(this - base) / cases,
        difference_interval=by_difference,
        ratio=this / base if base else None,
        ratio_interval=by_ratio,
    )


def _with_two_runs(sums: Values) -> Values:
    """Resamples that have a spread at all: nearly every case may be one that did not end."""
    return sums[sums[:, 0] >= 2]


def _differences(sums: Values) -> Values:
    return np.column_stack([sums[:, 0], sums[:, 1] - sums[:, 2], sums[:, 5]])


class _Estimates(NamedTuple):
    """Numbers with their standard errors: one, or one of each resample."""

    values: Values
    errors: Values


def _means(sums: Values) -> _Estimates:
    """Of cases, sums and sums of squares."""
    cases, totals, squares = sums.T
    spread = np.maximum(squares - totals**2 / cases, 0.0)
    return _Estimates(totals / cases, np.sqrt(spread / np.maximum(cases - 1, 1) / cases))


def _log_ratios(sums: Values) -> _Estimates:
    """The logarithms of ratios of means, by the delta method."""
    cases, this, base, this_squares, base_squares, difference_squares = sums.T
    ratio = this / base
    products = (this_squares + base_squares - difference_squares) / 2
    # the sum of squares of (this - ratio * base), whose mean is 0
    spread = np.maximum(this_squares - 2 * ratio * products + ratio**2 * base_squares, 0.0)
    return _Estimates(np.log(ratio), np.sqrt(spread * cases / np.maximum(cases - 1, 1)) / this)


def _studentised(own: _Estimates, drawn: _Estimates) -> Interval | None:
    """By the studentised bootstrap; None where it has no finite end."""
    [value], [error] = own
    if not error:  # every case says the same
        return Interval(float(value), float(value))
    deviations = drawn.values - value
    with np.errstate(divide="ignore", invalid="ignore"):  # resamples without any spread
        studentised = np.where(deviations == 0, 0.0, deviations / drawn.errors)
    tails = np.quantile(studentised, [1 - TAIL, TAIL], method="inverted_cdf")
    found = value - tails * error
    return Interval(*found.tolist()) if np.isfinite(found).all() else None


def _outer(own: _Estimates, drawn: _Estimates, telling: int) -> Interval | None:
    """The outer ends of that one and Student's, with as many degrees as `telling` cases leave."""
    found = _studentised(own, drawn)
    if found is None:
        return None
    [value], [error] = own
    half = float(stats.t.ppf(1 - TAIL, telling - 1)) * float(error)
    return Interval(min(found.low, float(value) - half), max(found.high, float(value) + half))
