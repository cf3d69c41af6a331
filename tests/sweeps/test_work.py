"""What a worker does with a case: whatever happens in a run is a row."""

import contextlib
import time
from collections.abc import Callable

import pytest

from sim.bounds import Bounds
from sim.check.violation import Violation
from sim.protocol.rules import Rules
from sim.simulate.run import Run
from sim.study.sweep.columns import VIOLATIONS_PER_RUN_MAX, reported
from sim.study.sweep.plan import Sweep, number_runs
from sim.study.sweep.work import RunCase, rows_of_cases
from tests.sweeps.fakes import plan, quick

SWEEP = number_runs(plan())


def test_the_scenario_of_a_case_is_drawn_once_for_all_rule_sets() -> None:
    opened = []

    def open_case(sweep: Sweep, case_id: int) -> RunCase:
        opened.append(case_id)
        return quick(sweep, case_id)

    rows = list(rows_of_cases(SWEEP, range(4), open_case=open_case))

    assert opened == [0, 1, 2, 3]
    assert [row["run_id"] for row in rows] == list(range(12))
    assert [row["fix"] for row in rows[:3]] == ["none", "leo_retention", "empty_batch"]
    assert len({row["seed"] for row in rows}) == 4


def spin() -> None:
    while True:
        with contextlib.suppress(Exception):  # no handler may swallow the bound
            time.sleep(10)


def want_memory() -> None:
    raise MemoryError


@pytest.mark.parametrize(
    ("happens", "verdict", "column", "told"),
    [
        (lambda: {}["k"], "error", "error", "KeyError: 'k'\n"),
        (spin, "inconclusive", "reason", "wall time: more than 0.05 s"),
        (want_memory, "inconclusive", "reason", "memory: none is left"),
    ],
)
def test_whatever_happens_in_a_run_is_its_row_and_costs_no_other_run(
    happens: Callable[[], object], verdict: str, column: str, told: str
) -> None:
    def open_case(sweep: Sweep, case_id: int) -> RunCase:
        def run(settings: Rules) -> Run:
            if case_id == 0:
                happens()
            return quick(sweep, case_id)(settings)

        return run

    rows = list(rows_of_cases(SWEEP, range(2), open_case=open_case, bounds=Bounds(0.05)))

    assert [row["verdict"] for row in rows] == [verdict] * 3 + ["holds"] * 3
    assert all(row[column].endswith(told) for row in rows[:3])
    assert column != "error" or "in run" in rows[0]["error"]  # with its traceback


def violated(*invariants: str) -> tuple[Violation, ...]:
    return tuple(
        Violation(name, at, None, None, None, "it happened") for at, name in enumerate(invariants)
    )


def test_the_first_violation_of_every_invariant_is_kept_and_the_rest_is_capped() -> None:
    kept = reported(violated(*["often"] * 100, "late", *["often"] * 5))

    positions = [position for position, _violation in kept]
    assert len(kept) == VIOLATIONS_PER_RUN_MAX
    assert positions == [*range(VIOLATIONS_PER_RUN_MAX - 1), 100]
