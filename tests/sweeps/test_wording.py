"""How numbers are written."""

import pytest

from sim.study.sweep import wording
from sim.study.sweep.wording import Interval

MINUS = "\u2212"


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (wording.share(0.12695), "12.7 %"),
        (wording.share(0.000149), "0.015 %"),
        (wording.share(1.0), "100 %"),
        (wording.share(1e-12), "0.00000000010 %"),
        (wording.shares(Interval(0.107, 0.136)), "10.7 to 13.6 %"),
        (wording.number(5049.7), "5,050"),
        (wording.number(-4.0), f"{MINUS}4.00"),
        (wording.number(0.0), "0"),
        (wording.p_value(1e-9), "p < 0.0001"),
        (wording.p_value(0.015625), "p = 0.016"),
    ],
)
def test_a_number_has_the_digits_that_say_something_its_sign_and_its_unit_once(
    told: str, text: str
) -> None:
    assert told == text
