"""Simulating on Spark: some small jobs at a time, of a task per block.

A task gets the plan and its block, and answers with the block's tables as bytes, which the leading
process writes. Tasks are functions of RDDs: a worker needs nothing for these that it is not sent,
where one of a DataFrame needs Arrow before it can be told where Arrow is (see `on_worker`). Summing
up is Spark's again, in queries (see `spark_tally`).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from sim.errors import BadInput
from sim.sweeps.blocks import Block, BlockAnswer, Work
from sim.sweeps.counting import count_files
from sim.sweeps.engines.executors import Watch, registered_executors
from sim.sweeps.engines.master import is_local
from sim.sweeps.engines.on_worker import Answer, by_value
from sim.sweeps.engines.same_code import facts
from sim.sweeps.engines.shipping import pack
from sim.sweeps.engines.spark_errors import SPARK_ERRORS, in_one_line
from sim.sweeps.engines.spark_tally import count_in_spark
from sim.sweeps.engines.tasks import ProbeTask, SimulateTask
from sim.sweeps.parts import Parts
from sim.sweeps.storage import LocalStorage
from sim.sweeps.tally import Counts
from sim.workers import interruptibly

BLOCKS_PER_CORE = 3
"""Under way or waiting, so that a core that is done has work at once."""
JOBS_MAX = 48
"""Under way at a time, each in a thread here; with many cores a job has several blocks."""
POLL_SECONDS = 0.5
PROBES_MAX = 5

T = TypeVar("T")
_Task = Callable[[Any], Answer]


class SparkEngine:
    """Simulates blocks on the executors of a session."""

    def __init__(self, session: SparkSession, work: Work) -> None:
        self.work = work
        self._session = session
        self._context = session.sparkContext
        self._here = facts(work.plugins)
        self._archives: tuple[str, ...] = ()
        self._kept = ExitStack()

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at a time."""
        return int(self._context.defaultParallelism)

    def warm_up(self) -> None:
        """Sends what executors need, has a worker per core import it, and compares what they have.

        Raises BadInput, naming the machine, when one lacks something or has another version.
        """
        if not is_local(self._context.master) and not self._archives:
            folder = self._kept.enter_context(TemporaryDirectory(prefix="replog-code-"))
            archives = pack(self.work.plugins, folder=Path(folder))
            for path in archives:
                self._context.addArchive(str(path))
            self._archives = tuple(path.name for path in archives)
        probe = by_value(self._archives, ProbeTask(self.work, self._here))
        met: set[str] = set()
        for _ in range(PROBES_MAX):
            answers = self._watched(lambda: self._on_every_core(probe))
            met |= {_accepted(answer) for answer in answers}
            if len(met) >= registered_executors(self._context):
                return

    def close(self) -> None:
        """Removes what was packed here; executors that come later get nothing any more."""
        self._kept.close()

    def count(self, parts: Parts) -> Counts:
        """Sums up the finished tables; those in a folder here, which executors cannot see, here."""
        if isinstance(parts.storage, LocalStorage) and not is_local(self._context.master):
            return count_files(parts, self.work.sweep)
        return self._watched(lambda: count_in_spark(self._session, parts, self.work.sweep))

    def _on_every_core(self, task: _Task) -> list[Answer]:
        """What a task answers on each, mostly: one may be quicker than another begins."""
        cores = self.cores
        return self._context.parallelize(range(cores), cores).map(task).collect()

    def _watched(self, call: Callable[[], T]) -> T:
        """What a call returns that waits for executors, while there may be some.

        Raises SparkFailed once the cluster has none any more, and for what Spark raises.
        """
        watch = Watch(self._context)
        try:
            return interruptibly(call, meanwhile=watch.look)
        except SPARK_ERRORS as error:
            raise in_one_line(error) from None

    def answers(self, blocks: Iterable[Block]) -> Generator[BlockAnswer]:
        """See `Engine`."""
        group = f"replog-{uuid.uuid4().hex}"
        watch = Watch(self._context)
        waiting = iter(blocks)
        task = by_value(self._archives, SimulateTask(self.work, self._here))
        under_way: dict[Future[list[BlockAnswer]], int] = {}
        pool = ThreadPoolExecutor(JOBS_MAX)
        try:
            while True:
                for some in self._next(waiting, sum(under_way.values())):
                    under_way[pool.submit(self._job, group, task, some)] = len(some)
                if not under_way:
                    return
                done, _ = wait(under_way, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
                for job in done:
                    del under_way[job]
                    yield from job.result()
                watch.look()
        except SPARK_ERRORS as error:
            raise in_one_line(error) from None
        finally:
            if under_way:
                self._cancel(group)
            pool.shutdown(wait=False, cancel_futures=True)

    def _next(self, waiting: Iterator[Block], under_way: int) -> Iterator[list[Block]]:
        """The blocks of the next jobs, as many as there is room for."""
        room = BLOCKS_PER_CORE * self.cores
        size = -(-room // JOBS_MAX)
        while under_way + size <= room and (some := list(islice(waiting, size))):
            under_way += len(some)
            yield some

    def _job(self, group: str, task: _Task, blocks: Sequence[Block]) -> list[BlockAnswer]:
        """Runs a job of a task per block; in a thread that does nothing else."""
        self._context.setJobGroup(group, self.work.sweep.plan.title, interruptOnCancel=True)
        spans = [(block.first, block.end) for block in blocks]
        answers = self._context.parallelize(spans, len(spans)).map(task).collect()
        return [_accepted(answer) for answer in answers]

    def _cancel(self, group: str) -> None:
        with suppress(Py4JError, OSError):  # of a Java that has died
            self._context.cancelJobGroup(group)


def _accepted(answer: Answer) -> Any:
    """What a task returned. Raises BadInput when it had other code, and so did nothing."""
    machine, why_not, result = answer
    if why_not is not None:
        raise BadInput(f"{machine}: {why_not}; a sweep is made by one version")
    return result
