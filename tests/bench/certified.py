"""Certifies many runs: every scenario file, and random runs of every preset in every mix.

    python -m tests.bench.certified --count 3000 --seed 1

Each run is written as a trace and judged again by `sim.check.certify`. A run that both do not agree
on is printed, and so is a random run in which an audit (`tests.audits`) finds something.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import sim
from sim.check.certify import Certificate, Refused, certify
from sim.files.formats import LOG_FORMAT
from sim.protocol.rules import PRESETS, rules_from
from sim.simulate.run.timed import run_scenario
from sim.simulate.run.trace_file import trace_lines
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.generate.mix import BUILT_IN_MIXES, Mix
from sim.study.suite import format_of, scenario_files
from tests.audits.registering import AUDITS, audited

HARDER: dict[str, Any] = {
    "power_losses": 0.7,
    "power_failures": 0.5,
    "cleaning_crashes": 0.3,
    "read_committed": 0.5,
    "small_fetches": 0.5,
    "flush_settings": 0.5,
    "header_mistakes": 0.5,
}
"""What every second case has on top, with `flush: interval`: runs that leave the contract."""
SMALL: dict[str, Any] = {
    "duration_ms": 3_000,
    "sends": (20, 80),
    "outage_ms": (100, 2_000),
    "idle_ms": (300, 1_500),
    "lateness_ms": (1, 1_500),
    "clock_skew_ms": 600,
}
"""What makes a case three times as short, for tests."""


class Certified(NamedTuple):
    """One run: its name, what became of it, and what audits found in it."""

    name: str
    certificate: Certificate
    audits: tuple[str, ...] = ()


def random_runs(count: int, seed: int, *, small: bool = False) -> Iterator[Certified]:
    """Cases `seed` to `seed + count - 1`: all mixes and presets, one after the other."""
    combinations = [(mix, preset) for mix in BUILT_IN_MIXES for preset in PRESETS]
    for case in range(seed, seed + count):
        mix, preset = combinations[case % len(combinations)]
        harder = case // len(combinations) % 2 == 1
        given = {**(SMALL if small else {}), **(HARDER if harder else {})}
        rules = {"preset": preset, "delete_retention_ms": "500" if small else "1000"}
        rules |= {"flush": "interval"} if harder else {}
        scenario = generate(case, Mix.model_validate({"mix": mix, **given}))
        settings = rules_from(rules, base=scenario.rules, where="a random run")
        scenario = replace(scenario.with_rules(settings), preset=preset)
        with audited():
            run = run_scenario(scenario, keep_events=True)
        audits = tuple(name for name in run.violated if name in AUDITS)
        what = f"{mix}, {preset}, case {case}"
        yield _certified(what, b"".join(trace_lines(run)))._replace(audits=audits)


def file_runs(folder: Path) -> Iterator[Certified]:
    """Every story and timed scenario below a folder."""
    with TemporaryDirectory() as kept:
        for path in scenario_files(folder):
            if format_of(path) != LOG_FORMAT:
                trace = sim.run(path).save_trace(Path(kept) / "trace.ndjson")
                yield _certified(str(path), trace.read_bytes())


def _certified(name: str, trace: bytes) -> Certified:
    try:
        return Certified(name, certify(trace))
    except Refused as error:
        error.add_note(f"of {name}")
        raise


def main() -> int:
    """Certify the files and the random runs; 1 when some disagree, or an audit finds something."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.bench.certified")
    parser.add_argument("--count", type=int, default=3_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    given = parser.parse_args()
    violated: Counter[str] = Counter()
    runs = left = disagreeing = audited_as_wrong = 0
    for source in (file_runs(Path("scenarios")), random_runs(given.count, given.seed)):
        for name, made, audits in source:
            runs += 1
            audited_as_wrong += bool(audits)
            if audits:
                print(f"{name}: audits find {', '.join(audits)}", flush=True)
            left += made.left_at is not None
            violated.update(name for name in made.found if name in made.reported)
            if made.differing:
                disagreeing += 1
                print(f"{name}: {', '.join(made.differing)}", flush=True)
    print(
        f"{runs:,} runs, {disagreeing} disagree; {left} left the durability contract; "
        f"audits find something in {audited_as_wrong}"
    )
    print("violated, found by both: " + ", ".join(f"{n} {v:,}" for n, v in violated.most_common()))
    return 1 if disagreeing or audited_as_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
