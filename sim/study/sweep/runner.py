"""Runs a plan into a folder, on Spark or on a pool of processes, which needs no Java.

Both make the same table.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from sim.errors import BadInput, did_you_mean
from sim.files.shipped import check_extra, install
from sim.plugins import in_use
from sim.simulate.run.timed import LEFT_THE_CONTRACT
from sim.study.sweep.folder import RUNS, check_folder, clear_errors, drawn_there, locked, write_plan
from sim.study.sweep.plan import Plan, Sweep, number_runs
from sim.study.sweep.statistics import BRIEF, VERDICTS, on_duckdb, statistics_of
from sim.study.sweep.table import mended, open_table
from sim.study.sweep.work import OpenCase, Work, blocks_of, open_case
from sim.study.workers import pool_of, usable_cores

if TYPE_CHECKING:
    from sim.study.sweep.spark import SparkEngine


class Unjudged(NamedTuple):
    """Numbers of runs without a verdict.

    Attributes:
        errors: Runs that ended in an exception.
        unfinished: Inconclusive runs that did not leave the durability contract.
        first_run: The lowest number of such a run; None in a green sweep.
    """

    errors: int
    unfinished: int
    first_run: int | None

    def in_words(self, runs: int) -> str:
        """Words for the runs without a verdict among `runs`; empty for a green sweep."""
        counts = {"ended in an exception": self.errors, "hit a bound": self.unfinished}
        words = " and ".join(f"{count:,} {what}" for what, count in counts.items() if count)
        return f"not green: of {runs:,} runs {words}" if words else ""


def unjudged(statistics: Sequence[Mapping[str, Any]]) -> Unjudged:
    """Counts runs without a verdict; those that left the durability contract need none."""
    counts = [entry["counts"] for one in statistics for entry in one["rule_sets"]]
    errors = [one["verdict"]["error"] for one in counts if one["verdict"]["error"]["runs"]]
    unfinished = [
        seen
        for one in counts
        for reason, seen in one["reason"].items()
        if reason != LEFT_THE_CONTRACT
    ]
    first = min((one["first_run"] for one in (*errors, *unfinished)), default=None)
    return Unjudged(
        sum(one["runs"] for one in errors), sum(one["runs"] for one in unfinished), first
    )


class Teller(Protocol):
    """Output for people during a sweep."""

    def show(self, text: str) -> None:
        """Shows progress, again and again."""

    def tell(self, text: str) -> None:
        """Prints a line that stays."""


class Silent:
    """A `Teller` without output."""

    def show(self, text: str) -> None:
        """Discards the text of the progress."""

    def tell(self, text: str) -> None:
        """Discards a line of text."""


def progress(done: int, *, before: int, total: int, seconds: float) -> str:
    """The progress of a sweep in words.

    Args:
        done: Number of runs done since the start.
        before: Number of runs that an earlier sweep had done.
        total: Number of all runs of the sweep.
        seconds: Real time since the start.
    """
    rate, left = done / max(seconds, 1e-6), total - before - done
    ends = f", {left / rate:,.0f} s left" if left and done else ""
    return f"{before + done:,} of {total:,} runs, {rate:,.0f} runs/s{ends}"


EngineName = Literal["spark", "process"]
DIED = "a worker process died (out of memory?); what was finished is kept, --resume continues"


@contextmanager
def _without_main() -> Iterator[None]:
    """Keeps new workers from importing the script that sweeps.

    A new worker imports `__main__`; a script without `if __name__ == "__main__"` would sweep again
    in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@dataclass(frozen=True)
