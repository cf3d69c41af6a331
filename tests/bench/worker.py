"""One process that is measured: answers each line of its input with one line of JSON.

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


class Runs:
    """Runs scenarios of the reference mix as a sweep does, judged by all safety invariants."""

    def __init__(self) -> None:
        """Import the simulator, and run a little to warm up."""
        from sim.protocol.rules import rules_from
        from sim.simulate.run.timed import run_scenario
        from sim.simulate.scenario.generate import BUILT_IN_MIXES, generate

        rules, mix = rules_from(RULES), BUILT_IN_MIXES[MIX]
        self.run: Any = lambda seed: run_scenario(
            generate(seed, mix).with_rules(rules), counts_settling=False
        )
        for seed in range(WARM_UP):
            self.run(seed)

    def timed(self, first: int, count: int) -> dict[str, Any]:
        """Returns the processor seconds and events of `count` scenarios, from seed `first` on."""
        simulator_events = events = 0
        gc.collect()
        started = time.process_time()
        for seed in range(first, first + count):
            run = self.run(seed)
            simulator_events += run.counters["simulator_events"]
            events += run.counters["events"]
        return {
            "seconds": time.process_time() - started,
            "simulator_events": simulator_events,
            "events": events,
        }


def bare(count: int) -> dict[str, Any]:
    """Returns the processor seconds of SimPy alone: one process that waits `count` times."""
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


def main() -> None:
    """Answer until the input ends."""
    runs: Runs | None = None
    for line in sys.stdin:
        task, *numbers = line.split()
        arguments = [int(number) for number in numbers]
        if task == "bare":
            answer = bare(*arguments)
        else:
            runs = runs or Runs()
            answer = runs.timed(*arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
