"""Intervals and tests against published numbers and against statsmodels."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.study.sweep.stats import (
    clopper_pearson,
    holm,
    mcnemar_exact,
    paired_difference,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the oracle's own affairs
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests
    from statsmodels.stats.proportion import proportion_confint


@given(runs=st.integers(1, 5_000), data=st.data())
def test_the_interval_of_a_rate_is_that_of_statsmodels(runs: int, data: st.DataObject) -> None:
    events = data.draw(st.integers(0, runs))

    assert clopper_pearson(events, runs) == pytest.approx(
        proportion_confint(events, runs, method="beta"), abs=1e-9
    )


@st.composite
def paired(draw: st.DrawFn) -> tuple[int, int, int]:
    """Cases violated by left alone, by right alone, and all cases."""
    only_left, only_right = draw(st.integers(0, 200)), draw(st.integers(0, 200))
    return only_left, only_right, only_left + only_right + draw(st.integers(0, 10**6)) or 1


@given(cells=paired())
def test_the_paired_interval_holds_the_difference_and_turns_with_the_sides(
    cells: tuple[int, int, int],
) -> None:
    only_left, only_right, pairs = cells

    low, high = paired_difference(*cells)

    assert -1 <= low <= (only_left - only_right) / pairs + 1e-9
    assert (only_left - only_right) / pairs - 1e-9 <= high <= 1
    assert paired_difference(only_right, only_left, pairs) == (-high, -low)


@given(cells=paired())
def test_the_paired_interval_leaves_out_zero_where_mcnemars_test_rejects(
    cells: tuple[int, int, int],
) -> None:
    only_left, only_right, pairs = cells

    low, high = paired_difference(only_left, only_right, pairs)

    assert (low > 0 or high < 0) == (mcnemar_exact(only_left, only_right) < 0.05)


def test_pairs_that_never_disagree_bound_the_difference_as_one_rate() -> None:
    bound = clopper_pearson(0, 2_000).high

    assert paired_difference(0, 0, 2_000) == pytest.approx((-bound, bound))


@pytest.mark.parametrize("cells", [(25, 4, 10_000), (12, 2, 14), (12, 2, 50), (480, 500, 2_000)])
def test_the_low_end_is_a_quantile_of_the_product_of_two_betas(cells: tuple[int, int, int]) -> None:
    only_left, only_right, pairs = cells
    apart = only_left + only_right
    chance = np.random.default_rng(2021)
    lean = 2 * chance.beta(only_left, only_right + 1, 400_000) - 1
    share = np.where(
        lean > 0,
        chance.beta(apart, pairs - apart + 1, lean.size),
        chance.beta(apart + 1, pairs - apart, lean.size) if apart < pairs else 1.0,
    )

    low = paired_difference(*cells).low

    assert np.mean(share * lean <= low) == pytest.approx(0.025, abs=0.001)


@given(only_left=st.integers(0, 300), only_right=st.integers(0, 300))
def test_mcnemars_test_is_that_of_statsmodels(only_left: int, only_right: int) -> None:
    table = [[5, only_left], [only_right, 5]]
    expected = 1.0 if only_left + only_right == 0 else mcnemar(table, exact=True).pvalue

    assert mcnemar_exact(only_left, only_right) == pytest.approx(min(1.0, expected), rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holms_correction_is_that_of_statsmodels(values: list[float]) -> None:
    with patch("gc.collect"):  # it would collect at each call
        expected = multipletests(values, method="holm")[1]

    assert holm(values) == pytest.approx(list(expected), abs=1e-12)
