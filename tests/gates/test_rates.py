"""Budgets are decided by the tests and limits of scipy; too few runs decide nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sim.check.violation import READERS
from sim.study.gates import LEVEL, Budget, GateFinding, Gates, judge
from tests.gates.planted import folder


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
