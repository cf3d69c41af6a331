"""How often each interval covers the truth: 95 % is a claim, and it can fail.

Where the outcomes can be counted, coverage is summed over all of them and no chance is left.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from sim.report.stats import clopper_pearson, paired_difference

SHARES = (0.0, 0.001, 0.01, 0.05, 0.2, 0.5)


@pytest.mark.parametrize("runs", [5, 30, 200])
def test_the_interval_of_a_rate_covers_at_least_nominally(runs: int) -> None:
    events = np.arange(runs + 1)
    low, high = np.array([clopper_pearson(int(one), runs) for one in events]).T

    for rate in (*SHARES, 0.002, 0.99, 1.0):
        covered = (low <= rate) & (rate <= high)
        assert stats.binom.pmf(events[covered], runs, rate).sum() >= 0.95


@pytest.mark.parametrize("pairs", [1, 8, 25])
def test_the_interval_of_a_paired_difference_covers_at_least_nominally(pairs: int) -> None:
    """Whatever both share: cases that both violate, or neither, do not enter it."""
    cells = [
        (left, right) for left in range(pairs + 1) for right in range(pairs + 1 - left)
    ]  # all that can come out
    low, high = np.array([paired_difference(*one, pairs) for one in cells]).T

    for left, right in itertools.product(SHARES, SHARES):
        difference = left - right
        covered = (low <= difference + 1e-9) & (difference - 1e-9 <= high)
        chances = stats.multinomial.pmf(
            [(*one, pairs - sum(one)) for one in cells], pairs, [left, right, 1 - left - right]
        )
        assert chances[covered].sum() >= 0.95


@pytest.mark.parametrize(
    ("both", "only_left", "only_right"),
    [(0.1, 0.003, 0.0), (0.1, 0.003, 0.001), (0.0, 0.002, 0.002), (0.05, 0.02, 0.01)],
)
def test_rare_disagreement_in_a_thousand_cases_is_covered(
    both: float, only_left: float, only_right: float
) -> None:
    chance = np.random.default_rng(280)
    shares = [both, only_left, only_right, 1 - both - only_left - only_right]
    drawn = chance.multinomial(1_000, shares, size=2_000)
    cells, times = np.unique(drawn[:, 1:3], axis=0, return_counts=True)
    difference = only_left - only_right

    covered = 0
    for (left, right), seen in zip(cells.tolist(), times.tolist(), strict=True):
        low, high = paired_difference(left, right, 1_000)
        covered += seen * (low <= difference <= high)

    assert covered / len(drawn) >= 0.95
