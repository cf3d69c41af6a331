"""One process that is measured: answers a line of its input with a line of JSON.

`runs FIRST COUNT` runs scenarios of the reference mix, `bare COUNT` waits COUNT times in SimPy
alone. It is started by its path under any interpreter and any `sim` on the path, so it imports
nothing of this package.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from typing import Any

MIX = "reference"
RULES = {"preset": "kafka-4.0", "delete_retention_ms": 1000}
WARM_UP = 3


def runs(first: int, count: int) -> dict[str, Any]:
    """Processor seconds and events of `count` scenarios, from seed `first` on.

    They run as in a sweep, judged by all safety invariants; a few before them warm up.
    """
    from sim.protocol.rules import rules_from
    from sim.simulate.run.timed import run_scenario
    from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate

    rules, mix = rules_from(RULES), BUILT_IN_MIXES[MIX]

    def run(seed: int) -> Any:
        return run_scenario(generate(seed, mix).with_rules(rules), counts_settling=False)

    for seed in range(WARM_UP):
        run(seed)
    simulator_events = events = 0
    gc.collect()
    started = time.process_time()
    for seed in range(first, first + count):
        done = run(seed)
        simulator_events += done.counters["simulator_events"]
        events += done.counters["events"]
    return {
        "seconds": time.process_time() - started,
        "simulator_events": simulator_events,
        "events": events,
    }


def bare(count: int) -> dict[str, Any]:
    """Processor seconds of SimPy alone: one process that waits `count` times."""
    import simpy

    environment = simpy.Environment()

    def waits() -> Any:
        for _ in range(count):
            yield environment.timeout(1)

    environment.process(waits())
    gc.collect()
    started = time.process_time()
    environment.run()
    return {"seconds": time.process_time() - started}


if __name__ == "__main__":
    task, *numbers = sys.stdin.readline().split()
    measure: Any = {"runs": runs, "bare": bare}[task]
    print(json.dumps(measure(*map(int, numbers))))
