"""Simulating on Spark: jobs of a task per block, through `mapInArrow`.

A task gets the plan and its block, and answers with one row: the block's tables as bytes. The
leading process collects those of a job and writes them. Summing up is Spark's again (see
`spark_tally`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from queue import SimpleQueue

import pyarrow as pa
from pyspark import InheritableThread
from pyspark.sql import DataFrame, Row, SparkSession

from sim.errors import BadInput
from sim.sweeps.blocks import Block, BlockAnswer, Work, get_ready, simulate_block
from sim.sweeps.engines.spark_tally import count_in_spark
from sim.sweeps.output import worker_died
from sim.sweeps.parts import Parts
from sim.sweeps.tally import Counts

CANCEL_SECONDS = 10.0

JOBS_IN_FLIGHT = 3
"""Of a block per core each: when one ends, the next ones have work for every core."""

_ANSWER = pa.schema(
    [
        *(pa.field(name, pa.int64()) for name in ("first", "end")),
        pa.field("busy_ms", pa.float64()),
        *(pa.field(name, pa.binary()) for name in ("runs", "violations", "digests")),
        *(pa.field(name, pa.int64()) for name in ("run_rows", "violation_rows")),
    ]
)
_ANSWER_SQL = (
    "first long, end long, busy_ms double, runs binary, violations binary, digests binary, "
    "run_rows long, violation_rows long"
)
_Batches = Iterator[pa.RecordBatch]


def block_worker(work: Work, blocks: Sequence[Block]) -> Callable[[_Batches], _Batches]:
    """The function that runs on the workers: block numbers in, a row with each answer out."""

    def simulate(batches: _Batches) -> _Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                answer = simulate_block(work, blocks[number])
                row = {name: getattr(answer, name) for name in _ANSWER.names[2:]}
                row |= {"first": answer.block.first, "end": answer.block.end}
                yield pa.RecordBatch.from_pylist([row], schema=_ANSWER)

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
    """Simulates blocks on the executors of a session."""

    session: SparkSession
    work: Work

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at a time."""
        return int(self.session.sparkContext.defaultParallelism)

    def warm_up(self) -> None:
        """Starts a Python worker per core and has it import the simulator."""
        numbers(self.session, self.cores).mapInArrow(idle_worker(self.work), "id long").collect()

    def count(self, parts: Parts) -> Counts:
        """Sums up the finished tables."""
        return count_in_spark(self.session, parts, self.work.sweep)

    def answers(self, blocks: Sequence[Block]) -> Generator[BlockAnswer]:
        """See `Engine`: some jobs at a time, of a block per core each."""
        jobs = _Jobs(self.session, self.work)
        waiting = list(batched(blocks, self.cores))[::-1]
        try:
            while waiting or jobs.running:
                while waiting and jobs.running < JOBS_IN_FLIGHT:
                    jobs.start(waiting.pop())
                yield from jobs.next_answers()
        finally:
            if jobs.running:
                jobs.cancel()


def batched(blocks: Sequence[Block], size: int) -> Iterator[Sequence[Block]]:
    """The blocks, so many at a time."""
    for first in range(0, len(blocks), size):
        yield blocks[first : first + size]


def numbers(session: SparkSession, end: int) -> DataFrame:
    """0 to `end`, exclusive, a partition each."""
    return session.range(0, end, 1, max(1, end))


class _Jobs:
    """Jobs of one group, each in a thread of its own, so that another can wait and cancel them."""

    def __init__(self, session: SparkSession, work: Work) -> None:
        self.running = 0
        self._session = session
        self._work = work
        self._group = f"replog-{uuid.uuid4().hex}"
        self._ended: SimpleQueue[list[Row] | Exception] = SimpleQueue()
        self._threads: list[InheritableThread] = []

    def start(self, blocks: Sequence[Block]) -> None:
        """Begins a job of a task per block."""
        thread = InheritableThread(target=self._run, args=(blocks,), daemon=True)
        self._threads = [one for one in self._threads if one.is_alive()]
        self._threads.append(thread)
        self.running += 1
        thread.start()

    def _run(self, blocks: Sequence[Block]) -> None:
        try:
            context = self._session.sparkContext
            context.setJobGroup(self._group, self._work.sweep.plan.title, interruptOnCancel=True)
            tasks = numbers(self._session, len(blocks))
            found = tasks.mapInArrow(block_worker(self._work, blocks), _ANSWER_SQL).collect()
            self._ended.put(found)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            self._ended.put(error)

    def next_answers(self) -> Iterator[BlockAnswer]:
        """Those of the next job that ends."""
        ended = self._ended.get()
        self.running -= 1
        if isinstance(ended, Exception):
            raise _readable(ended)
        for row in ended:
            first, end, busy_ms, *tables, run_rows, violation_rows = row
            runs, violations, digests = map(bytes, tables)
            yield BlockAnswer(
                Block(first, end), busy_ms, runs, violations, digests, run_rows, violation_rows
            )

    def cancel(self) -> None:
        """Ends what is under way."""
        self._session.sparkContext.cancelJobGroup(self._group)
        for thread in self._threads:
            thread.join(timeout=CANCEL_SECONDS)


def _readable(error: Exception) -> Exception:
    """What the person at the keyboard can do something about, as BadInput; the rest unchanged."""
    if "Python worker exited unexpectedly" in str(error):
        return BadInput(worker_died())
    return error
