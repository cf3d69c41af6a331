"""What one worker does, whatever the engine: cases in, rows out, nothing escapes.

A simulation that raises becomes a row with the traceback; one that does not end within the
wall-clock bound becomes an inconclusive row. Neither costs the sweep its other runs.
"""

from __future__ import annotations

import gc
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any

import pyarrow as pa

from sim.rules.rules import Settings
from sim.scenario.generate import generate
from sim.sweeps.caused import run_with_causes
from sim.sweeps.plan import Sweep
from sim.sweeps.row import batch_of, run_row, unfinished_row, worker_schema
from sim.timed_run import Run

WALL_BOUND_SECONDS = 60.0
"""Real time one run may take. Runs end at their own bounds (simulated time, events) long before;
this one is for what those do not see."""
ROWS_PER_BATCH = 20
ERROR_LENGTH_MAX = 8_000
CASES_PER_FULL_COLLECTION = 128
"""A full collection looks through all that was imported, too: it takes as long as a run."""
RATE_CASES_MAX = 500
"""Cases on which the rate is measured, at most."""

RunCase = Callable[[Settings], Run]
OpenCase = Callable[[Sweep, int], RunCase]
"""(sweep, case) -> a function that runs that case under given rules."""


def open_case(sweep: Sweep, case_id: int) -> RunCase:
    """The random scenario of a case, drawn once and run under each rule set."""
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    return lambda settings: run_with_causes(scenario.with_rules(settings))


class WallClockBound(BaseException):
    """A run took longer than its wall-clock bound.

    Not an Exception: no handler in the simulator may swallow it.
    """


@contextmanager
def wall_clock_bound(seconds: float) -> Iterator[None]:
    """Raises WallClockBound inside the block once `seconds` of real time have passed.

    Works in the main thread of a process, which is where workers run; elsewhere signals cannot be
    used and the block runs without a bound.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise WallClockBound

    handler = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, handler)


def rows_of_cases(
    sweep: Sweep,
    cases: range,
    *,
    open_case: OpenCase = open_case,
    bound_seconds: float = WALL_BOUND_SECONDS,
) -> Iterator[dict[str, Any]]:
    """One row per run of `cases`, in order of `run_id`."""
    with _collector_off():
        for case_id in cases:
            for row in _rows_of_case(sweep, case_id, open_case, bound_seconds):
                gc.collect(0)  # what a run leaves behind, while the caches still have it
                yield row
            gc.collect(1 if (case_id + 1) % CASES_PER_FULL_COLLECTION else 2)


def _rows_of_case(
    sweep: Sweep, case_id: int, open_case: OpenCase, bound_seconds: float
) -> Iterator[dict[str, Any]]:
    run_case: RunCase | None = None
    for rule_set in sweep.rule_sets:
        started = time.perf_counter()
        try:
            with wall_clock_bound(bound_seconds):
                run_case = run_case or open_case(sweep, case_id)
                run = run_case(rule_set.settings)
            yield run_row(sweep, case_id, rule_set, run, _elapsed_ms(started))
        except WallClockBound:
            reason = f"wall clock: more than {bound_seconds:g} s"
            yield unfinished_row(sweep, case_id, rule_set, _elapsed_ms(started), reason=reason)
        except Exception as error:  # noqa: BLE001 - any defect of a run is that run's result
            yield unfinished_row(
                sweep, case_id, rule_set, _elapsed_ms(started), error=_traceback(error)
            )


@contextmanager
def _collector_off() -> Iterator[None]:
    """Leaves it to the caller when to look for cyclic garbage: between runs, not inside them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _elapsed_ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-ERROR_LENGTH_MAX:]


def batches_of_cases(
    sweep: Sweep, cases: range, *, open_case: OpenCase = open_case
) -> Iterator[pa.RecordBatch]:
    """The rows of `cases` in small batches: a worker's memory does not grow with its block."""
    schema = worker_schema(sweep)
    rows = rows_of_cases(sweep, cases, open_case=open_case)
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        yield batch_of(chunk, schema)


def measure_rate(
    sweep: Sweep, *, open_case: OpenCase = open_case, budget_seconds: float = 0.5
) -> float:
    """Runs per second of this process, on cases from all over the sweep.

    The first case is not counted: a process's first runs are slow. A sweep's blocks depend on the
    result, no row does.
    """
    first, *others = range(0, sweep.count, max(1, sweep.count // RATE_CASES_MAX))

    def runs_of(case_id: int) -> int:
        return len(list(rows_of_cases(sweep, range(case_id, case_id + 1), open_case=open_case)))

    runs_of(first)
    runs = 0
    started = time.perf_counter()
    for case_id in others or [first]:
        runs += runs_of(case_id)
        if time.perf_counter() - started > budget_seconds:
            break
    return runs / max(time.perf_counter() - started, 1e-6)