class ProcessEngine:
    """Simulates blocks on one process per core; each worker writes its own."""

    work: Work
    out: Path
    """Folder of the sweep."""
    asking = staticmethod(on_duckdb)
    """Gives a function that asks the files of the table in SQL, on DuckDB."""

    @property
    def cores(self) -> int:
        """Number of processes that simulate."""
        return usable_cores()

    def simulate(self, blocks: Sequence[Sequence[int]]) -> Generator[int]:
        """Simulates blocks and writes each into the table; yields the number of runs done so far.

        Finished blocks stay in any case. Raises BadInput when a worker dies.
        """
        folder, runs = self.out / RUNS, 0
        try:
            with pool_of(min(self.cores, len(blocks))) as pool:
                with _without_main():
                    jobs = [pool.submit(self.work.write, cases, folder) for cases in blocks]
                for job in as_completed(jobs):
                    runs += job.result()
                    yield runs
        except BrokenProcessPool:
            raise BadInput(DIED) from None


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of a finished sweep."""

    out: Path
    cores: int
    runs_before: int
    """Number of runs that an earlier sweep had done (`resume`)."""
    seconds: float
    """Real time from the start of the engine to the last file."""
    sweep: Sweep
    """The sweep that was run."""
    statistics: list[dict[str, Any]]
    """Verdicts and sums of each environment (`sim.study.sweep.statistics`)."""

    @property
    def verdicts(self) -> dict[str, dict[str, int]]:
        """Numbers of runs by label of the rule set and by verdict."""
        found = {one.label: dict.fromkeys(VERDICTS, 0) for one in self.sweep.rule_sets}
        for entry in (entry for one in self.statistics for entry in one["rule_sets"]):
            for name, seen in entry["counts"]["verdict"].items():
                found[entry["label"]][name] += seen["runs"]
        return found

    @property
    def rate(self) -> float:
        """New runs per second, all cores together."""
        return (self.sweep.runs - self.runs_before) / max(self.seconds, 1e-6)


def run_sweep(
    plan: Plan,
    *,
    out: Path,
    count: int | None = None,
    seed: int | None = None,
    engine: EngineName | None = "spark",
    master: str | None = None,
    spark: Mapping[str, str] | None = None,
    partitions: int | None = None,
    resume: bool = False,
    teller: Teller | None = None,
    plan_file: str | None = None,
    open_case: OpenCase = open_case,
) -> SweepResult:
    """Runs a plan into the folder `out`.

    The table is a function of plan, count and seed alone, `wall_ms` apart. A run that ends in an
    exception is a row. Ctrl-C cancels, keeps what is finished and raises KeyboardInterrupt.

    Args:
        plan: The plan.
        out: Folder of the sweep, which all machines of a cluster have to see.
        count: Number of cases; None for that of the folder with `resume`, else the plan's.
        seed: Seed; None for that of the folder with `resume`, else the plan's.
        engine: "spark" or "process". None for Spark if `master` or `spark` is given, or if PySpark
            and Java are there; else for processes, and `teller` says why.
        master: Master of Spark, see `spark_session`.
        spark: Settings of Spark.
        partitions: Number of blocks; None for blocks by size, see `blocks_of`.
        resume: Continues what an interrupted sweep left, or lets a finished one grow to a larger
            `count`.
        teller: Output for the progress and for lines that stay; None for no output.
        plan_file: The plan's path as the user wrote it, for the report's command.
        open_case: (sweep, case) -> a function that runs the case under given rules.

    Raises:
        BadInput: Before anything is written, for values out of range, a folder that holds something
            else or that another sweep is writing into, or no Java; later for a disk that cannot be
            written any more, a worker that died, missing cases, and an error of Spark.
    """
    teller = teller or Silent()
    only_spark = master is not None or bool(spark)  # what only Spark can do asks for it
    why_processes = None if engine or only_spark else _why_no_spark()
    engine = engine or ("spark" if why_processes is None else "process")
    _check_options(engine, master)
    with ExitStack() as stack:
        stack.enter_context(clear_errors(out))
        if resume:
            count, seed = drawn_there(out, plan, count=count, seed=seed)
        sweep = number_runs(plan, count=count, seed=seed)
        check_folder(out, sweep, resume=True)  # whether it is there already is asked below
        stack.enter_context(locked(out))
        started = time.perf_counter()
        check_folder(out, sweep, resume=resume)  # somebody may have swept here meanwhile
        if why_processes is not None:
            teller.tell(f"simulating on processes: {why_processes}")
        work = Work(sweep, open_case, in_use())
        chosen: ProcessEngine | SparkEngine = ProcessEngine(work, out)
        if engine == "spark":
            check_extra("sweeps on Spark need", "sweep", "pyspark")
            from sim.study.sweep.spark import SparkEngine, spark_session  # half a second

            session = stack.enter_context(spark_session(master=master, settings=spark))
            chosen = SparkEngine(session, work, out)
        write_plan(out, sweep, plan_file=plan_file)
        before = _simulate(chosen, teller, blocks=partitions)
        seconds = time.perf_counter() - started
        table = open_table(out)
        if table.missing:
            raise BadInput(
                f"{out}/{RUNS}: {len(table.missing):,} of {sweep.count:,} cases are missing; do "
                "all machines write to the same folder?"
            )
        with chosen.asking(table.files) as ask:
            statistics = statistics_of(sweep, ask, questions=BRIEF)
    return SweepResult(out, chosen.cores, before, seconds, sweep, statistics)


def _simulate(engine: ProcessEngine | SparkEngine, teller: Teller, *, blocks: int | None) -> int:
    """Simulates the missing cases and shows progress; returns how many runs were there before."""
    sweep = engine.work.sweep
    missing = mended(engine.out, teller.tell).missing
    before = sweep.runs - len(missing) * len(sweep.rule_sets)
    if not missing:
        return before
    parts = [*blocks_of(missing, len(sweep.rule_sets), cores=engine.cores, blocks=blocks)]
    started = time.monotonic()
    try:
        with closing(engine.simulate(parts)) as runs:
            for done in runs:
                seconds = time.monotonic() - started
                teller.show(progress(done, before=before, total=sweep.runs, seconds=seconds))
    except KeyboardInterrupt:
        kept = f"what is finished is kept in {engine.out}"
        teller.tell(f"interrupted: {kept}; the same command with --resume makes the others")
        raise
    return before


def _check_options(engine: str, master: str | None) -> None:
    names = get_args(EngineName)
    if engine not in names:
        close = did_you_mean(engine, names)
        raise BadInput(f"engine {engine!r}{close}: one of {', '.join(names)}")
    if master is not None and engine != "spark":
        raise BadInput(f"--master {master}: only Spark has masters: --engine spark")


def _why_no_spark() -> str | None:
    """The reason why Spark cannot be used here; None when it can."""
    if find_spec("pyspark") is None:
        return f"PySpark is not installed; it comes with {install('sweep')}"
    from sim.study.sweep.spark import find_java

    try:
        find_java()
    except BadInput as error:
        return str(error).partition(";")[0]
    return None
