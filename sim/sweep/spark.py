"""Running a sweep on Spark: blocks of cases through `mapInArrow`, one set of files per wave.

A wave is one pass over its simulations: the rows, with their violations nested, are cached and then
written as two tables. Two waves are under way at a time, so that the cores have work while the
other is written. Everything a worker needs is the plan and a block number.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from pyspark import InheritableThread, StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import explode
from pyspark.sql.pandas.types import from_arrow_schema

from sim.errors import BadInput
from sim.sweep.layout import Wave
from sim.sweep.output import RUNS, STAGING, VIOLATIONS, commit_wave, disk_full, worker_died
from sim.sweep.plan import Sweep
from sim.sweep.progress import Reporter
from sim.sweep.row import NESTED, worker_schema
from sim.sweep.spark_tally import count_in_spark
from sim.sweep.tally import Counts
from sim.sweep.work import OpenCase, Work, batches_of_cases

WAVES_IN_FLIGHT = 2
POLL_SECONDS = 0.1

Batches = Iterator[pa.RecordBatch]


def block_worker(
    sweep: Sweep, blocks: tuple[range, ...], open_case: OpenCase
) -> Callable[[Batches], Batches]:
    """The function that runs on the workers: block numbers in, rows out."""

    def simulate(batches: Batches) -> Batches:
        for batch in batches:
            for block in batch.column(0).to_pylist():
                yield from batches_of_cases(sweep, blocks[block], open_case=open_case)

    return simulate


@dataclass(slots=True)
class _Job:
    """A wave under way: its thread, its job group, what became of it."""

    wave: Wave
    blocks: tuple[range, ...]
    group: str
    runs: int
    error: Exception | None = None
    thread: InheritableThread | None = None


@dataclass(slots=True)
class SparkEngine:
    """Runs waves on a session and moves each into place when it is whole."""

    session: SparkSession
    work: Work
    _active: list[_Job] = field(default_factory=list)

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at a time."""
        return int(self.session.sparkContext.defaultParallelism)

    def warm_up(self) -> None:
        """Starts a Python worker per core and has it import the simulator."""
        nothing = (range(0),) * self.cores
        self._simulated(nothing).count()

    def count(self) -> Counts:
        """Sums up the finished tables."""
        return count_in_spark(self.session, self.work.out, self.work.sweep)

    def run(self, waves: tuple[Wave, ...], report: Reporter) -> None:
        """Runs `waves`. An exception or Ctrl-C cancels what is under way; finished waves stay."""
        waiting = list(reversed(waves))
        finished = 0
        try:
            while waiting or self._active:
                while waiting and len(self._active) < WAVES_IN_FLIGHT:
                    self._start(waiting.pop())
                time.sleep(POLL_SECONDS)
                finished += self._collect()
                report(finished + sum(self._done(job) for job in self._active))
        except BaseException:
            self._cancel()
            raise

    def _start(self, wave: Wave) -> None:
        blocks = self.work.blocks_of(wave, cores=self.cores)
        runs = len(wave.cases) * len(self.work.sweep.rule_sets)
        job = _Job(wave, blocks, f"replog-{uuid.uuid4().hex}", runs)
        job.thread = InheritableThread(target=self._run_wave, args=(job,), daemon=True)
        self._active.append(job)
        job.thread.start()

    def _run_wave(self, job: _Job) -> None:
        try:
            self._write(job)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            job.error = error

    def _write(self, job: _Job) -> None:
        context = self.session.sparkContext
        description = f"wave {job.wave.number}: {self.work.sweep.plan.title}"
        context.setJobGroup(job.group, description, interruptOnCancel=True)
        context.setLocalProperty("spark.scheduler.pool", "simulate")
        rows = self._simulated(job.blocks).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            rows.count()
            context.setJobGroup(f"{job.group}-write", description, interruptOnCancel=True)
            context.setLocalProperty("spark.scheduler.pool", "write")
            runs = self._one_file(rows.drop(NESTED), ["run_id"], job, RUNS)
            found = rows.select("run_id", explode(NESTED).alias("found"))
            violations = self._one_file(
                found.select("run_id", "found.*"), ["run_id", "position"], job, VIOLATIONS
            )
        finally:
            rows.unpersist()
        commit_wave(self.work.out, job.wave, runs=runs, violations=violations)

    def _simulated(self, blocks: tuple[range, ...]) -> DataFrame:
        """The rows of some blocks, one task each."""
        worker = block_worker(self.work.sweep, blocks, self.work.open_case)
        schema = from_arrow_schema(worker_schema(self.work.sweep))
        return self.session.range(0, len(blocks), 1, len(blocks)).mapInArrow(worker, schema)

    def _one_file(self, rows: DataFrame, order: list[str], job: _Job, table: str) -> Path:
        """Writes a table of a wave as one sorted Parquet file in the staging folder; its path."""
        folder = self.work.out / STAGING / f"{table}-{job.wave.number}"
        ordered = rows.coalesce(1).sortWithinPartitions(*order)
        ordered.write.mode("overwrite").parquet(str(folder.absolute()))
        parts = sorted(folder.glob("part-*.parquet"))
        if len(parts) != 1:
            raise BadInput(
                f"{folder}: Spark's workers wrote {len(parts)} files that are visible here, not 1; "
                "the output folder must be shared by all machines of the cluster"
            )
        return parts[0]

    def _collect(self) -> int:
        """Takes finished waves off the list; the number of their runs."""
        ended = [job for job in self._active if job.thread and not job.thread.is_alive()]
        for job in ended:
            if job.error is not None:
                raise _readable(job.error, self.work.out)
            self._active.remove(job)
        return sum(job.runs for job in ended)

    def _done(self, job: _Job) -> int:
        """Runs of a wave whose blocks are done, as far as Spark's status tracker says."""
        tracker = self.session.sparkContext.statusTracker()
        done = 0
        for number in tracker.getJobIdsForGroup(job.group):
            info = tracker.getJobInfo(number)
            for stage in info.stageIds if info else ():
                state = tracker.getStageInfo(stage)
                if state is not None and state.numTasks == len(job.blocks):
                    done = max(done, state.numCompletedTasks)
        return math.floor(job.runs * min(1.0, done / len(job.blocks)))

    def _cancel(self) -> None:
        context = self.session.sparkContext
        for job in self._active:
            context.cancelJobGroup(job.group)
            context.cancelJobGroup(f"{job.group}-write")
        for job in self._active:
            if job.thread is not None:
                job.thread.join(timeout=10)


def _readable(error: Exception, out: Path) -> Exception:
    """What the person at the keyboard can do something about, as BadInput; the rest unchanged."""
    text = str(error)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return BadInput(disk_full(out))
    if "Python worker exited unexpectedly" in text:
        return BadInput(worker_died(out))
    if isinstance(error, OSError) or "Permission denied" in text or "Mkdirs failed" in text:
        return BadInput(f"{out}: cannot be written; finished waves are kept, --resume continues")
    return error
