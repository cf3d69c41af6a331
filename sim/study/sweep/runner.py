"""From a plan to a finished folder, on either engine."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from sim.errors import BadInput, did_you_mean
from sim.files.extras import check_extra, install
from sim.plugins import in_use
from sim.study.sweep.blocks import Work, blocks_of, not_in
from sim.study.sweep.engines.process import ProcessEngine
from sim.study.sweep.folder import (
    RUNS,
    SUMMARY_FILE,
    TALLIES_FILE,
    as_json,
    check_folder,
    clear_errors,
    drawn_there,
    write_plan,
)
from sim.study.sweep.plan import Plan, Sweep, number_runs
from sim.study.sweep.runs_progress import Nobody, Teller, progress_of
from sim.study.sweep.statistics import Facts, summary_csv, tallies
from sim.study.sweep.storage import Folder, LocalFolder, folder_at, place, this_process
from sim.study.sweep.unjudged import Unjudged, unjudged
from sim.study.sweep.work import OpenCase, measure_rate, open_case

if TYPE_CHECKING:
    from sim.study.sweep.engines.spark import SparkEngine

EngineName = Literal["spark", "process"]
NOBODY = Nobody()


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the real time of a sweep went."""

    start: float
    """Measuring the rate, starting the workers, and Spark."""
    simulate: float
    """From the first block to the last file."""
    in_runs: float
    """Spent inside all runs of the table, added up."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep."""

    out: Path | str
    engine: EngineName
    cores: int
    runs_before: int
    """Runs that an earlier sweep had left (`resume`)."""
    seconds: Seconds
    sweep: Sweep
    """What was run."""
    content: dict[str, Any]
    """The statistics, as `tallies.json` has them."""

    @property
    def runs(self) -> int:
        """Of the whole table."""
        return self.sweep.runs

    @property
    def unjudged(self) -> Unjudged:
        """Runs without a verdict that should have one."""
        return unjudged(self.content)

    @property
    def verdicts(self) -> dict[str, dict[str, int]]:
        """Per label of a rule set: runs per verdict, all four of them."""
        return {
            entry["label"]: {
                name: seen["runs"] for name, seen in entry["counts"]["verdict"].items()
            }
            for entry in self.content["rule_sets"]
        }

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
    engine: EngineName | None = "spark",
    master: str | None = None,
    spark: Mapping[str, str] | None = None,
    partitions: int | None = None,
    resume: bool = False,
    teller: Teller = NOBODY,
    plan_file: str | None = None,
    open_case: OpenCase = open_case,
) -> SweepResult:
    """Runs a plan into the folder `out`, a path or an address, and sums it up there.

    `count` (cases) and `seed` replace the plan's; where they are not given, `resume` takes those
    of the folder. `engine` is "spark" (on `master`, see
    `spark_session`, with Spark's settings `spark`) or "process"; None is Spark where it is here,
    else processes, and `teller` is told why. `partitions` forces the number of
    blocks. `resume` continues what an interrupted sweep left, or lets a finished one grow to a
    larger `count`. `teller` says how far it is. `plan_file` is the plan's path as the user wrote
    it, for the report's command.

    The tables are a function of plan, count and seed alone, `wall_ms` apart. An exception inside a
    run is a row. Ctrl-C cancels, keeps what is finished and raises KeyboardInterrupt.

    Raises BadInput, before anything is written, for values out of range, a folder that holds
    something else or that another sweep is writing into, or no Java; later for a disk that cannot
    be written any more.
    """
    out = place(out) if isinstance(out, str) else out
    why_processes = None
    if engine is None:
        # What only Spark can do asks for it.
        asked = isinstance(out, str) or master is not None or spark
        why_processes = None if asked else _why_no_spark()
        engine = "spark" if why_processes is None else "process"
    if engine not in get_args(EngineName):
        names = get_args(EngineName)
        close = did_you_mean(engine, names)
        raise BadInput(f"engine {engine!r}{close}: one of {', '.join(names)}")
    if master is not None and engine != "spark":
        raise BadInput(f"--master {master}: only Spark has masters: --engine spark")
    if partitions is not None and partitions < 1:
        raise BadInput(f"partitions {partitions}: at least 1 block")
    if isinstance(out, str) and engine != "spark":
        raise BadInput(f"--out {out}: --engine spark writes there, {engine} only to folders here")
    with (
        ExitStack() as stack,
        folder_at(out, master=master, settings=spark) as folder,
        clear_errors(folder.label),
    ):
        if resume:
            cases_there, seed_there = drawn_there(folder, plan)
            count = cases_there if count is None else count
            seed = seed_there if seed is None else seed
        sweep = number_runs(plan, count=count, seed=seed)
        check_folder(folder, sweep, resume=True)  # whether it is there already is asked below
        stack.enter_context(folder.lock(this_process()))
        started = time.perf_counter()
        check_folder(folder, sweep, resume=resume)  # somebody may have swept here meanwhile
        work = Work(sweep, open_case, in_use())
        if why_processes is not None:
            teller.tell(f"simulating on processes: {why_processes}")
        with _engine(engine, work, folder, master=master, spark=spark) as chosen:
            write_plan(folder, sweep, plan_file=plan_file, tell=teller.tell)
            rate, cores = measure_rate(sweep, open_case=open_case), chosen.cores
            missing = not_in(chosen.there(teller.tell), sweep.count)
            before = sweep.runs - sum(map(len, missing)) * len(sweep.rule_sets)
            folder.remove(TALLIES_FILE)
            if missing:
                chosen.warm_up()
            ready = time.perf_counter()
            if missing:
                blocks = blocks_of(
                    missing, sweep, runs_per_second=rate, cores=cores, blocks=partitions
                )
                done = progress_of(teller, total=sweep.runs, before=before)
                with (
                    _interruptions_told(folder, teller),
                    closing(chosen.simulate([*blocks])) as runs,
                ):
                    for count_done in runs:
                        done(count_done)
            simulated = time.perf_counter()
            found = chosen.count()
            content = _written(folder, sweep, found)
    return SweepResult(
        out=out,
        engine=engine,
        cores=cores,
        runs_before=before,
        seconds=Seconds(ready - started, simulated - ready, found.busy_ms / 1000),
        sweep=sweep,
        content=content,
    )


