"""How often gates fail: seldom without a reason, and nearly always with one. Rates are planted."""

from collections.abc import Mapping

import numpy as np
import pytest

from sim.check.families import FAMILIES, LOG_DIVERGENCE, READERS
from sim.gates import Budget, Gates, judge
from sim.gates.baseline import Comparison, compare_with
from sim.gates.cells import cells_of
from sim.gates.finding import Finding, Place, Seen
from sim.gates.judge import corrected
from sim.gates.wanted import LEVEL
from sim.report import one_sided
from sim.report.sweep_folder import SweepFolder
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

    assert (undecided.outcome, undecided.runs_needed) == ("undecided", 598)
    assert "not decided with so few runs; at this rate about 598 would do" in undecided.text
    assert passed.outcome == "passed"


def alarms_against_an_earlier_sweep(
    rng: np.random.Generator, earlier: Mapping[str, float], now: Mapping[str, float], sweeps: int
) -> float:
    """In what share of pairs of sweeps with these rates the later one fails, with other cases."""
    failed = 0
    for _ in range(sweeps):
        one, other = drawn(rng, now, 1_000), drawn(rng, earlier, 1_000)
        compared, _notes = compare_with(cells_of(one), one, other, tuple(FAMILIES))
        failed += any(found.outcome == "failed" for found in corrected(compared))
    return failed / sweeps


def test_a_sweep_with_the_rates_of_the_earlier_one_fails_in_few_cases() -> None:
    rates = {LOG_DIVERGENCE: 0.04, READERS: 0.15}

    false_alarms = alarms_against_an_earlier_sweep(np.random.default_rng(3), rates, rates, SWEEPS)

    assert LEVEL / 5 < false_alarms < LEVEL + SURELY  # Fisher's test is below its level


def test_a_sweep_in_which_one_family_doubled_fails_in_nearly_all_cases() -> None:
    earlier, now = {LOG_DIVERGENCE: 0.05, READERS: 0.15}, {LOG_DIVERGENCE: 0.1, READERS: 0.15}

    alarms = alarms_against_an_earlier_sweep(np.random.default_rng(4), earlier, now, 100)

    assert alarms > 0.95


def in_pairs(rng: np.random.Generator, worse: float, better: float) -> list[Comparison]:
    """Six families on 1,000 cases of which these shares change for worse and for better."""
    compared = []
    for name in FAMILIES:
        only_now, only_earlier, _ = rng.multinomial(1_000, [worse, better, 1 - worse - better])
        p = one_sided.grown_in_pairs(only_now, only_earlier)
        place = Place("one", "plain", alone=True)
        finding = Finding("baseline", name, place, Seen(100, 1_000), earlier=Seen(100, 1_000), p=p)
        lowest = one_sided.grown_in_pairs(only_now + only_earlier, 0)
        compared.append(Comparison(finding, lowest, one_sided.grown_in_pairs(1_000, 0)))
    return compared


@pytest.mark.parametrize(
    ("worse", "better", "at_least", "at_most"),
    [(0.02, 0.02, LEVEL / 5, LEVEL + SURELY), (0.03, 0.01, 0.95, 1.0)],
)
def test_cases_that_change_either_way_alike_seldom_fail_and_a_change_for_worse_does(
    worse: float, better: float, at_least: float, at_most: float
) -> None:
    rng = np.random.default_rng(5)

    alarms = sum(
        any(found.outcome == "failed" for found in corrected(in_pairs(rng, worse, better)))
        for _ in range(SWEEPS)
    )

    assert at_least < alarms / SWEEPS <= at_most
