"""How often gates fail: seldom without a reason, and nearly always with one. Rates are planted."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.check.families import LOG_DIVERGENCE, READERS
from sim.study.gates import LEVEL, Budget, GateFinding, Gates, judge
from sim.study.report.sweep_folder import SweepFolder
from tests.gates.planted import folder

SWEEPS = 200
SURELY = 3 * (LEVEL * (1 - LEVEL) / SWEEPS) ** 0.5
"""Three standard errors of a share of 5 % in so many sweeps: 5 points."""


def drawn(rng: np.random.Generator, rates: Mapping[str, float], cases: int) -> SweepFolder:
    """A sweep of two rule sets whose families have these rates in each of them."""
    return folder(
        {
            label: {name: int(rng.binomial(cases, rate)) for name, rate in rates.items()}
            for label in ("one", "two")
        },
        cases=cases,
    )


def failing(sweeps: list[SweepFolder], gates: Gates) -> float:
    return sum(judge(sweep, gates).outcome == "failed" for sweep in sweeps) / len(sweeps)


def test_rates_that_are_their_budget_fail_in_few_sweeps_and_not_in_none() -> None:
    rng = np.random.default_rng(1)
    rates = {LOG_DIVERGENCE: 0.05, READERS: 0.2}
    gates = Gates(budgets=(Budget(LOG_DIVERGENCE, 0.05), Budget(READERS, 0.2)))

    false_alarms = failing([drawn(rng, rates, 2_000) for _ in range(SWEEPS)], gates)

    assert LEVEL / 3 < false_alarms < LEVEL + SURELY


def test_a_rate_above_its_budget_fails_in_nearly_all_sweeps() -> None:
    rng = np.random.default_rng(2)
    gates = Gates(budgets=(Budget(LOG_DIVERGENCE, 0.05),))

    alarms = failing([drawn(rng, {LOG_DIVERGENCE: 0.08}, 1_000) for _ in range(100)], gates)

    assert alarms > 0.95


def test_a_rate_below_its_budget_never_passes_before_the_runs_show_it() -> None:
    few, many = folder({"one": {READERS: 0}}, cases=100), folder({"one": {READERS: 0}}, cases=600)
    gates = Gates(budgets=(Budget(READERS, 0.005),))

    (undecided,), (passed,) = judge(few, gates).findings, judge(many, gates).findings

    assert undecided.outcome == "undecided"
    assert "not decided with so few runs" in undecided.text
    assert passed.outcome == "passed"


COUNTS = st.integers(1, 3_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts=COUNTS, limit=st.floats(0.001, 0.999))
def test_limits_and_tests_are_those_of_scipy(counts: tuple[int, int], limit: float) -> None:
    found = GateFinding("budget", "one", "", *counts, None, limit)
    less, greater = (
        stats.binomtest(*counts, limit, alternative=way) for way in ("less", "greater")
    )

    assert found.p == pytest.approx(greater.pvalue)
    assert found.high == pytest.approx(less.proportion_ci(1 - LEVEL, method="exact").high, abs=1e-9)