def _why_no_spark() -> str | None:
    """Why no sweep can run on Spark here, in a few words; None = one can."""
    if find_spec("pyspark") is None:
        return f"PySpark is not installed; it comes with {install('sweep')}"
    from sim.study.sweep.engines.session import find_java

    try:
        find_java()
    except BadInput as error:
        return str(error).partition(";")[0]
    return None


@contextmanager
def _engine(
    name: EngineName,
    work: Work,
    folder: Folder,
    *,
    master: str | None,
    spark: Mapping[str, str] | None,
) -> Iterator[ProcessEngine | SparkEngine]:
    if name == "process":
        assert isinstance(folder, LocalFolder)
        with ExitStack() as pools:
            yield ProcessEngine(work, folder.root, pools)
        return
    check_extra("sweeps on Spark need", "sweep", "pyspark")
    from sim.study.sweep.engines.session import (
        spark_session,  # half a second; only this engine needs it
    )
    from sim.study.sweep.engines.spark import SparkEngine

    with spark_session(master=master, settings=spark) as session:
        yield SparkEngine(session, work, folder)


@contextmanager
def _interruptions_told(folder: Folder, teller: Teller) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {folder.label}"
        teller.tell(f"interrupted: {kept}; the same command with --resume makes the others")
        raise


def _written(folder: Folder, sweep: Sweep, found: Facts) -> dict[str, Any]:
    """The statistics, once they are in the folder: then the sweep is finished."""
    content = tallies(sweep, found)
    there = sum(runs for key, runs in found.sums.items() if key[3:4] == ("verdict",))
    if there != sweep.runs:
        raise BadInput(
            f"{folder.label}/{RUNS}: {there:,} of {sweep.runs:,} runs are there; do all "
            "machines write to the same folder?"
        )
    folder.write(SUMMARY_FILE, summary_csv(sweep, content).encode())
    folder.write(TALLIES_FILE, as_json(content).encode())
    return content
