"""Running a sweep on Spark: one job, one task per block, through `mapInArrow`.

A task gets the plan and a block number and answers with the time it took; the rows go from the
worker straight to the output folder, which all machines share. Summing them up is Spark's again
(see `spark_tally`).
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession

from sim.errors import BadInput
from sim.sweeps.blocks import Block, StagedWaves, Work, get_ready, simulate_block
from sim.sweeps.engines.spark_tally import count_in_spark
from sim.sweeps.layout import Wave
from sim.sweeps.output import STAGING, disk_full, worker_died
from sim.sweeps.runs_progress import Reporter
from sim.sweeps.tally import Counts

POLL_SECONDS = 0.25
CANCEL_SECONDS = 10.0

_ANSWER = pa.schema([pa.field("busy_ms", pa.float64())])
_Batches = Iterator[pa.RecordBatch]


def block_worker(work: Work, blocks: tuple[Block, ...]) -> Callable[[_Batches], _Batches]:
    """The function that runs on the workers: block numbers in, time spent in runs out."""

    def simulate(batches: _Batches) -> _Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                busy_ms = simulate_block(work, blocks[number])
                yield pa.RecordBatch.from_pylist([{"busy_ms": busy_ms}], schema=_ANSWER)

    return simulate


def idle_worker(work: Work) -> Callable[[_Batches], _Batches]:
    """A function that loads what that of `block_worker` needs, and answers nothing."""

    def wait(batches: _Batches) -> _Batches:
        get_ready(work)
        for batch in batches:
            yield batch.slice(0, 0)

    return wait


@dataclass(slots=True)
class SparkEngine:
    """Runs waves on a session and moves each into place when it is whole."""

    session: SparkSession
    work: Work

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at a time."""
        return int(self.session.sparkContext.defaultParallelism)

    def warm_up(self) -> None:
        """Starts a Python worker per core and has it import the simulator."""
        self._numbers(self.cores).mapInArrow(idle_worker(self.work), "id long").collect()

    def count(self) -> Counts:
        """Sums up the finished tables."""
        return count_in_spark(self.session, self.work.out, self.work.sweep)

    def run(self, waves: tuple[Wave, ...], report: Reporter) -> float:
        """Runs `waves`; the real ms that workers spent in runs.

        An exception or Ctrl-C cancels what is under way; finished waves stay.
        """
        blocks = self.work.blocks(waves, cores=self.cores)
        staged = StagedWaves(self.work, blocks)
        job = _Job(self.session, self.work, blocks, self._numbers(len(blocks)))
        try:
            job.start()
            while job.running:
                time.sleep(POLL_SECONDS)
                report(staged.commit())
        except BaseException:
            job.cancel()
            raise
        report(staged.commit())
        if job.error is not None:
            raise _readable(job.error, self.work)
        if not staged.complete:
            raise BadInput(_not_shared(self.work))
        return job.busy_ms

    def _numbers(self, end: int) -> DataFrame:
        """0 to `end`, exclusive, a partition each."""
        return self.session.range(0, end, 1, max(1, end))


class _Job:
    """The Spark job of a sweep, in a thread of its own so that another can watch and cancel it."""

    def __init__(
        self, session: SparkSession, work: Work, blocks: tuple[Block, ...], numbers: DataFrame
    ) -> None:
        self.error: Exception | None = None
        self.busy_ms = 0.0
        self._session = session
        self._group = f"replog-{uuid.uuid4().hex}"
        self._title = work.sweep.plan.title
        self._answers = numbers.mapInArrow(block_worker(work, blocks), "busy_ms double")
        self._thread = InheritableThread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._session.sparkContext.setJobGroup(self._group, self._title, interruptOnCancel=True)
            answers = self._answers.collect()  # one number per block
            self.busy_ms = sum(answer["busy_ms"] for answer in answers)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self.error = error

    def cancel(self) -> None:
        self._session.sparkContext.cancelJobGroup(self._group)
        self._thread.join(timeout=CANCEL_SECONDS)


def _not_shared(work: Work) -> str:
    return f"{work.out}: not the same folder for Spark's workers; all machines must share it"


def _readable(error: Exception, work: Work) -> Exception:
    """What the person at the keyboard can do something about, as BadInput; the rest unchanged."""
    text = str(error)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return BadInput(disk_full(work.out))
    if "Python worker exited unexpectedly" in text:
        return BadInput(worker_died(work.out))
    if "FileNotFoundError" in text and STAGING in text:
        return BadInput(_not_shared(work))
    if "Permission denied" in text or "Read-only file system" in text:
        return BadInput(
            f"{work.out}: cannot be written; finished waves are kept, --resume continues"
        )
    return error
