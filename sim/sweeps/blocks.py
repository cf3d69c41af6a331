"""Blocks: what a worker simulates, and how it answers.

A worker writes nothing. It answers with the rows of its block, as bytes of Parquet, and the leading
process alone writes them (see `sim.sweeps.waves`): workers need no file system in common with it,
and one that is killed, or does a block twice, leaves nothing behind.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from sim.plugins import NO_PLUGINS, Plugins, load_in_worker
from sim.sweeps.digests import digests_text
from sim.sweeps.layout import blocks_of
from sim.sweeps.plan import Sweep
from sim.sweeps.row import (
    VIOLATIONS_SCHEMA,
    batch_of,
    runs_schema,
    split_tables,
    worker_schema,
)
from sim.sweeps.work import OpenCase, batches_of_cases

ROW_GROUP_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive cases [first, end) of a sweep: what one task simulates."""

    first: int
    end: int

    @property
    def cases(self) -> range:
        """The numbers of its cases."""
        return range(self.first, self.end)


@dataclass(frozen=True, slots=True)
class BlockAnswer:
    """What came out of a block.

    Attributes:
        block: Which one.
        busy_ms: Real time spent in its runs.
        runs: Its rows of the table of runs, a whole Parquet file.
        violations: Those of the table of violations.
        digests: A line per run (see `sim.sweeps.digests`).
        run_rows: How many rows `runs` has.
        violation_rows: How many rows `violations` has.
    """

    block: Block
    busy_ms: float
    runs: bytes
    violations: bytes
    digests: bytes
    run_rows: int
    violation_rows: int

    @property
    def size(self) -> int:
        """Bytes, all in all."""
        return len(self.runs) + len(self.violations) + len(self.digests)


@dataclass(frozen=True, slots=True)
class Work:
    """What an engine is given."""

    sweep: Sweep
    open_case: OpenCase
    runs_per_second: float
    """Of one process."""
    partitions: int | None = None
    """How many blocks; None = as `sim.sweeps.layout` thinks best."""
    plugins: Plugins = NO_PLUGINS
    """What workers import first, so that they know the same rules."""

    def blocks(self, missing: Sequence[range], *, cores: int) -> Iterator[Block]:
        """The blocks of some ranges of cases, in order, made as they are asked for."""
        ranges = blocks_of(
            missing,
            self.sweep,
            runs_per_second=self.runs_per_second,
            cores=cores,
            blocks=self.partitions,
        )
        return (Block(cases.start, cases.stop) for cases in ranges)


def get_ready(work: Work) -> None:
    """Loads what a worker's first block would: plugins, and what Arrow imports with its first row.

    That is pandas, where it is installed: half a second.
    """
    load_in_worker(work.plugins)
    batch_of([], worker_schema(work.sweep))


def simulate_block(work: Work, block: Block) -> BlockAnswer:
    """Runs a block. This is all a worker does."""
    load_in_worker(work.plugins)
    runs, violations = _Table(runs_schema(work.sweep)), _Table(VIOLATIONS_SCHEMA)
    digests: list[str | None] = []
    busy_ms = 0.0
    for batch in batches_of_cases(work.sweep, block.cases, open_case=work.open_case):
        busy_ms += sum(batch.column("wall_ms").to_pylist())
        digests += batch.column("digest").to_pylist()
        for table, rows in zip((runs, violations), split_tables(batch), strict=True):
            table.add(rows)
    return BlockAnswer(
        block=block,
        busy_ms=busy_ms,
        runs=runs.close(),
        violations=violations.close(),
        digests=digests_text(digests).encode("ascii"),
        run_rows=runs.rows,
        violation_rows=violations.rows,
    )


class _Table:
    """The rows of a block in one table, as they come, written to memory."""

    def __init__(self, schema: pa.Schema) -> None:
        self.rows = 0
        self._file = io.BytesIO()
        self._writer = pq.ParquetWriter(self._file, schema)
        self._waiting: list[pa.Table] = [schema.empty_table()]

    def add(self, rows: pa.Table) -> None:
        self.rows += rows.num_rows
        self._waiting.append(rows)
        if sum(part.num_rows for part in self._waiting) >= ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        rows = pa.concat_tables(self._waiting)
        self._writer.write_table(rows)
        self._waiting = [rows.slice(0, 0)]

    def close(self) -> bytes:
        """The whole file."""
        self._flush()
        self._writer.close()
        return self._file.getvalue()
