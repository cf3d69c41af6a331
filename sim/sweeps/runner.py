"""From a plan to a finished folder, on either engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from rich.console import Console

from sim.errors import BadInput
from sim.extras import check_extra
from sim.foreign.lines import one_line
from sim.plugins import in_use
from sim.sweeps.append import begin, grown
from sim.sweeps.blocks import Block, BlockAnswer, Work
from sim.sweeps.engines.engine import Engine
from sim.sweeps.engines.process import ProcessEngine
from sim.sweeps.layout import FINISHED_FILE
from sim.sweeps.lock import this_process
from sim.sweeps.output import check_folder, clear_errors, prepare_folder
from sim.sweeps.parts import missing_cases, parts_there, plan_content
from sim.sweeps.places import place, storage_at
from sim.sweeps.plan import Plan, Sweep, number_runs
from sim.sweeps.runs_progress import show_progress
from sim.sweeps.storage import Storage
from sim.sweeps.tally import write_tallies
from sim.sweeps.unjudged import unjudged
from sim.sweeps.waves import WaveWriter
from sim.sweeps.whole import clear_staging, mended, write_finished
from sim.sweeps.work import OpenCase, measure_rate, open_case

EngineName = Literal["spark", "process"]


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the real time of a sweep went."""

    start: float
    """Measuring the rate, starting the workers, and Spark."""
    simulate: float
    """From the first block to the last file."""
    tally: float
    """Summing up."""
    in_runs: float
    """Spent inside runs, added up over the workers: at most `simulate` times the cores."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep."""

    out: Path | str
    engine: EngineName
    cores: int
    cases: int
    runs: int
    """Of the whole table."""
    runs_before: int
    """Of those, the ones an earlier sweep had left (`resume`)."""
    verdicts: dict[str, dict[str, int]]
    """Per label of a rule set: runs per verdict, all four of them."""
    errors: int
    """Runs that ended in an exception."""
    unfinished: int
    """Inconclusive runs that did not leave the durability contract: a bound was hit."""
    reproduce: int | None
    """The lowest number of a run of these two kinds; None = there is none, the sweep is green."""
    single_process_rate: float
    """Runs per second of one process, measured for half a second before the start."""
    seconds: Seconds

    @property
    def rate(self) -> float:
        """Runs per second while simulating, all cores together."""
        return (self.runs - self.runs_before) / max(self.seconds.simulate, 1e-6)


def run_sweep(
    plan: Plan,
    *,
    out: Path | str,
    count: int | None = None,
    seed: int | None = None,
    engine: EngineName = "spark",
    master: str | None = None,
    spark: Mapping[str, str] | None = None,
    partitions: int | None = None,
    resume: bool = False,
    append: bool = False,
    console: Console | None = None,
    plan_file: str | None = None,
    open_case: OpenCase = open_case,
) -> SweepResult:
    """Runs a plan into the folder `out`, a path or an address, and sums it up there.

    `count` (cases) and `seed` replace the plan's. `engine` is "spark" (on `master`, see
    `spark_session`, with Spark's settings `spark`) or "process". `partitions` forces the number of
    blocks. `resume` continues what an interrupted sweep left; `append` lets the sweep in `out` grow
    (`sim.sweeps.append.grown`). `console` (stderr) shows progress. `plan_file` is the plan's path
    as the user wrote it, for the report's command.

    The tables are a function of plan, count and seed alone, `wall_ms` apart. An exception inside a
    run is a row. Ctrl-C cancels, keeps what is finished and raises KeyboardInterrupt.

    Raises BadInput, before anything is written, for values out of range, a folder that holds
    something else or that another sweep is writing into, or no Java; later for a disk that cannot
    be written any more.
    """
    out = place(out) if isinstance(out, str) else out
    if engine not in get_args(EngineName):
        raise BadInput(f"engine {engine!r}: one of {', '.join(get_args(EngineName))}")
    if master is not None and engine != "spark":
        raise BadInput(f"--master {master}: only Spark has masters: --engine spark")
    if partitions is not None and partitions < 1:
        raise BadInput(f"partitions {partitions}: at least 1 block")
    with _place(out, engine, master, spark) as storage:
        wanted = partial(_wanted, storage, plan, count, seed, append=append)
        wanted(resume=resume or not append)  # whether it is there already is asked below
        with clear_errors(storage.label), storage.lock(this_process()):
            sweep = wanted(resume=resume)  # somebody may have swept here meanwhile
            started = time.perf_counter()
            work = Work(sweep, open_case, 0.0, partitions, in_use())
            with _engine(engine, work, master=master, spark=spark) as chosen:
                try:
                    if append:
                        begin(storage, sweep, plan_file=plan_file)
                    tell = partial(_tell, console)
                    prepare_folder(storage, sweep, plan_file=plan_file, tell=tell)
                    rate = measure_rate(sweep, open_case=open_case)
                    work = replace(work, runs_per_second=rate)
                    seconds, before, content = _run(chosen, work, storage, console, started=started)
                finally:
                    with suppress(OSError, BadInput):  # whoever comes next clears it
                        clear_staging(storage)
                cores = chosen.cores
    missing = unjudged(content)
    return SweepResult(
        out=out,
        engine=engine,
        cores=cores,
        cases=sweep.count,
        runs=sweep.runs,
        runs_before=before,
        verdicts={entry["label"]: _verdicts(entry) for entry in content["rule_sets"]},
        errors=missing.errors,
        unfinished=missing.unfinished,
        reproduce=missing.first_run,
        single_process_rate=rate,
        seconds=seconds,
    )


