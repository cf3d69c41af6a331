"""How often each interval covers the truth: 95 % is a claim, and it can fail.

Where the outcomes can be counted, coverage is summed over all of them and no chance is left.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from sim.study.report import bootstrap
from sim.study.sweep.stats import Interval, clopper_pearson, paired_difference

SHARES = (0.0, 0.001, 0.01, 0.05, 0.2, 0.5)


@pytest.mark.parametrize("runs", [5, 30, 100])
def test_the_interval_of_a_rate_covers_at_least_nominally(runs: int) -> None:
    events = np.arange(runs + 1)
    low, high = np.array([clopper_pearson(int(one), runs) for one in events]).T

    for rate in (*SHARES, 0.002, 0.99, 1.0):
        covered = (low <= rate) & (rate <= high)
        assert stats.binom.pmf(events[covered], runs, rate).sum() >= 0.95


@pytest.mark.parametrize("pairs", [1, 8, 16])
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


DATA_SETS = 1_000
PAID = np.minimum(np.floor(1 + np.random.default_rng(7).exponential(5, 100_000)), 40)
"""What a case pays that pays at all: skewed."""


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "RESAMPLES", 400)


def covers(intervals: list[Interval | None], truth: float) -> float:
    """The share that covers; no interval says nothing wrong."""
    return float(np.mean([one is None or one.low <= truth <= one.high for one in intervals]))


@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize(("cases", "share"), [(60, 0.15), (60, 0.5), (200, 0.03), (200, 0.1)])
def test_the_interval_of_a_rare_cost_covers_about_nominally(cases: int, share: float) -> None:
    """Few cases pay, and what they pay is skewed: Student's covers 88 to 93 % here."""
    chance = np.random.default_rng(34)
    pays = chance.random((DATA_SETS, cases)) < share
    values = pays * chance.choice(PAID, size=pays.shape)

    found = bootstrap.costs(values.T, range(DATA_SETS))  # each is its own baseline

    assert covers([one.interval for one in found], share * PAID.mean()) >= 0.935
    assert all(one.interval is None or one.interval.low >= 0 for one in found)


@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize(("cases", "share", "less"), [(60, 0.5, 0.5), (200, 0.12, 0.1)])
def test_paired_differences_and_ratios_cover_about_nominally(
    cases: int, share: float, less: float
) -> None:
    """Both runs of a case cost nearly the same; 24 to 30 differ, a part `less` of them downwards.

    Where half go down, 16 such cases cover 93 to 94 %; one direction alone covers more.
    """
    chance = np.random.default_rng(280)
    base = np.floor(20 + chance.exponential(30, (DATA_SETS, cases)))
    differs = chance.random(base.shape) < share
    sign = np.where(chance.random(base.shape) < less, -0.5, 1.0)
    these = base + np.floor(sign * differs * chance.choice(PAID, size=base.shape))
    # means of what is drawn, by drawing more of it
    more = np.floor(chance.choice([1.0, -0.5], p=[1 - less, less], size=PAID.size) * PAID)
    truth = share * float(more.mean())
    base_mean = 20 + sum(np.exp(-step / 30) for step in range(1, 2_000))

    columns = np.vstack([base, these]).T  # the baselines first
    baselines = [place % DATA_SETS for place in range(2 * DATA_SETS)]
    pairs = bootstrap.costs(columns, baselines)

    assert not any(pair.differing for pair in pairs[:DATA_SETS])
    found = pairs[DATA_SETS:]
    assert covers([pair.difference_interval for pair in found], truth) >= 0.935
    assert covers([pair.ratio_interval for pair in found], 1 + truth / base_mean) >= 0.935
