"""The work of one worker of either engine: rows of cases, also of runs that raise.

A simulation that raises becomes a row with the traceback; one that does not end within the bounds
of real time and memory becomes an inconclusive row. Neither costs the sweep its other runs.
"""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sim.bounds import NO_BOUNDS, Bounds, bounded, each_run_within
from sim.diagnose.explain import so_since
from sim.diagnose.explain.past import Past
from sim.diagnose.explain.questions import first_signatures
from sim.files.atomic import replacing
from sim.plugins import NO_PLUGINS, Plugins, load_in_worker
from sim.protocol.rules import Rules
from sim.simulate.run import Run
from sim.simulate.run.timed import run_scenario
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.columns import VIOLATIONS, case_columns, outcome_of, reported, runs_schema
from sim.study.sweep.plan import Sweep

ROWS_PER_BATCH = 20
ERROR_LENGTH_MAX = 8_000
CASES_PER_FULL_COLLECTION = 128
"""Number of cases from one full garbage collection, which takes as long as a run, to the next."""

BLOCK_RUNS_MAX = 1_000
"""Largest number of runs of a block: what a kill costs."""
BLOCK_RUNS_MIN = 100
BLOCKS_LEFT_PER_CORE = 4
"""When a block is cut, the remaining cases make at least so many blocks of its size for each core,
unless they would have fewer than BLOCK_RUNS_MIN runs."""

RunCase = Callable[[Rules], Run]
OpenCase = Callable[[Sweep, int], RunCase]
"""(sweep, case) -> a function that runs that case under given rules."""


def open_case(sweep: Sweep, case_id: int) -> RunCase:
    """The random scenario of a case, drawn once and run under each rule set."""
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    return lambda settings: run_with_causes(scenario.with_rules(settings))


def run_with_causes(scenario: Scenario) -> Run:
    """Runs a scenario; a run that violates something also has `causes` and `since`.

    Its events are kept: there are no more than `limits.max_events` allows.
    """
    run = run_scenario(scenario, keep_events=True, counts_settling=False)
    if not run.violations:
        return run
    past = Past(run.events, run.rules)
    signatures = first_signatures(past, run.violations)
    return replace(
        run,
        causes={place: found.cause for place, found in signatures.items()},
        since={place: so_since(past, found) for place, found in reported(run.violations)},
    )


@dataclass(frozen=True, slots=True)
class Work:
    """The work of an engine: the sweep, and the function that runs a case."""

    sweep: Sweep
    open_case: OpenCase = open_case
    plugins: Plugins = NO_PLUGINS
    """Plugins that workers import first, so that they know the same rules."""

    def batches(self, cases: Iterable[int]) -> Iterator[pa.RecordBatch]:
        """Yields the rows of a block in small batches, which bound the memory of a worker."""
        load_in_worker(self.plugins)
        schema = runs_schema(self.sweep)
        rows = rows_of_cases(self.sweep, cases, open_case=self.open_case)
        while chunk := list(islice(rows, ROWS_PER_BATCH)):
            yield pa.RecordBatch.from_pylist(chunk, schema=schema)

    def write(self, cases: Sequence[int], folder: Path) -> int:
        """Runs a block and writes its file; returns the number of runs."""
        rows = pa.Table.from_batches(self.batches(cases), runs_schema(self.sweep))
        folder.mkdir(parents=True, exist_ok=True)
        with replacing(folder / f"part-{cases[0]:012d}.parquet") as file:
            pq.write_table(rows, file, write_page_checksum=True)
        return len(rows)


def blocks_of(
    missing: Sequence[int], rule_sets: int, *, cores: int, blocks: int | None = None
) -> Iterator[Sequence[int]]:
    """Cuts some cases into blocks, in order; no block is empty.

    To start a task takes 50 to 100 ms on Spark, so blocks are long; but a core that finishes early
    waits for the others' last blocks, so they get shorter towards the end. No row depends on how
    cases are cut.

    Args:
        missing: Numbers of the cases.
        rule_sets: Number of runs of a case.
        cores: Number of processes that simulate.
        blocks: Number of blocks, at most one per case; None for blocks by size.
    """
    done, parts = 0, min(blocks or 0, len(missing))
    for part in range(parts):
        end = len(missing) * (part + 1) // parts
        yield missing[done:end]
        done = end
    while done < len(missing):
        fair = (len(missing) - done) // (BLOCKS_LEFT_PER_CORE * cores)
        size = max(1, min(max(fair, BLOCK_RUNS_MIN // rule_sets), BLOCK_RUNS_MAX // rule_sets))
        yield missing[done : done + size]
        done += size


def rows_of_cases(
    sweep: Sweep,
    cases: Iterable[int],
    *,
    open_case: OpenCase = open_case,
    bounds: Bounds | None = None,
) -> Iterator[dict[str, Any]]:
    """Yields a row for each run of some cases, in order; `bounds` default to `Bounds()`."""
    was_on = gc.isenabled()
    gc.disable()  # cyclic garbage is collected between runs
    try:
        for number, case_id in enumerate(cases, 1):
            for row in _rows_of_case(sweep, case_id, open_case, bounds or Bounds()):
                gc.collect(0)  # what a run leaves behind, while the caches still have it
                yield row
            gc.collect(1 if number % CASES_PER_FULL_COLLECTION else 2)
    finally:
        if was_on:
            gc.enable()


def _rows_of_case(
    sweep: Sweep, case_id: int, open_case: OpenCase, bounds: Bounds
) -> Iterator[dict[str, Any]]:
    run_case: RunCase | None = None
    case = case_columns(sweep, case_id)
    for rule_set in sweep.rule_sets:
        started = time.perf_counter()
        run: Run | None = None
        try:
            # How far a run came before it was cut off differs between machines: no row says it.
            with each_run_within(NO_BOUNDS), bounded(bounds) as watch:
                run_case = run_case or open_case(sweep, case_id)
                run = run_case(rule_set.rules)
            outcome: dict[str, Any] = {"verdict": "inconclusive", "reason": watch.reached}
            if run is not None:
                outcome = outcome_of(run)
        except Exception as error:  # noqa: BLE001 - any defect of a run is that run's result
            text = "".join(traceback.format_exception(error))[-ERROR_LENGTH_MAX:]
            outcome = {"verdict": "error", "error": text}
        elapsed_ms = round((time.perf_counter() - started) * 1000, 3)
        yield {
            **case,
            "run_id": sweep.run_id(case_id, rule_set.index),
            "rule_set": rule_set.label,
            **rule_set.values,
            "wall_ms": elapsed_ms,
            VIOLATIONS: [],
            **outcome,
        }
