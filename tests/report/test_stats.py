"""Intervals and tests against published numbers and against statsmodels."""

import math
import warnings
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.report.stats import (
    clopper_pearson,
    holm,
    mcnemar_exact,
    mean_interval,
    newcombe_paired,
    upper_bound_of_zero,
    wilson,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own affairs
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint
    from statsmodels.stats.weightstats import DescrStatsW

CELLS = st.tuples(*[st.integers(0, 200)] * 4).filter(lambda cells: sum(cells) > 0)


@pytest.mark.parametrize(
    ("events", "runs", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998) 857-872, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_the_published_interval(events: int, runs: int, low: float, high: float) -> None:
    assert wilson(events, runs) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("events", "runs", "low", "high"),
    [  # the same table, method 5
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0000, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_clopper_pearson_is_the_published_interval(
    events: int, runs: int, low: float, high: float
) -> None:
    assert clopper_pearson(events, runs) == pytest.approx((low, high), abs=5e-5)


@given(runs=st.integers(1, 5_000), data=st.data())
def test_intervals_of_a_rate_are_those_of_statsmodels(runs: int, data: st.DataObject) -> None:
    events = data.draw(st.integers(0, runs))

    assert wilson(events, runs) == pytest.approx(
        proportion_confint(events, runs, method="wilson"), abs=1e-12
    )
    assert clopper_pearson(events, runs) == pytest.approx(
        proportion_confint(events, runs, method="beta"), abs=1e-9
    )


def test_newcombes_paired_interval_is_the_published_one() -> None:
    # Newcombe, Statistics in Medicine 17 (1998) 2635-2650, method 10
    assert newcombe_paired(36, 12, 2, 0) == pytest.approx((0.0569, 0.3404), abs=5e-5)


@given(cells=CELLS)
def test_the_paired_interval_holds_the_difference_and_turns_with_the_sides(
    cells: tuple[int, int, int, int],
) -> None:
    both, only_left, only_right, neither = cells
    difference = (only_left - only_right) / sum(cells)

    low, high = newcombe_paired(*cells)

    assert -1 - 1e-9 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1 + 1e-9
    turned = newcombe_paired(both, only_right, only_left, neither)
    assert turned == pytest.approx((-high, -low), abs=1e-12)


def test_pairs_that_agree_make_the_paired_interval_narrower() -> None:
    together, apart = newcombe_paired(100, 10, 10, 880), newcombe_paired(10, 100, 100, 790)

    assert together.high - together.low < apart.high - apart.low


@given(only_left=st.integers(0, 300), only_right=st.integers(0, 300))
def test_mcnemars_test_is_that_of_statsmodels(only_left: int, only_right: int) -> None:
    table = [[5, only_left], [only_right, 5]]
    expected = 1.0 if only_left + only_right == 0 else mcnemar(table, exact=True).pvalue

    assert mcnemar_exact(only_left, only_right) == pytest.approx(min(1.0, expected), rel=1e-9)


def test_seven_against_none_is_one_in_sixty_four() -> None:
    assert mcnemar_exact(7, 0) == pytest.approx(2 / 2**7)


@pytest.mark.parametrize(("runs", "bound"), [(1_000, 0.00299), (2_000, 0.001497), (1, 0.95)])
def test_nothing_seen_bounds_the_rate(runs: int, bound: float) -> None:
    assert upper_bound_of_zero(runs) == pytest.approx(bound, abs=2e-6)
    assert (1 - upper_bound_of_zero(runs)) ** runs == pytest.approx(0.05)


def test_the_bound_of_nothing_seen_is_about_three_over_n() -> None:
    assert upper_bound_of_zero(10**6) == pytest.approx(3e-6, rel=0.002)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holms_correction_is_that_of_statsmodels(values: list[float]) -> None:
    with patch("gc.collect"):  # it would collect at each call
        expected = multipletests(values, method="holm")[1]

    assert holm(values) == pytest.approx(list(expected), abs=1e-12)


@given(st.lists(st.integers(-(10**6), 10**6), min_size=2, max_size=50))
def test_the_interval_of_a_mean_is_that_of_statsmodels(values: list[int]) -> None:
    found = mean_interval(sum(values), sum(value * value for value in values), len(values))

    assert found is not None
    if len(set(values)) == 1:
        assert found == (values[0], values[0])
        return
    expected = DescrStatsW(values).tconfint_mean()
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


def test_large_sums_lose_nothing() -> None:
    far = 10**12
    found = mean_interval(far * 3, (far - 1) ** 2 + far**2 + (far + 1) ** 2, 3)

    assert found is not None
    assert found.high - found.low == pytest.approx(2 * 4.302653 / math.sqrt(3), abs=1e-3)


def test_one_run_has_no_interval() -> None:
    assert mean_interval(5, 25, 1) is None
