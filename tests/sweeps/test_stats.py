"""Intervals and tests against published numbers and against statsmodels."""

import warnings
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.study.sweep.stats import (
    clopper_pearson,
    holm,
    mcnemar_exact,
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
