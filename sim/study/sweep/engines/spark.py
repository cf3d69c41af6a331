"""A sweep as a pipeline of Spark's: a DataFrame of blocks, mapped to rows on the executors.

Executors write the rows with Spark's own committers, a file for each block, to any file system that
Spark writes to. A block's file is in place once its task is committed (version 2 of the committer's
algorithm), so that a driver that is killed leaves whole blocks. What is in the table, and what it
adds up to, executors find out as well: the driver sees summaries alone.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from sim.errors import BadInput
from sim.plugins import Plugins, load_in_worker
from sim.study.sweep.blocks import Work
from sim.study.sweep.code_digest import difference, made_by
from sim.study.sweep.columns import runs_schema
from sim.study.sweep.engines.process import LocalTable
from sim.study.sweep.engines.session import Watch
from sim.study.sweep.folder import RUNS, plan_content
from sim.study.sweep.statistics import COLUMNS, Facts, facts_of
from sim.study.sweep.storage import Folder, LocalFolder
from sim.study.sweep.table import NUMBERS, cases_in, shape_of
from sim.study.sweep.work import batches_of_cases
from sim.study.workers import interruptibly

COMMIT_BY_TASK = ("mapreduce.fileoutputcommitter.algorithm.version", "2")
POLL_SECONDS = 0.5

T = TypeVar("T")
_Batches = Iterable[pa.RecordBatch]


def _check_executor(plugins: Plugins, here: Mapping[str, str]) -> None:
    """What a task does first. Raises BadInput when its code is another than the driver's."""
    load_in_worker(plugins)
    differs = difference(made_by(plugins), here)
    if differs is not None:
        raise BadInput(f"an executor has other code: {differs}; a sweep is made by one version")


def _simulate(
    work: Work, blocks: Sequence[range], here: Mapping[str, str], batches: _Batches
) -> Iterator[pa.RecordBatch]:
    """Numbers of blocks -> their rows."""
    _check_executor(work.plugins, here)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from batches_of_cases(work.sweep, blocks[number], open_case=work.open_case)


def _summarise(
    function: Callable[[_Batches], Any],
    plugins: Plugins,
    here: Mapping[str, str],
    batches: _Batches,
) -> Iterator[pa.RecordBatch]:
    """Rows -> one row with what a function makes of them, pickled."""
    _check_executor(plugins, here)
    yield pa.RecordBatch.from_pydict({"summary": [pickle.dumps(function(batches))]})


class SparkEngine:
    """Simulates blocks on the executors of a session."""

    def __init__(self, session: SparkSession, work: Work, folder: Folder) -> None:
        self.work = work
        self._session = session
        self._context = session.sparkContext
        self._folder = folder
        self._here = made_by(work.plugins)

    @property
    def cores(self) -> int:
        """How many tasks Spark runs at a time."""
        return int(self._context.defaultParallelism)

    def warm_up(self) -> None:
        """Has a worker per core import what it needs, and compares what they have."""
        cores = self.cores
        self._summaries(self._session.range(0, cores, 1, cores), len_of)

    def there(self, tell: Callable[[str], None]) -> tuple[range, ...]:
        """See `LocalTable`: elsewhere a table that is damaged is refused."""
        if isinstance(self._folder, LocalFolder):
            return LocalTable(self.work, self._folder.root).there(tell)
        if RUNS not in self._folder.entries():
            return ()
        shape = shape_of(plan_content(self._folder))
        found = self._summaries(self._table(NUMBERS), partial(cases_in, shape))
        cases = sorted((one for some in found for one in some), key=lambda one: one.start)
        for before, after in pairwise(cases):
            if after.start < before.stop:
                raise BadInput(f"{self._folder.label}/{RUNS}: holds case {after.start} twice")
        return tuple(cases)

    def count(self) -> Facts:
        """See `LocalTable`."""
        found = Facts()
        for one in self._summaries(self._table(COLUMNS), partial(facts_of, self.work.sweep)):
            found.add(one)
        return found

    def simulate(self, blocks: Sequence[range]) -> Generator[int]:
        """See `ProcessEngine`: one job, of a task for each block."""
        group = f"replog-{uuid.uuid4().hex}"
        numbers = self._session.range(0, len(blocks), 1, len(blocks))
        task = partial(_simulate, self.work, tuple(blocks), self._here)
        rows = numbers.mapInArrow(task, self._schema)
        writer = rows.write.mode("append").option(*COMMIT_BY_TASK)

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

    @property
    def _schema(self) -> Any:
        return from_arrow_schema(runs_schema(self.work.sweep))

    def _table(self, columns: Sequence[str]) -> DataFrame:
        rows = self._session.read.schema(self._schema).parquet(self._folder.url(RUNS))
        return rows.select(*columns)

    def _summaries(self, rows: DataFrame, function: Callable[[_Batches], T]) -> list[T]:
        """What a function makes of the rows of each partition."""
        task = partial(_summarise, function, self.work.plugins, self._here)
        summaries = rows.mapInArrow(task, "summary binary")
        found = interruptibly(summaries.collect, meanwhile=Watch(self._context).look)
        # What an executor of this sweep has sent.
        return [pickle.loads(bytes(row["summary"])) for row in found]  # noqa: S301


def len_of(batches: _Batches) -> int:
    """How many rows there are."""
    return sum(batch.num_rows for batch in batches)
