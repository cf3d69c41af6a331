"""`make bench`: measures the budgets and writes `reports/bench.json`.

Every claim about speed is a ratio against a baseline of the same run, because machines differ and
are shared; absolute figures stand beside it for the reader.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

import simpy

from sim.compaction import (
    FIXES,
    TOMBSTONE_MARKS,
    TOMBSTONE_REMOVALS,
    CleanerPolicy,
    CleaningPass,
    clean,
    strategy_for,
)
from sim.log import LastRecord, Record, Segment, data_batch
from sim.rules import rules_from
from sim.run import run_scenario
from sim.scenario.generate import generate
from sim.scenario.generate.mix import BUILT_IN_MIXES

EngineName = Literal["spark", "process"]

PLAN = Path("scenarios/sweeps/leo_fixes.yaml")
BARE_EVENTS = 300_000
SCENARIOS = 300
CLEANER_SIZES = (10_000, 100_000, 1_000_000)
RECORDS_PER_BATCH = 100
RECORDS_PER_KEY = 10
RECORDS_PER_DELETE = 20
REPEATS = 3


def bare_simpy_rate() -> float:
    """Timeout events per second of SimPy alone: one process that waits again and again."""

    def waits(env: simpy.Environment) -> Any:
        for _ in range(BARE_EVENTS):
            yield env.timeout(1)

    def once() -> float:
        env = simpy.Environment()
        env.process(waits(env))
        started = time.perf_counter()
        env.run()
        return BARE_EVENTS / (time.perf_counter() - started)

    return _best(once)


def scenario_rates(count: int) -> dict[str, float]:
    """Scenarios and simulator events per second of one process, all invariants on."""
    mix = BUILT_IN_MIXES["reference"]
    rules = rules_from({"preset": "kafka-4.0", "delete_retention_ms": 1000})
    for seed in range(20):
        run_scenario(generate(seed, mix).with_rules(rules))
    events = core_events = 0
    started = time.perf_counter()
    for seed in range(count):
        run = run_scenario(generate(seed, mix).with_rules(rules))
        events += run.counters["simulator_events"]
        core_events += run.counters["events"]
    seconds = time.perf_counter() - started
    return {
        "scenarios_per_second": count / seconds,
        "simulator_events_per_scenario": events / count,
        "core_events_per_scenario": core_events / count,
        "simulator_events_per_second": events / seconds,
    }


def _plan(size: int) -> CleaningPass:
    """A pass with every rule on: protected producers, horizons, grouping, the size limit."""
    return CleaningPass(
        policy=CleanerPolicy(
            strategy=strategy_for("offset"),
            fix=FIXES["empty_batch"],
            removal=TOMBSTONE_REMOVALS["horizon"],
            is_tombstone=TOMBSTONE_MARKS["null_value"],
            full_map=True,
        ),
        first_dirty_offset=0,
        upper_bound=size,
        now_ms=1,
        high_watermark=size,
        delete_retention_ms=1_000,
        last_records={producer: LastRecord(None, 0) for producer in range(10)},
        max_message_bytes=1 << 20,
        segment_bytes=1 << 30,
    )


def cleaner_rate(size: int) -> float:
    """Records per second of one cleaning pass over `size` records, a tenth as many keys."""
    segments, plan = _log(size), _plan(size)

    def once() -> float:
        started = time.perf_counter()
        cleaning = clean(segments, plan)
        seconds = time.perf_counter() - started
        if len(cleaning.removed["superseded"]) < size // 2:
            raise AssertionError("the pass removed too little to be worth timing")
        return size / seconds

    return _best(once)


def cleaner_memory(size: int) -> dict[str, float]:
    """Bytes per record: of the log itself, and at most on top of it while a pass runs."""
    tracemalloc.start()
    segments = _log(size)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    clean(segments, _plan(size))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {
        "log_bytes_per_record": round(held / size, 1),
        "pass_bytes_per_record": round((peak - held) / size, 1),
    }


def _log(size: int) -> list[Segment]:
    rng = Random(size)
    keys = [f"key-{number}" for number in range(max(1, size // RECORDS_PER_KEY))]
    segment = Segment(0)
    for base in range(0, size, RECORDS_PER_BATCH):
        records = tuple(
            Record(
                offset,
                rng.choice(keys),
                "value" if offset % RECORDS_PER_DELETE else None,
                offset,
                (),
                uid=offset + 1,
            )
            for offset in range(base, min(base + RECORDS_PER_BATCH, size))
        )
        number = base // RECORDS_PER_BATCH
        batch = data_batch(
            records,
            epoch=1,
            producer_id=number % 10,
            producer_epoch=0,
            base_sequence=base,
            transactional=number % 2 == 1,
        )
        segment.append(batch, now_ms=0)
    return [segment, Segment(size)]


def _best(once: Callable[[], float]) -> float:
    """The best of a few repeats: the one the machine disturbed least."""
    rates = []
    for _ in range(REPEATS):
        gc.collect()
        rates.append(once())
    return max(rates)


def sweep_figures(count: int, engine: EngineName) -> dict[str, float]:
    """A whole sweep through the real engine: wall time, rate and efficiency."""
    from sim.sweep import load_plan, run_sweep

    plan = load_plan(PLAN)
    cases = max(1, count // len(plan.rule_sets))
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        result = run_sweep(plan, out=Path(folder) / "sweep", count=cases, engine=engine)
        seconds = time.perf_counter() - started
    return {
        "runs": result.runs,
        "seconds": seconds,
        "cores": result.cores,
        "runs_per_second": result.rate,
        "single_process_runs_per_second": result.single_process_rate,
        "rate_over_cores_times_single_process": result.rate
        / (result.cores * result.single_process_rate),
        "core_time_spent_in_runs": result.seconds.in_runs
        / (result.cores * result.seconds.simulate),
    }


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("reports/bench.json"))
    parser.add_argument("--scenarios", type=int, default=SCENARIOS)
    parser.add_argument("--sweep-runs", type=int, default=3_000)
    arguments = parser.parse_args()

    bare = statistics.median(bare_simpy_rate() for _ in range(3))
    rates = scenario_rates(arguments.scenarios)
    figures: dict[str, Any] = {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count()},
        "bare_simpy_events_per_second": round(bare),
        "reference_mix": {name: round(value, 1) for name, value in rates.items()},
        "event_rate_over_bare_simpy": round(rates["simulator_events_per_second"] / bare, 3),
        "cleaner_records_per_second": {
            str(size): round(cleaner_rate(size)) for size in CLEANER_SIZES
        },
        "cleaner_memory": {str(size): cleaner_memory(size) for size in CLEANER_SIZES},
        "sweeps": {
            "spark": _rounded(sweep_figures(arguments.sweep_runs, "spark")),
            "process": _rounded(sweep_figures(arguments.sweep_runs, "process")),
        },
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
