"""`make digests`: the same runs in every way there is; their digests must be equal.

`pure` is this process alone, `compiled` one process of `.venv-compiled`, `process` and `spark` are
the engines of a sweep. The runs are spread over all plans of the repository.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, get_args

import pyarrow.parquet as pq

from sim.simulate.run.timed import COMPILED as COMPILED_HERE
from sim.study.sweep.plan import Plan, Sweep, load_plan, number_runs
from sim.study.sweep.runner import EngineName, run_sweep
from tests.bench.alone import Answer, alone
from tests.bench.trees import COMPILED, Tree

PLANS = Path("scenarios/sweeps")
Way = Literal["pure", "compiled", "process", "spark"]
Found = dict[int, Answer]
"""Verdict and digest of every run of a sweep."""


def compiled(sweeps: Mapping[Path, Sweep]) -> Iterator[Found]:
    """Those of each sweep in the compiled simulator, in one process."""
    tree = Tree("compiled", COMPILED / "bin/python", None)
    program = str(Path(__file__).with_name("alone.py"))
    tasks = [str(of) for path, one in sweeps.items() for of in (path, one.count, one.seed)]
    done = subprocess.run(
        tree.command(program, *tasks),
        env=tree.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    answer = json.loads(done.stdout)
    if not answer["compiled"]:
        raise AssertionError(f"{tree.python} runs no compiled simulator")
    for runs in answer["runs"]:
        yield {run_id: (verdict, digest) for run_id, verdict, digest in runs}


def swept(sweep: Sweep, engine: EngineName) -> Found:
    """Those of one sweep by an engine of `replog sweep`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sweep"
        run_sweep(sweep.plan, out=out, count=sweep.count, seed=sweep.seed, engine=engine)
        table = pq.read_table(out / "runs", columns=["run_id", "verdict", "digest"])
    return {row["run_id"]: (row["verdict"], row["digest"]) for row in table.to_pylist()}


def answers(way: Way, sweeps: Mapping[Path, Sweep]) -> list[Found]:
    """Verdict and digest of every run of each sweep, in one of the ways."""
    if way == "compiled":
        return list(compiled(sweeps))
    return [alone(sweep) if way == "pure" else swept(sweep, way) for sweep in sweeps.values()]


def main() -> int:
    """Compare; exit status 1 and the runs that differ, if any do."""
    ways: tuple[Way, ...] = get_args(Way)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2_000, help="runs of all plans together")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--ways", nargs="+", choices=ways, default=ways)
    arguments = parser.parse_args()
    if COMPILED_HERE:
        raise SystemExit("this is the compiled simulator; compare from the pure one")
    return _compare(arguments.count, arguments.seed, tuple(arguments.ways))


def _compare(count: int, seed: int, ways: tuple[Way, ...]) -> int:
    paths = sorted(PLANS.glob("*.yaml"))
    sweeps = {path: _share(load_plan(path), count / len(paths), seed) for path in paths}
    found: dict[Way, list[Found]] = {}
    for way in ways:
        started = time.perf_counter()
        found[way] = answers(way, sweeps)
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
    """As many whole cases of a plan as have so many runs, one at least."""
    return number_runs(plan, count=max(1, math.ceil(runs / len(plan.rule_sets))), seed=seed)


if __name__ == "__main__":
    sys.exit(main())
