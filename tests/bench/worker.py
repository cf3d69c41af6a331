"""One process that is measured: answers each line of its input with one line of JSON.

`runs FIRST COUNT` runs scenarios of the reference mix, `shares FIRST COUNT` does so and says where
the time goes, `bare COUNT` waits COUNT times in SimPy alone. It is started by its path under any
interpreter and any `sim` on the path, so it imports nothing of this package.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
import time
from collections import Counter
from types import FrameType
from typing import Any

MIX = "reference"
RULES = {"preset": "kafka-4.0", "delete_retention_ms": 1000}
WARM_UP = 3
SAMPLE_SECONDS = 0.001
"""Of processor time, between two looks at where the process is."""


class Runs:
    """Scenarios of the reference mix, all safety invariants on."""

    def __init__(self) -> None:
        """Import the simulator, and run a little to warm up."""
        from sim.rules import rules_from
        from sim.scenario.generate import BUILT_IN_MIXES, generate
        from sim.timed_run import run_scenario

        rules, mix = rules_from(RULES), BUILT_IN_MIXES[MIX]
        self.run: Any = lambda seed: run_scenario(generate(seed, mix).with_rules(rules))
        for seed in range(WARM_UP):
            self.run(seed)

    def timed(self, first: int, count: int) -> dict[str, Any]:
        """Processor seconds, events, and the digests."""
        simulator_events = events = 0
        digests = []
        gc.collect()
        started = time.process_time()
        for seed in range(first, first + count):
            run = self.run(seed)
            simulator_events += run.counters["simulator_events"]
            events += run.counters["events"]
            digests.append(run.digest)
        return {
            "seconds": time.process_time() - started,
            "simulator_events": simulator_events,
            "events": events,
            "digests": digests,
        }

    def shares(self, first: int, count: int) -> dict[str, Any]:
        """Processor seconds, and samples per place: where its innermost Python frame was."""
        places: Counter[str] = Counter()

        def look(_signal: int, frame: FrameType | None) -> None:
            while frame is not None and frame.f_code.co_filename == "<string>":
                frame = frame.f_back  # a constructor that Python has made up
            if frame is not None:
                places[_place(frame.f_code.co_filename)] += 1

        signal.signal(signal.SIGPROF, look)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
        timed = self.timed(first, count)
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {"seconds": timed["seconds"], "samples": dict(places)}


def _place(path: str) -> str:
    """The package of `sim`, or `simpy`, or the rest."""
    _, inside, rest = path.rpartition("/sim/")
    if inside:
        return rest.split("/")[0].removesuffix(".py")
    return "simpy" if "/simpy/" in path else "other"


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
            answer = runs.timed(*arguments) if task == "runs" else runs.shares(*arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
