"""How the leading process of a sweep grows with the number of cases: its largest resident memory.

    python -m tests.bench.growth > section.md

Cases cost nothing here, so that only what happens around them is measured: blocks are handed out,
rows written and counted. Each sweep is led by a process of its own; of Spark, its JVM is counted
beside it. Workers and executors hold a block each, whatever the count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from sim.check.counters import COUNTERS
from sim.check.families import NO_FAMILY
from sim.check.violation import Violation
from sim.rules.rules import Settings
from sim.scenario.generate.mix import Mix
from sim.sweeps.plan import Plan, Sweep
from sim.sweeps.runner import EngineName, run_sweep
from sim.sweeps.work import RunCase
from sim.timed_run import Run

COUNTS = (2_000, 20_000, 200_000)
ENGINES: tuple[EngineName, ...] = ("process", "spark")
MODEL_CASES = 1_000_000
ABOUT = (
    "Made by `python -m tests.bench.growth`: cases that cost nothing, one rule set, so that only "
    "what happens around the runs is measured. Largest resident memory in MiB."
)
VIOLATED_EVERY = 20
"""Cases, one of which violates something."""
MIB = 2**20


class Measured(NamedTuple):
    """One sweep.

    Attributes:
        engine: What simulated.
        cases: How many there were, with a run each.
        seconds: From the call to its answer.
        python: Largest resident memory of the leading process, in bytes.
        java: Of the JVM beside it; 0 = there is none.
        blocks: How many blocks were written.
    """

    engine: str
    cases: int
    seconds: float
    python: int
    java: int
    blocks: int


def plan() -> Plan:
    """One rule set on cases of which nothing is simulated."""
    return Plan(
        format="replog-sweep/1",
        title="cases that cost nothing",
        source="none",
        count=COUNTS[0],
        seed=1,
        generate=Mix(),
        rule_sets=[{"fix": "none"}],
    )


def open_cheap(sweep: Sweep, case_id: int) -> RunCase:
    """A run without a simulation: its numbers are a hash of its seed."""
    seed = sweep.case_seed(case_id)
    digest = blake2b(str(seed).encode(), digest_size=16).hexdigest()
    found = () if seed % VIOLATED_EVERY else (_violation(seed),)

    def run(settings: Settings) -> Run:
        return Run(
            id="cheap",
            seed=seed,
            rules=settings.rules,
            verdict="violated" if found else "holds",
            reason=None,
            violations=found,
            counters={name: (seed + place) % 1_000 for place, name in enumerate(COUNTERS)},
            reached=(),
            digest=digest,
            environment=digest,
            causes={0: "in no family: none"} if found else {},
        )

    return run


def _violation(seed: int) -> Violation:
    sentence = f"Nothing was simulated, and {seed % 10_000} is wrong."
    return Violation("log-matching", seed % 10_000, "r1", seed % 1_000, None, sentence, NO_FAMILY)


def alone(engine: EngineName, cases: int, out: str) -> None:
    """Sweep in this process, which has done nothing else, and print what was measured."""
    started = time.perf_counter()
    with _java() as java:
        run_sweep(plan(), out=Path(out), count=cases, engine=engine, open_case=open_cheap)
    found = Measured(
        engine,
        cases,
        time.perf_counter() - started,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        max(java, default=0),
        len(list(Path(out).glob("runs/*.parquet"))),
    )
    print(json.dumps(found._asdict()))


@contextmanager
def _java() -> Iterator[list[int]]:
    """The largest resident memory of this process's JVM, looked at every half second (Linux)."""
    found: list[int] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.5):
            for status in Path("/proc").glob("[0-9]*/status"):
                with suppress(OSError):
                    told = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
                    if told["Name"] == "java" and int(told["PPid"]) == os.getpid():
                        found.append(int(told["VmHWM"].split()[0]) * 1024)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    yield found
    ended.set()
    thread.join()


def measured(engines: Sequence[EngineName], counts: Sequence[int]) -> Iterator[Measured]:
    """Each sweep, led by a process of its own."""
    for engine in engines:
        for cases in counts:
            with tempfile.TemporaryDirectory(prefix="replog-growth-") as folder:
                call = f"alone({engine!r}, {cases}, {folder + '/out'!r})"
                code = f"from tests.bench.growth import alone; {call}"
                command = [sys.executable, "-c", code]  # where workers find what is pickled
                ended = subprocess.run(command, stdout=subprocess.PIPE, check=True)
            found = Measured(**json.loads(ended.stdout))
            print(f"{engine} {cases:,}: {found.seconds:.0f} s", file=sys.stderr)
            yield found


def section(found: Sequence[Measured]) -> str:
    """The section of a report."""
    lines = [
        "## Memory of the leading process",
        "",
        ABOUT,
        "",
        "| engine | cases | leading process | its JVM | blocks | seconds |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for one in found:
        java = f"{one.java / MIB:,.0f}" if one.java else "-"
        lines.append(
            f"| {one.engine} | {one.cases:,} | {one.python / MIB:,.0f} | {java} | "
            f"{one.blocks:,} | {one.seconds:,.0f} |"
        )
    lines += ["", *_model(found)]
    return "\n".join(lines) + "\n"


def _model(found: Sequence[Measured]) -> Iterator[str]:
    """What a million cases would take, by the two largest sweeps of each engine."""
    for engine in dict.fromkeys(one.engine for one in found):
        *_, smaller, larger = [None, None, *(one for one in found if one.engine == engine)]
        if smaller is None or larger is None:
            continue
        per_case = (larger.python - smaller.python) / (larger.cases - smaller.cases)
        model = larger.python + per_case * (MODEL_CASES - larger.cases)
        yield (
            f"With {engine}, from {smaller.cases:,} to {larger.cases:,} cases the leading process "
            f"grows by {per_case:,.0f} bytes a case; a million would take {model / MIB:,.0f} MiB. "
        )
    yield (
        "What grows is the list of blocks, some hundred bytes each. A block takes up to 8 s of one "
        "process, so that it grows with the hours that a sweep takes, not with its cases. Workers "
        "write their blocks themselves, and the table is counted a few thousand rows at a time."
    )


def main() -> None:
    """Measure, and print the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--counts", nargs="+", type=int, default=COUNTS)
    given = parser.parse_args()
    print(section(list(measured(given.engines, given.counts))), end="")


if __name__ == "__main__":
    main()
