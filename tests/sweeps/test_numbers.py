"""Numbers against published ones and against statsmodels, and how they are written."""

import warnings
from functools import partial
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.study.sweep import numbers
from sim.study.sweep.numbers import (
    Interval,
    clopper_pearson,
    holm,
    mcnemar_exact,
)
from sim.study.sweep.runner import progress

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


MINUS = "\u2212"
of_3000 = partial(progress, before=1_000, total=3_000)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (numbers.share(0.12695), "12.7 %"),
        (numbers.share(0.000149), "0.015 %"),
        (numbers.share(1.0), "100 %"),
        (numbers.share(1e-12), "0.00000000010 %"),
        (numbers.shares(Interval(0.107, 0.136)), "10.7 to 13.6 %"),
        (numbers.number(5049.7), "5,050"),
        (numbers.number(-4.0), f"{MINUS}4.00"),
        (numbers.number(0.0), "0"),
        (numbers.p_value(1e-9), "p < 0.0001"),
        (numbers.p_value(0.015625), "p = 0.016"),
        (of_3000(0, seconds=1.0), "1,000 of 3,000 runs, 0 runs/s"),
        (of_3000(1_000, seconds=20.0), "2,000 of 3,000 runs, 50 runs/s, 20 s left"),
        (of_3000(2_000, seconds=40.0), "3,000 of 3,000 runs, 50 runs/s"),
    ],
)
def test_a_number_has_the_digits_that_say_something_its_sign_and_its_unit_once(
    told: str, text: str
) -> None:
    assert told == text