def _verdicts(entry: Mapping[str, Any]) -> dict[str, int]:
    """How many runs of a rule set ended how."""
    return {name: seen["runs"] for name, seen in entry["counts"]["verdict"].items()}


def _place(
    out: Path | str, engine: EngineName, master: str | None, spark: Mapping[str, str] | None
) -> AbstractContextManager[Storage]:
    """Where the tables go; the session that reaches an address is the engine's, too."""
    if isinstance(out, str) and engine != "spark":
        raise BadInput(f"--out {out}: --engine spark writes there, {engine} only to folders here")
    return storage_at(out, master=master, settings=spark)


def _wanted(
    storage: Storage,
    plan: Plan,
    count: int | None,
    seed: int | None,
    *,
    resume: bool,
    append: bool,
) -> Sweep:
    """The sweep that the folder is to hold, if it may. Raises BadInput otherwise."""
    if append:
        return grown(storage, plan, count=count, seed=seed, resume=resume)
    sweep = number_runs(plan, count=count, seed=seed)
    check_folder(storage, sweep, resume=resume)
    return sweep


@contextmanager
def _engine(
    name: EngineName, work: Work, *, master: str | None, spark: Mapping[str, str] | None
) -> Iterator[Engine]:
    if name == "process":
        with closing(ProcessEngine(work)) as pool:
            yield pool
        return
    check_extra("sweeps on Spark need", "sweep", "pyspark")
    from sim.sweeps.engines.session import (
        spark_session,  # half a second, and only this engine needs it
    )
    from sim.sweeps.engines.spark import SparkEngine
    from sim.sweeps.engines.spark_errors import CALL_ERRORS, in_one_line

    with (
        spark_session(master=master, settings=spark) as session,
        closing(SparkEngine(session, work)) as on_spark,
    ):
        try:
            yield on_spark
        except CALL_ERRORS as error:  # Java may die in whatever call, be it the smallest
            raise in_one_line(error) from None


def _run(
    engine: Engine, work: Work, storage: Storage, console: Console | None, *, started: float
) -> tuple[Seconds, int, dict[str, Any]]:
    """What took how long, how many runs were there before, and the tallies."""
    sweep, content = work.sweep, plan_content(storage)
    kept = mended(storage, content, tell=partial(_tell, console))
    missing = missing_cases(sweep, kept)
    before = sweep.runs - sum(map(len, missing)) * len(sweep.rule_sets)
    storage.remove(FINISHED_FILE)
    writer = WaveWriter(storage, sweep, content, kept)
    busy_ms = 0.0
    if missing:
        engine.warm_up()
    ready = time.perf_counter()
    try:
        with show_progress(console, total=sweep.runs, before=before) as report, writer:
            for answer in _answers(engine, work, missing):
                busy_ms += answer.busy_ms
                writer.add(answer)
                report(writer.runs)
    except KeyboardInterrupt:
        kept_runs = f"{before + writer.runs:,} of {sweep.runs:,} runs are kept in {storage.label}"
        _tell(console, f"interrupted: {kept_runs}; the same command with --resume makes the others")
        raise
    simulated = time.perf_counter()
    tallied = write_tallies(storage, sweep, engine.count(parts_there(storage)))
    write_finished(storage)
    counted = time.perf_counter()
    seconds = Seconds(
        start=ready - started,
        simulate=simulated - ready,
        tally=counted - simulated,
        in_runs=busy_ms / 1000,
    )
    return seconds, before, tallied


def _answers(engine: Engine, work: Work, missing: tuple[range, ...]) -> Iterator[BlockAnswer]:
    """The answers to all blocks of some cases, each once, as they come."""
    if not missing:
        return
    asked = _Asked(work.blocks(missing, cores=engine.cores))
    with closing(engine.answers(asked)) as answers:
        for answer in answers:
            asked.under_way.remove(answer.block)
            yield answer
    assert not asked.under_way, f"{len(asked.under_way)} blocks without an answer"


class _Asked:
    """Blocks as an engine takes them, one after another: there is no list of all.

    Attributes:
        under_way: Those that it has taken and not answered yet.
    """

    def __init__(self, blocks: Iterator[Block]) -> None:
        self.under_way: set[Block] = set()
        self._blocks = blocks

    def __iter__(self) -> Iterator[Block]:
        return self

    def __next__(self) -> Block:
        block = next(self._blocks)
        self.under_way.add(block)
        return block


def _tell(console: Console | None, line: str) -> None:
    if console is not None:
        console.print(one_line(line), highlight=False, markup=False, soft_wrap=True)
