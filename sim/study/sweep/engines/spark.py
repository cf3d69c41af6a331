"""A sweep as a pipeline of Spark's: a DataFrame of blocks, mapped to rows on the executors.

Executors write the rows with Spark's own committer, a file for each block, into the folder of the
sweep, which all machines of a cluster have to see. Spark commits a job as a whole, so that blocks
go in waves, a job each: a driver that is killed costs the wave under way.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from sim.errors import BadInput
from sim.plugins import load_in_worker
from sim.study.sweep.blocks import Work
from sim.study.sweep.columns import runs_schema
from sim.study.sweep.engines.process import LocalTable
from sim.study.sweep.folder import RUNS
from sim.study.sweep.revision import Made, made_by
from sim.study.sweep.work import batches_of_cases
from sim.study.workers import interruptibly

BLOCKS_PER_CORE = 4
"""Of a wave."""


class SparkEngine(LocalTable):
    """Simulates blocks on the executors of a session."""

    def __init__(self, session: SparkSession, work: Work, out: Path) -> None:
        super().__init__(work, out)
        self._session = session
        self.cores = int(session.sparkContext.defaultParallelism)

    def warm_up(self) -> None:
        """Does nothing: Spark starts Python with the first task."""

    def simulate(self, blocks: Sequence[range]) -> Generator[int]:
        """See `ProcessEngine`; yields after each wave."""
        done, size = 0, BLOCKS_PER_CORE * self.cores
        for first in range(0, len(blocks), size):
            wave = blocks[first : first + size]
            interruptibly(partial(self._write, wave))
            done += sum(map(len, wave)) * len(self.work.sweep.rule_sets)
            yield done

    def _write(self, wave: Sequence[range]) -> None:
        """One job: a task and a file for each block."""
        schema = from_arrow_schema(runs_schema(self.work.sweep))
        numbers = self._session.range(0, len(wave), 1, len(wave))
        rows = numbers.mapInArrow(partial(_simulate, self.work, wave, made_by()), schema)
        rows.write.mode("append").parquet((self.out.absolute() / RUNS).as_uri())


def _simulate(
    work: Work, blocks: Sequence[range], driver: Made, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Numbers of blocks -> their rows. Raises BadInput when the driver has another Replog."""
    here = made_by()
    if not here.same_as(driver):
        raise BadInput(f"an executor has {here}, the driver {driver}; a sweep needs one version")
    load_in_worker(work.plugins)
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield from batches_of_cases(work.sweep, blocks[number], open_case=work.open_case)
