"""A sweep as a pipeline of Spark's: a DataFrame of blocks, mapped to rows on the executors.

Executors write the rows with Spark's own committers, a file for each block, to any file system that
Spark writes to. A block's file is in place once its task is committed (version 2 of the committer's
algorithm), so that a driver that is killed leaves whole blocks. What is in the table, and what it
adds up to, executors find out as well: the driver sees summaries alone.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from sim.errors import BadInput
from sim.plugins import Plugins, load_in_worker
from sim.sweeps.blocks import Work
from sim.sweeps.columns import runs_schema
from sim.sweeps.engines.executors import Watch
from sim.sweeps.engines.process import LocalTable
from sim.sweeps.engines.same_code import difference, facts
from sim.sweeps.engines.spark_errors import SPARK_ERRORS, in_one_line
from sim.sweeps.folder import RUNS, plan_content
from sim.sweeps.statistics import COLUMNS, Facts, facts_of
from sim.sweeps.storage import Folder, LocalFolder
from sim.sweeps.table import NUMBERS, Shape, cases_in, shape_of
from sim.sweeps.work import batches_of_cases
from sim.workers import interruptibly

COMMIT_BY_TASK = ("mapreduce.fileoutputcommitter.algorithm.version", "2")
POLL_SECONDS = 0.5

T = TypeVar("T")
_Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class _OnExecutor:
    """What a task does first: load plugins, and compare its code with the driver's."""

    plugins: Plugins
    here: dict[str, str]

    def check(self) -> None:
        """Raises BadInput when the code is another than the driver's."""
        load_in_worker(self.plugins)
        differs = difference(facts(self.plugins), self.here)
        if differs is not None:
            raise BadInput(f"an executor has other code: {differs}; a sweep is made by one version")


@dataclass(frozen=True, slots=True)
class _Simulate:
    """Numbers of blocks -> their rows."""

    work: Work
    blocks: Sequence[range]
    at_first: _OnExecutor

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        self.at_first.check()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                cases = self.blocks[number]
                yield from batches_of_cases(self.work.sweep, cases, open_case=self.work.open_case)


@dataclass(frozen=True, slots=True)
class _Summarise:
    """Rows -> one row with what a function makes of them, pickled."""

    function: Callable[[_Batches], Any]
    at_first: _OnExecutor

    def __call__(self, batches: _Batches) -> Iterator[pa.RecordBatch]:
        self.at_first.check()
        summary = pickle.dumps(self.function(batches))
        yield pa.RecordBatch.from_pydict({"summary": [summary]})


@dataclass(frozen=True, slots=True)
class _CasesIn:
    shape: Shape

    def __call__(self, batches: _Batches) -> list[range]:
        return cases_in(self.shape, batches)


@dataclass(frozen=True, slots=True)
class _FactsOf:
    work: Work

    def __call__(self, batches: _Batches) -> Facts:
        return facts_of(self.work.sweep, batches)


class SparkEngine:
    """Simulates blocks on the executors of a session."""

    def __init__(self, session: SparkSession, work: Work, folder: Folder) -> None:
        self.work = work
        self._session = session
        self._context = session.sparkContext
        self._folder = folder
        self._at_first = _OnExecutor(work.plugins, facts(work.plugins))

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at a time."""
        return int(self._context.defaultParallelism)

    def warm_up(self) -> None:
        """Has a worker per core import what it needs, and compares what they have."""
        cores = self.cores
        numbers = self._session.range(0, cores, 1, cores)
        self._summaries(numbers, len_of)

    def close(self) -> None:
        """The session is whoever's who opened it."""

    def there(self, tell: Callable[[str], None]) -> tuple[range, ...]:
        """See `Engine`: elsewhere a table that is damaged is refused."""
        if isinstance(self._folder, LocalFolder):
            return LocalTable(self.work, self._folder.root).there(tell)
        if RUNS not in self._folder.entries():
            return ()
        shape = shape_of(plan_content(self._folder))
        found = self._summaries(self._table(NUMBERS), _CasesIn(shape))
        cases = sorted((one for some in found for one in some), key=lambda one: one.start)
        for before, after in pairwise(cases):
            if after.start < before.stop:
                raise BadInput(f"{self._folder.label}/{RUNS}: holds case {after.start} twice")
        return tuple(cases)

    def count(self) -> Facts:
        """See `Engine`."""
        found = Facts()
        for one in self._summaries(self._table(COLUMNS), _FactsOf(self.work)):
            found.add(one)
        return found

    def simulate(self, blocks: Sequence[range]) -> Generator[int]:
        """See `Engine`: one job, of a task for each block."""
        group = f"replog-{uuid.uuid4().hex}"
        schema = from_arrow_schema(runs_schema(self.work.sweep))
        numbers = self._session.range(0, len(blocks), 1, len(blocks))
        task = _Simulate(self.work, tuple(blocks), self._at_first)
        writer = numbers.mapInArrow(task, schema).write.mode("append").option(*COMMIT_BY_TASK)

        def write() -> None:
            self._context.setJobGroup(group, self.work.sweep.plan.title, interruptOnCancel=True)
            writer.parquet(self._folder.url(RUNS))

        runs = sum(map(len, blocks)) * len(self.work.sweep.rule_sets)
        watch, ended = Watch(self._context), False
        with ThreadPoolExecutor(1) as thread:
            job = thread.submit(write)
            try:
                while not job.done():
                    with suppress(TimeoutError):
                        job.exception(POLL_SECONDS)
                    watch.look()
                    yield runs * self._tasks_done(group) // len(blocks)
                job.result()
                ended = True
            except SPARK_ERRORS as error:
                raise in_one_line(error) from None
            finally:
                if not ended:
                    with suppress(Py4JError, PySparkException, OSError):  # of a Java that has died
                        self._context.cancelJobGroup(group)
        yield runs

    def _tasks_done(self, group: str) -> int:
        status = self._context.statusTracker()
        jobs = filter(None, map(status.getJobInfo, status.getJobIdsForGroup(group)))
        stages = (status.getStageInfo(stage) for job in jobs for stage in job.stageIds)
        return sum(one.numCompletedTasks for one in stages if one is not None)

    def _table(self, columns: Sequence[str]) -> DataFrame:
        schema = from_arrow_schema(runs_schema(self.work.sweep))
        rows = self._session.read.schema(schema).parquet(self._folder.url(RUNS))
        return rows.select(*columns)

    def _summaries(self, rows: DataFrame, function: Callable[[_Batches], T]) -> list[T]:
        """What a function makes of the rows of each partition."""
        summaries = rows.mapInArrow(_Summarise(function, self._at_first), "summary binary")
        try:
            found = interruptibly(summaries.collect, meanwhile=Watch(self._context).look)
        except SPARK_ERRORS as error:
            raise in_one_line(error) from None
        # What an executor of this sweep has sent.
        return [pickle.loads(bytes(row["summary"])) for row in found]  # noqa: S301


def len_of(batches: _Batches) -> int:
    """How many rows there are."""
    return sum(batch.num_rows for batch in batches)
