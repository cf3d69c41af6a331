"""`make digests`: the same runs in every way there is; their digests must be equal.

`alone` is this process, `process` and `spark` are the engines of a sweep. The runs are spread over
all plans of the repository.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal, get_args

import pyarrow.parquet as pq

from sim.study.sweep.plan import Plan, Sweep, load_plan, number_runs
from sim.study.sweep.runner import run_sweep
from sim.study.sweep.work import rows_of_cases

PLANS = Path("scenarios/sweeps")
Way = Literal["alone", "process", "spark"]
Found = dict[int, tuple[str, str]]
"""Verdict and digest of every run of a sweep, by its number."""


def answers(way: Way, sweep: Sweep) -> Found:
    """Verdict and digest of every run of a sweep, in one of the ways."""
    if way == "alone":
        rows = [*rows_of_cases(sweep, range(sweep.count))]
    else:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "sweep"
            run_sweep(sweep.plan, out=out, count=sweep.count, seed=sweep.seed, engine=way)
            table = pq.read_table(out / "runs", columns=["run_id", "verdict", "digest"])
        rows = table.to_pylist()
    return {row["run_id"]: (row["verdict"], row["digest"]) for row in rows}


def main() -> int:
    """Compare; exit status 1 and the runs that differ, if any do."""
    ways: tuple[Way, ...] = get_args(Way)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000, help="runs of all plans together")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways)
    arguments = parser.parse_args()
    return _compare(arguments.count, arguments.seed, tuple(arguments.ways))


def _compare(count: int, seed: int, ways: tuple[Way, ...]) -> int:
    paths = sorted(PLANS.glob("*.yaml"))
    sweeps = {path: _share(load_plan(path), count / len(paths), seed) for path in paths}
    found: dict[Way, list[Found]] = {}
    for way in ways:
        started = time.perf_counter()
        found[way] = [answers(way, sweep) for sweep in sweeps.values()]
        print(f"{way}: {time.perf_counter() - started:.0f} s")
    different = 0
    for number, (path, sweep) in enumerate(sweeps.items()):
        for run_id in range(sweep.runs):
            each = {way: found[way][number].get(run_id) for way in ways}
            if len(set(each.values())) > 1:
                different += 1
                print(f"{path}, {sweep.count} cases, seed {seed}, run {run_id}: {each}")
    compared = sum(sweep.runs for sweep in sweeps.values())
    print(f"{compared} runs of {len(paths)} plans, {different} with different digests")
    return 1 if different else 0


def _share(plan: Plan, runs: float, seed: int) -> Sweep:
    """A sweep of as many whole cases of a plan as have so many runs, at least one."""
    return number_runs(plan, count=max(1, math.ceil(runs / len(plan.rule_sets))), seed=seed)


if __name__ == "__main__":
    sys.exit(main())
