"""From a plan to a finished folder, on either engine; and back from a row to its run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, Protocol, get_args

from rich.console import Console

from sim.errors import BadInput
from sim.run import Run, run_scenario
from sim.scenario.generate import generate
from sim.scenario.model import Scenario
from sim.sweep.layout import Wave, waves_of
from sim.sweep.output import (
    check_folder,
    clear_errors,
    close_folder,
    drop_stray_violations,
    missing_waves,
    prepare_folder,
    read_sweep,
)
from sim.sweep.plan import Plan, Sweep, number_runs
from sim.sweep.process import ProcessEngine
from sim.sweep.progress import Reporter, show_progress
from sim.sweep.tally import Counts, write_tallies
from sim.sweep.work import OpenCase, measure_rate, open_case
from sim.trace import Event

EngineName = Literal["spark", "process"]


class Engine(Protocol):
    """What runs waves and counts what came out."""

    @property
    def cores(self) -> int: ...
    def warm_up(self) -> None: ...
    def run(self, waves: tuple[Wave, ...], report: Reporter) -> None: ...
    def count(self) -> Counts: ...


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the real time of a sweep went."""

    start: float
    """Measuring the rate, starting Spark and its workers."""
    simulate: float
    """From the first block to the last file."""
    tally: float


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep."""

    out: Path
    engine: EngineName
    cores: int
    cases: int
    runs: int
    """Of the whole table."""
    runs_before: int
    """Of those, the ones an earlier sweep had left (`resume`)."""
    verdicts: dict[str, dict[str, int]]
    """Per label of a rule set: runs per verdict, all four of them."""
    single_process_rate: float
    """Runs per second of one process, measured on the first cases before the start."""
    seconds: Seconds

    @property
    def rate(self) -> float:
        """Runs per second while simulating, all cores together."""
        return (self.runs - self.runs_before) / max(self.seconds.simulate, 1e-6)


def run_sweep(
    plan: Plan,
    *,
    out: Path,
    count: int | None = None,
    seed: int | None = None,
    engine: EngineName = "spark",
    master: str | None = None,
    partitions: int | None = None,
    resume: bool = False,
    console: Console | None = None,
    plan_file: str | None = None,
    open_case: OpenCase = open_case,
) -> SweepResult:
    """Runs a plan into the folder `out` and sums it up there.

    `count` (cases) and `seed` replace the plan's. `engine` is "spark" (on `master`, see
    `spark_session`) or "process". `partitions` forces the number of blocks per wave. `resume`
    continues what an interrupted sweep left. `console` (stderr) shows progress. `plan_file` is the
    plan's path as the user wrote it, for the report's command.

    The tables are a function of plan, count and seed alone, `wall_ms` apart. An exception inside a
    run is a row. Ctrl-C cancels, keeps the finished waves and raises KeyboardInterrupt.

    Raises BadInput, before anything is written, for values out of range, a folder that holds
    something else, or no Java; later for a disk that cannot be written any more.
    """
    sweep = number_runs(plan, count=count, seed=seed)
    if engine not in get_args(EngineName):
        raise BadInput(f"engine {engine!r}: one of {', '.join(get_args(EngineName))}")
    if partitions is not None and partitions < 1:
        raise BadInput(f"partitions {partitions}: at least 1 block per wave")
    check_folder(out, sweep, resume=resume)
    started = time.perf_counter()
    rate = measure_rate(sweep, open_case=open_case)
    settings = _Settings(sweep, out, open_case, rate, partitions, master)
    with _engine(engine, settings) as chosen:
        prepare_folder(out, sweep, plan_file=plan_file)
        try:
            return _run(chosen, settings, console, name=engine, started=started)
        except KeyboardInterrupt:
            _say_interrupted(console, out, sweep)
            raise
        finally:
            close_folder(out)


@dataclass(frozen=True, slots=True)
class _Settings:
    sweep: Sweep
    out: Path
    open_case: OpenCase
    rate: float
    partitions: int | None
    master: str | None


@contextmanager
def _engine(name: EngineName, settings: _Settings) -> Iterator[Engine]:
    common = {
        "sweep": settings.sweep,
        "out": settings.out,
        "open_case": settings.open_case,
        "runs_per_second": settings.rate,
        "partitions": settings.partitions,
    }
    if name == "process":
        yield ProcessEngine(**common)
        return
    if find_spec("pyspark") is None:
        raise BadInput("sweeps on Spark need pyspark: pip install 'replog[sweep]'")
    from sim.sweep.session import spark_session  # half a second, and only this engine needs it
    from sim.sweep.spark import SparkEngine

    with spark_session(master=settings.master) as session:
        yield SparkEngine(session=session, **common)


def _run(
    engine: Engine, settings: _Settings, console: Console | None, *, name: EngineName, started: float
) -> SweepResult:
    sweep, out = settings.sweep, settings.out
    drop_stray_violations(out, sweep)
    waves = missing_waves(out, sweep)
    before = sweep.runs - sum(len(wave.cases) for wave in waves) * len(sweep.rule_sets)
    if waves:
        engine.warm_up()
    ready = time.perf_counter()
    with show_progress(console, total=sweep.runs, before=before) as report:
        engine.run(waves, report)
    simulated = time.perf_counter()
    with clear_errors(out):
        content = write_tallies(out, sweep, engine.count())
    counted = time.perf_counter()
    verdicts = {
        entry["label"]: {name: seen["runs"] for name, seen in entry["counts"]["verdict"].items()}
        for entry in content["rule_sets"]
    }
    return SweepResult(
        out=out,
        engine=name,
        cores=engine.cores,
        cases=sweep.count,
        runs=sweep.runs,
        runs_before=before,
        verdicts=verdicts,
        single_process_rate=settings.rate,
        seconds=Seconds(ready - started, simulated - ready, counted - simulated),
    )


def _say_interrupted(console: Console | None, out: Path, sweep: Sweep) -> None:
    if console is None:
        return
    total = len(waves_of(sweep))
    kept = total - len(missing_waves(out, sweep))
    console.print(
        f"interrupted: {kept} of {total} waves are kept in {out}; "
        "the same command with --resume makes the others",
        highlight=False, soft_wrap=True,
    )


def scenario_of_run(out: Path | str, run_id: int) -> Scenario:
    """The scenario of a run, with its rules, made again from `plan.json` and the run's number.

    Raises BadInput when the folder holds no sweep or the sweep no such run.
    """
    sweep = read_sweep(Path(out))
    case_id, rule_set = sweep.place_of(run_id)
    scenario = generate(sweep.case_seed(case_id), sweep.plan.generate)
    return scenario.with_rules(rule_set.rules)


def replay(out: Path | str, run_id: int, *, trace: list[Event] | None = None) -> Run:
    """A run of a sweep once more, in full; its events are added to `trace`.

    With the version that made the sweep its digest equals the row's (`find_run(out, run_id)`).
    """
    return run_scenario(scenario_of_run(out, run_id), trace=trace)
