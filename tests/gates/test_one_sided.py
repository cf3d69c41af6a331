"""Tests with one direction against statsmodels and scipy's own, and against published numbers."""

import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.study.gates import one_sided

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own affairs
    from statsmodels.stats.proportion import proportion_confint

COUNTS = st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts=COUNTS, level=st.sampled_from([0.01, 0.05, 0.2]))
def test_the_limits_are_the_ends_of_the_two_sided_interval_of_twice_the_level(
    counts: tuple[int, int], level: float
) -> None:
    low, high = proportion_confint(*counts, alpha=2 * level, method="beta")

    assert one_sided.least(*counts, level) == pytest.approx(low, abs=1e-9)
    assert one_sided.most(*counts, level) == pytest.approx(high, abs=1e-9)


@given(counts=COUNTS, limit=st.floats(0.001, 0.999))
def test_a_rate_is_above_a_limit_where_its_lower_limit_is(
    counts: tuple[int, int], limit: float
) -> None:
    p = one_sided.above(*counts, limit)

    assert p == pytest.approx(stats.binomtest(*counts, limit, alternative="greater").pvalue)
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (one_sided.least(*counts, 0.05) > limit)


@pytest.mark.parametrize(
    ("events", "runs", "limit", "needed"),
    [
        (0, 10, 0.005, 598),  # 0.995 ** 598 is the first below 5 %
        (0, 10_000, 0.005, 10_000),  # enough as it is
        (5, 100, 0.05, None),  # the rate seen is the limit
    ],
)
def test_it_is_known_how_many_runs_would_decide(
    events: int, runs: int, limit: float, needed: int | None
) -> None:
    assert one_sided.runs_to_decide(events, runs, limit, 0.05) == needed


@pytest.mark.parametrize("comparisons", [1, 10])
def test_the_runs_needed_decide_and_fewer_do_not(comparisons: int) -> None:
    needed = one_sided.runs_to_decide(6, 100, 0.05, 0.05, comparisons=comparisons)

    assert needed is not None
    for runs, decided in ((needed, True), (needed * 9 // 10, False)):
        low = one_sided.least(0.06 * runs, runs, 0.05 / comparisons)
        assert (low > 0.05) == decided
