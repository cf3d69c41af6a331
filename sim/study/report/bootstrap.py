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
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from sim.study.sweep import wording
from sim.study.sweep.stats import TAIL, Interval

RESAMPLES = 2_000
SEED = 1979
TELLING_MIN = 5
"""Cases in which the value is not 0, below which there is no interval: a resample without any of
them is too likely to say how far up the mean may be."""
_RESAMPLES_AT_ONCE = 50

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CostOfRuleSet:
    """A cost per run under one rule set, and against its baseline on the same cases.

    All intervals are two-sided, 95 %, and None without the tables of runs or where too few cases
    tell.
    """

    label: str = ""
    baseline: str = ""
    """Label of the rule set it is compared with (`baselines_of`)."""
    runs: int = 0
    """Those that ended."""
    mean: float | None = None
    interval: Interval | None = None
    """Not below 0; None when `paid_in` is below TELLING_MIN."""
    paid_in: int | None = 0
    """Runs in which it is not 0; None without the tables of runs."""
    ratio: float | None = None
    """Of the means; None for a baseline itself, or when the baseline's mean is 0."""
    ratio_interval: Interval | None = None
    difference: float | None = None
    """Mean of (this - baseline) over the cases both ended; None for a baseline itself."""
    difference_interval: Interval | None = None
    """None when `differing` is below TELLING_MIN."""
    differing: int | None = None
    """Cases in which it costs more or less than the baseline; None for a baseline itself, where no
    case ended under both, and without the tables of runs."""

    @property
    def mean_text(self) -> str:
        """The mean with its interval; where that is missing, in how many runs it is not 0."""
        if self.mean is None:
            return "-"
        if self.interval is not None:
            return f"{wording.number(self.mean)} ({wording.numbers(self.interval)})"
        if self.paid_in is None or not self.mean:
            return wording.number(self.mean)
        return f"{wording.number(self.mean)} (in {wording.counted(self.paid_in, 'run')})"

    @property
    def ratio_text(self) -> str:
        """How many times the baseline, with its interval or in how many cases it differs."""
        if self.ratio is None:
            return ""
        text = wording.ratio(self.ratio, self.ratio_interval)
        return text if self.ratio_interval is not None else text + self._differing_text

    @property
    def difference_text(self) -> str:
        """The mean difference, with its interval or in how many cases there is one."""
        if self.difference is None:
            return ""
        if self.differing == 0:
            return "the same in every case"
        text = wording.signed(self.difference)
        if self.difference_interval is not None:
            return f"{text} ({wording.signed_numbers(self.difference_interval)})"
        return text + self._differing_text

    @property
    def _differing_text(self) -> str:
        if not self.differing:
            return ""
        return f" (other in {wording.counted(self.differing, 'case')})"

    @property
    def paired_text(self) -> str:
        """The ratio where there is one, else the difference; whichever has an interval."""
        if self.differing == 0 or (self.difference_interval and not self.ratio_interval):
            return self.difference_text
        return self.ratio_text or self.difference_text


def costs(by_case: Values, baselines: Sequence[int]) -> list[CostOfRuleSet]:
    """One cost under each rule set, alone and against its baseline; without labels.

    Args:
        by_case: Whole numbers, cases by rule sets; nan for a run that did not end.
        baselines: With which column each is compared; with itself: not at all.
    """
    alone = [_alone(column) for column in by_case.T]
    paired = {
        place: _paired(by_case[:, place], by_case[:, baseline])
        for place, baseline in enumerate(baselines)
        if place != baseline
    }
    blocks = [*alone, *paired.values()]
    sums = _resampled(np.hstack(blocks))
    parts = iter(np.split(sums, np.cumsum([block.shape[1] for block in blocks])[:-1], axis=1))
    found = [_mean(block, next(parts)) for block in alone]
    for place, block in paired.items():
        found[place] = _compared(found[place], block, next(parts))
    return found


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


def _mean(block: Values, drawn: Values) -> CostOfRuleSet:
    own = block.sum(axis=0, keepdims=True)
    runs, paid_in = int(own[0, 0]), int(np.count_nonzero(block[:, 1]))
    if not runs:
        return CostOfRuleSet()
    interval = None
    if paid_in >= TELLING_MIN:
        interval = _studentised(_means(own), _means(_with_two_runs(drawn)))
    if interval is not None:
        interval = Interval(max(0.0, interval.low), interval.high)
    mean = float(own[0, 1]) / runs
    return CostOfRuleSet(runs=runs, mean=mean, interval=interval, paid_in=paid_in)


def _compared(alone: CostOfRuleSet, block: Values, drawn: Values) -> CostOfRuleSet:
    own = block.sum(axis=0, keepdims=True)
    cases, this, base = own[0, :3].tolist()
    if not cases:
        return alone
    telling = [int(np.count_nonzero(block[:, column])) for column in (5, 1, 2)]
    by_difference = by_ratio = None
    drawn = _with_two_runs(drawn)
    if telling[0] >= TELLING_MIN:
        by_difference = _outer(_means(_differences(own)), _means(_differences(drawn)), telling[0])
    if min(telling) >= TELLING_MIN:
        positive = drawn[(drawn[:, 1] > 0) & (drawn[:, 2] > 0)]
        logarithm = _outer(_log_ratios(own), _log_ratios(positive), telling[0])
        by_ratio = None if logarithm is None else Interval(*np.exp(logarithm).tolist())
    return replace(
        alone,
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
