"""Running a sweep on a pool of processes: the same rows as on Spark, on a machine without Java.

Blocks come back in the order in which they were handed out, so a wave's files are written from the
front and memory does not grow with the sweep.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.sweep.counting import count_files
from sim.sweep.layout import Wave
from sim.sweep.output import RUNS, STAGING, VIOLATIONS, clear_errors, commit_wave, worker_died
from sim.sweep.plan import Sweep
from sim.sweep.progress import Reporter
from sim.sweep.row import VIOLATIONS_SCHEMA, runs_schema, split_tables
from sim.sweep.tally import Counts
from sim.sweep.work import OpenCase, Work, batches_of_cases

BLOCKS_IN_FLIGHT_PER_CORE = 3
ROW_GROUP_ROWS = 10_000

_Pending = deque[tuple[int, "Future[list[pa.RecordBatch]]"]]
"""Blocks handed out, oldest first: how many cases, and their rows to come."""


def usable_cores() -> int:
    """Processors this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def simulate_block(sweep: Sweep, cases: range, open_case: OpenCase) -> list[pa.RecordBatch]:
    """What a worker process does."""
    return list(batches_of_cases(sweep, cases, open_case=open_case))


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of the group; only the parent decides what to do about it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass(slots=True)
class ProcessEngine:
    """Runs waves on one process per core and moves each into place when it is whole."""

    work: Work

    @property
    def cores(self) -> int:
        """How many processes simulate."""
        return usable_cores()

    def warm_up(self) -> None:
        """Nothing: the pool starts with the first blocks."""

    def count(self) -> Counts:
        """Sums up the finished tables."""
        return count_files(self.work.out, self.work.sweep)

    def run(self, waves: tuple[Wave, ...], report: Reporter) -> None:
        """Runs `waves`. An exception or Ctrl-C drops what is under way; finished waves stay."""
        pool = ProcessPoolExecutor(
            max_workers=self.cores,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_ignore_interrupts,
        )
        try:
            with clear_errors(self.work.out):
                self._run(pool, waves, report)
        except BrokenProcessPool:
            raise BadInput(worker_died(self.work.out)) from None
        finally:
            pool.shutdown(cancel_futures=True)

    def _run(self, pool: ProcessPoolExecutor, waves: tuple[Wave, ...], report: Reporter) -> None:
        blocks = self._blocks(waves)
        pending: _Pending = deque()
        done = 0
        for wave in waves:
            with _WaveWriter(self.work.sweep, self.work.out, wave) as writer:
                left = len(wave.cases)
                while left:
                    self._fill(pool, blocks, pending)
                    cases, future = pending.popleft()
                    for batch in future.result():
                        writer.add(batch)
                    left -= cases
                    done += cases * len(self.work.sweep.rule_sets)
                    report(done)
            writer.commit()

    def _blocks(self, waves: tuple[Wave, ...]) -> Iterator[range]:
        for wave in waves:
            yield from self.work.blocks_of(wave, cores=self.cores)

    def _fill(self, pool: ProcessPoolExecutor, blocks: Iterator[range], pending: _Pending) -> None:
        room = BLOCKS_IN_FLIGHT_PER_CORE * self.cores - len(pending)
        for cases in islice(blocks, room):
            future = pool.submit(simulate_block, self.work.sweep, cases, self.work.open_case)
            pending.append((len(cases), future))


class _WaveWriter:
    """The two files of a wave, written in the staging folder batch by batch."""

    def __init__(self, sweep: Sweep, out: Path, wave: Wave) -> None:
        self._out = out
        self._wave = wave
        self._schemas = {RUNS: runs_schema(sweep), VIOLATIONS: VIOLATIONS_SCHEMA}
        self._paths = {
            table: out / STAGING / f"{table}-{wave.number}.parquet" for table in self._schemas
        }
        self._waiting: dict[str, list[pa.Table]] = {table: [] for table in self._schemas}
        self._files = ExitStack()
        self._writers: dict[str, pq.ParquetWriter] = {}

    def __enter__(self) -> _WaveWriter:
        for table, schema in self._schemas.items():
            writer = pq.ParquetWriter(self._paths[table], schema)
            self._writers[table] = self._files.enter_context(writer)
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        try:
            if kind is None:
                for table in self._schemas:
                    self._flush(table)
        finally:
            self._files.close()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes rows as a worker made them, in the order of their numbers."""
        for table, rows in zip(self._schemas, split_tables(batch), strict=True):
            self._waiting[table].append(rows)
            if sum(part.num_rows for part in self._waiting[table]) >= ROW_GROUP_ROWS:
                self._flush(table)

    def _flush(self, table: str) -> None:
        if self._waiting[table]:
            self._writers[table].write_table(pa.concat_tables(self._waiting[table]))
            self._waiting[table] = []

    def commit(self) -> None:
        """Moves the two closed files into place."""
        runs, violations = (self._paths[table] for table in (RUNS, VIOLATIONS))
        commit_wave(self._out, self._wave, runs=runs, violations=violations)
