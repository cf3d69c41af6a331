"""What a worker does with a case: whatever happens in a run is a row."""

import contextlib
import time

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


def test_an_exception_in_a_run_is_a_row_with_its_traceback() -> None:
    def open_case(_sweep: Sweep, _case_id: int) -> RunCase:
        def run(settings: Rules) -> Run:
            raise KeyError(settings.cleaner.fix)

        return run

    rows = list(rows_of_cases(SWEEP, range(2), open_case=open_case))

    assert [row["verdict"] for row in rows] == ["error"] * 6
    assert rows[1]["error"].endswith("KeyError: 'leo_retention'\n")
    assert "in run" in rows[1]["error"]


def test_a_run_without_end_is_inconclusive_and_names_the_bound() -> None:
    def open_case(_sweep: Sweep, _case_id: int) -> RunCase:
        def run(_settings: Rules) -> Run:
            while True:
                with contextlib.suppress(Exception):  # no handler may swallow the bound
                    time.sleep(10)

        return run

    rows = list(rows_of_cases(SWEEP, range(1), open_case=open_case, bounds=Bounds(0.05)))

    assert [row["verdict"] for row in rows] == ["inconclusive"] * 3
    assert {row["reason"] for row in rows} == {"wall time: more than 0.05 s"}


def test_a_run_that_wants_too_much_memory_is_inconclusive_and_costs_no_other_run() -> None:
    def open_case(sweep: Sweep, case_id: int) -> RunCase:
        def run(settings: Rules) -> Run:
            if case_id == 0:
                raise MemoryError
            return quick(sweep, case_id)(settings)

        return run

    rows = list(rows_of_cases(SWEEP, range(2), open_case=open_case))

    assert [row["verdict"] for row in rows[:3]] == ["inconclusive"] * 3
    assert {row["reason"] for row in rows[:3]} == {"memory: none is left"}
    assert {row["verdict"] for row in rows[3:]} == {"holds"}


def violated(*invariants: str) -> tuple[Violation, ...]:
    return tuple(
        Violation(name, at, None, None, None, "it happened") for at, name in enumerate(invariants)
    )


def test_the_first_violation_of_every_invariant_is_kept_and_the_rest_is_capped() -> None:
    kept = reported(violated(*["often"] * 100, "late", *["often"] * 5))

    positions = [position for position, _violation in kept]
    assert len(kept) == VIOLATIONS_PER_RUN_MAX
    assert positions == [*range(VIOLATIONS_PER_RUN_MAX - 1), 100]
