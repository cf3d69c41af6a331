"""`make digests`: the same runs in every way there is; their digests must be equal.

`pure` is this process alone, `compiled` one process of `.venv-compiled`, `process` and `spark` are
the engines of a sweep. The runs are spread over all plans of the repository.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Literal, get_args

import pyarrow.parquet as pq

from sim.sweeps.plan import Sweep, load_plan, number_runs
from sim.sweeps.runner import EngineName, run_sweep
from sim.timed_run import COMPILED as COMPILED_HERE
from tests.bench.alone import Answer, alone
from tests.bench.trees import COMPILED, Tree

PLANS = Path("scenarios/sweeps")
Way = Literal["pure", "compiled", "process", "spark"]


def compiled(sweep: Sweep, path: Path) -> dict[int, Answer]:
    """The same in the compiled simulator."""
    tree = Tree("compiled", COMPILED / "bin/python", None)
    task = [str(path), str(sweep.count), str(sweep.seed)]
    done = subprocess.run(
        tree.command(str(Path(__file__).with_name("alone.py")), *task),
        env=tree.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    answer = json.loads(done.stdout)
    if not answer["compiled"]:
        raise AssertionError(f"{tree.python} runs no compiled simulator")
    return {run_id: (verdict, digest) for run_id, verdict, digest in answer["runs"]}


def swept(sweep: Sweep, engine: EngineName) -> dict[int, Answer]:
    """The same by an engine of `replog sweep`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "sweep"
        run_sweep(sweep.plan, out=out, count=sweep.count, seed=sweep.seed, engine=engine)
        table = pq.read_table(out / "runs", columns=["run_id", "verdict", "digest"])
    return {row["run_id"]: (row["verdict"], row["digest"]) for row in table.to_pylist()}


def answers(way: Way, sweep: Sweep, path: Path) -> dict[int, Answer]:
    """Verdict and digest of every run of a sweep, in one of the ways."""
    if way == "pure":
        return alone(sweep)
    return compiled(sweep, path) if way == "compiled" else swept(sweep, way)


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
    plans = sorted(PLANS.glob("*.yaml"))
    seconds = dict.fromkeys(ways, 0.0)
    compared = different = 0
    for path in plans:
        plan = load_plan(path)
        cases = max(1, -(-count // (len(plans) * len(plan.rule_sets))))
        sweep = number_runs(plan, count=cases, seed=seed)
        found = {}
        for way in ways:
            started = time.perf_counter()
            found[way] = answers(way, sweep, path)
            seconds[way] += time.perf_counter() - started
        for run_id in range(sweep.runs):
            each = {way: found[way].get(run_id) for way in ways}
            if len(set(each.values())) > 1:
                different += 1
                print(f"{path}, {cases} cases, seed {seed}, run {run_id}: {each}")
        compared += sweep.runs
        print(f"{path}: {sweep.runs} runs compared", file=sys.stderr)
    print(", ".join(f"{way} {spent:.0f} s" for way, spent in seconds.items()))
    print(f"{compared} runs of {len(plans)} plans, {different} with different digests")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
