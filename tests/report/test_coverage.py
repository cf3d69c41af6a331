"""How often an interval that no other library has covers the truth: 95 % can fail."""

import numpy as np
import pytest

from sim.study.sweep.numbers import mean_difference

DATA_SETS = 1_000
PAID = np.minimum(np.floor(1 + np.random.default_rng(7).exponential(5, 100_000)), 40)
"""How much more a case pays that pays more at all: skewed."""


@pytest.mark.parametrize(("cases", "share", "less"), [(60, 0.5, 0.5), (200, 0.12, 0.1)])
def test_the_interval_of_a_mean_difference_covers_about_nominally(
    cases: int, share: float, less: float
) -> None:
    """Some 24 to 30 cases differ, a part `less` of them downwards."""
    chance = np.random.default_rng(280)
    differs = chance.random((DATA_SETS, cases)) < share
    sign = np.where(chance.random(differs.shape) < less, -0.5, 1.0)
    found = np.floor(sign * differs * chance.choice(PAID, size=differs.shape))
    more = np.floor(chance.choice([1.0, -0.5], p=[1 - less, less], size=PAID.size) * PAID)
    truth = share * float(more.mean())

    covered = [
        mean_difference(one.sum(), (one**2).sum(), np.count_nonzero(one), cases) for one in found
    ]

    assert np.mean([one is None or one.low <= truth <= one.high for one in covered]) >= 0.93
