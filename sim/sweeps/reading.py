"""Reading the parts of tables: each is the one that was written, with the rows it should have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sim.sweeps.layout import RUNS
from sim.sweeps.manifest import Part, Table
from sim.sweeps.parts import Parts, damaged

BATCH_ROWS = 4_096


def read_part(parts: Parts, part: Part, columns: Sequence[str] | None = None) -> pa.Table:
    """A part as a table. Raises BadInput when it is not what was written."""
    try:
        return _file(parts, part).read(columns=None if columns is None else list(columns))
    except (pa.ArrowException, OSError) as error:
        raise damaged(parts.storage, part.path, f"cannot be read as Parquet ({error})") from None


def rows_of(parts: Parts, table: Table, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of a table, in order of `run_id`, some columns of each.

    Raises BadInput when a part is not what was written, or its runs are not those it should have.
    """
    for part in parts.of(table):
        rows = 0
        for row in _rows(parts, part, columns):
            if not part.first_run <= row["run_id"] <= part.last_run:
                raise damaged(parts.storage, part.path, f"has a row of run {row['run_id']}")
            rows += 1
            yield row
        if rows != part.rows:
            raise damaged(parts.storage, part.path, f"has {rows} rows instead of {part.rows}")


def _rows(parts: Parts, part: Part, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    try:
        for batch in _file(parts, part).iter_batches(BATCH_ROWS, columns=list(columns)):
            yield from batch.to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise damaged(parts.storage, part.path, f"cannot be read as Parquet ({error})") from None


def _file(parts: Parts, part: Part) -> pq.ParquetFile:
    return pq.ParquetFile(pa.BufferReader(parts.read(part)))


def every_run(parts: Parts, rows: Iterator[dict[str, Any]], runs: int) -> Iterator[dict[str, Any]]:
    """The rows of the table of runs, when there is one of every run, in order.

    Raises BadInput otherwise: no count may be of other runs than the sweep's.
    """
    expected = 0
    for row in rows:
        if row["run_id"] != expected:
            raise damaged(parts.storage, RUNS, f"run {row['run_id']} comes where {expected} should")
        expected += 1
        yield row
    if expected != runs:
        raise damaged(parts.storage, RUNS, f"{expected} runs instead of {runs}")
