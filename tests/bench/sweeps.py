"""Whole sweeps through the real engines, against what their cores could do at best."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import mean
from typing import Any

from sim.study.sweep.plan import Sweep, load_plan, number_runs
from sim.study.sweep.runner import EngineName, run_sweep
from sim.study.sweep.work import rows_of_cases

PLAN = Path("scenarios/sweeps/leo_fixes.yaml")
SEED = 280
SINGLE_RUNS = 300
"""Runs of this process before a sweep, and again after it: the rate that one core gives."""


def sweeps(count: int, folder: Path) -> dict[str, dict[str, Any]]:
    """A sweep of about `count` runs on each engine.

    Rates are runs per second of real time: of the sweep, from its first block to its last file, and
    of one process that does nothing but runs of the same plan, just before and just after it.
    """
    engines: tuple[EngineName, ...] = ("process", "spark")
    return {engine: _sweep(count, engine, folder / engine) for engine in engines}


def _sweep(count: int, engine: EngineName, out: Path) -> dict[str, Any]:
    plan = load_plan(PLAN)
    cases = max(1, count // len(plan.rule_sets))
    sweep = number_runs(plan, count=cases, seed=SEED)
    before = _single_process_rate(sweep)
    started = time.perf_counter()
    result = run_sweep(plan, out=out, count=cases, seed=SEED, engine=engine)
    seconds = time.perf_counter() - started
    single = mean([before, _single_process_rate(sweep)])
    return {
        "runs": result.sweep.runs,
        "cores": result.cores,
        "seconds": round(seconds, 1),
        "runs_per_second": round(result.rate, 1),
        "single_process_runs_per_second": round(single, 1),
        "rate_over_cores_times_single_process": round(result.rate / (result.cores * single), 3),
    }


def _single_process_rate(sweep: Sweep) -> float:
    started = time.perf_counter()
    for number, _row in enumerate(rows_of_cases(sweep, range(sweep.count)), start=1):
        if number == SINGLE_RUNS:
            break
    return number / (time.perf_counter() - started)
