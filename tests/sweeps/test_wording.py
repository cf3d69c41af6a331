"""How numbers are written."""

import pytest

from sim.sweeps import wording
from sim.sweeps.stats import Interval

MINUS = "\u2212"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12695, "12.7 %"),
        (0.0035, "0.35 %"),
        (0.000149, "0.015 %"),
        (1.0, "100 %"),
        (0.01234, "1.23 %"),
        (0.0, "0 %"),
        (1e-12, "0.00000000010 %"),
    ],
)
def test_shares(value: float, text: str) -> None:
    assert wording.share(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0035, "+0.35 points"), (-0.124, f"{MINUS}12.4 points"), (0.0, "0 points")],
)
def test_differences_carry_their_sign(value: float, text: str) -> None:
    assert wording.points(value) == text


def test_intervals_name_their_unit_once() -> None:
    assert wording.shares(Interval(0.107, 0.136)) == "10.7 to 13.6 %"
    assert wording.interval_points(Interval(-0.0019, 0.0019)) == f"{MINUS}0.19 to +0.19 points"


@pytest.mark.parametrize(
    ("value", "text"), [(5049.7, "5,050"), (12.345, "12.3"), (-4.0, f"{MINUS}4.00"), (0.0, "0")]
)
def test_means(value: float, text: str) -> None:
    assert wording.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(1e-9, "p < 0.0001"), (0.015625, "p = 0.016"), (1.0, "p = 1.00")]
)
def test_p_values(value: float, text: str) -> None:
    assert wording.p_value(value) == text
