"""The runs of plans one after the other, in this process, with whatever `sim` is on the path.

Started by its path under the interpreter of the compiled simulator, so it imports nothing of this
package.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sim.simulate.run.timed import COMPILED
from sim.study.sweep.plan import Sweep, load_plan, number_runs
from sim.study.sweep.work import rows_of_cases

Answer = tuple[str, str]
"""What a run came to: verdict and digest."""


def alone(sweep: Sweep) -> dict[int, Answer]:
    """The runs of a sweep, by their number."""
    rows = rows_of_cases(sweep, range(sweep.count))
    return {row["run_id"]: (row["verdict"], row["digest"]) for row in rows}


if __name__ == "__main__":
    PLANS = zip(*[iter(sys.argv[1:])] * 3, strict=True)
    FOUND = [
        alone(number_runs(load_plan(Path(path)), count=int(cases), seed=int(seed)))
        for path, cases, seed in PLANS
    ]
    RUNS = [[(n, *answer) for n, answer in found.items()] for found in FOUND]
    print(json.dumps({"compiled": COMPILED, "runs": RUNS}))
