"""The work of one worker under either engine: rows of cases, also of runs that fail.

A simulation that raises becomes a row with the traceback; one that does not end within the bounds
of real time and memory becomes an inconclusive row. Neither costs the sweep its other runs.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import Any

import pyarrow as pa

from sim.bounds import NO_BOUNDS, Bounds, bounded, each_run_within
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.signature import first_signatures, so_since
from sim.protocol.rules.rules import Rules
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.columns import batch_of, reported, run_row, runs_schema, unfinished_row
from sim.study.sweep.plan import Sweep

ROWS_PER_BATCH = 20
ERROR_LENGTH_MAX = 8_000
CASES_PER_FULL_COLLECTION = 128
"""A full collection looks through all that was imported, too: it takes as long as a run."""

RunCase = Callable[[Rules], Run]
OpenCase = Callable[[Sweep, int], RunCase]
"""(sweep, case) -> a function that runs that case under given rules."""


def open_case(sweep: Sweep, case_id: int) -> RunCase:
    """The random scenario of a case, drawn once and run under each rule set."""
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    return lambda settings: run_with_causes(scenario.with_rules(settings))


def run_with_causes(scenario: Scenario) -> Run:
    """Runs a scenario; a run that violates something has its `causes`, and `since` when.

    Its events are kept until it ends: there are no more than `limits.max_events` allows.
    """
    run = run_scenario(scenario, keep_events=True)
    if not run.violations:
        return run
    events, rules = run.events, run.rules
    past = Past(events, rules)
    signatures = first_signatures(events, run.violations, rules, past)
    return replace(
        run,
        causes={place: found.cause for place, found in signatures.items()},
        since={
            place: so_since(events, found, rules, past) for place, found in reported(run.violations)
        },
    )


def rows_of_cases(
    sweep: Sweep,
    cases: range,
    *,
    open_case: OpenCase = open_case,
    bounds: Bounds | None = None,
) -> Iterator[dict[str, Any]]:
    """One row per run of `cases`, in order of `run_id`; `bounds` by default as of every run."""
    with _collector_off():
        for case_id in cases:
            for row in _rows_of_case(sweep, case_id, open_case, bounds or Bounds()):
                gc.collect(0)  # what a run leaves behind, while the caches still have it
                yield row
            gc.collect(1 if (case_id + 1) % CASES_PER_FULL_COLLECTION else 2)


def _rows_of_case(
    sweep: Sweep, case_id: int, open_case: OpenCase, bounds: Bounds
) -> Iterator[dict[str, Any]]:
    run_case: RunCase | None = None
    for rule_set in sweep.rule_sets:
        started = time.perf_counter()
        run: Run | None = None
        try:
            # How far a run came that was cut off differs from machine to machine: no row has it.
            with each_run_within(NO_BOUNDS), bounded(bounds) as watch:
                run_case = run_case or open_case(sweep, case_id)
                run = run_case(rule_set.rules)
            elapsed_ms = _elapsed_ms(started)
            if run is None:
                reason = watch.reached
                yield unfinished_row(sweep, case_id, rule_set, elapsed_ms, reason=reason)
            else:
                yield run_row(sweep, case_id, rule_set, run, elapsed_ms)
        except Exception as error:  # noqa: BLE001 - any defect of a run is that run's result
            yield unfinished_row(
                sweep, case_id, rule_set, _elapsed_ms(started), error=_traceback(error)
            )


@contextmanager
def _collector_off() -> Iterator[None]:
    """Stops collections of cyclic garbage; the caller collects between runs."""
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
    schema = runs_schema(sweep)
    rows = rows_of_cases(sweep, cases, open_case=open_case)
    while chunk := list(islice(rows, ROWS_PER_BATCH)):
        yield batch_of(chunk, schema)
