"""Reading the tables of a folder: the parts that were written, with the rows they should have.

How a file is read, and what is said of one that is none of ours, is in `sim.sweeps.parquet`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pyarrow as pa

from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.manifest import Table
from sim.sweeps.parquet import File, Shape, batches, columns_of, schema_of
from sim.sweeps.parts import Parts, damaged


def files_of(parts: Parts, table: Table) -> Iterator[File]:
    """The files of a table, in order of their runs. Raises BadInput when one is another now."""
    for part in parts.of(table):
        name, content = f"{parts.storage.label}/{part.path}", parts.read(part)
        if parts.unchecked:
            yield File(name, content)
        else:
            rows = part.rows if table in (RUNS, VIOLATIONS) else None
            yield File(name, content, range(part.first_run, part.last_run + 1), rows)


def batches_of(
    parts: Parts, table: Table, shape: Shape, columns: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Some columns of a table, in small batches, in order of `run_id`.

    Raises BadInput when a part is not what was written, or has rows that the sweep cannot have.
    """
    return batches(table, files_of(parts, table), shape, columns)


def table_of(parts: Parts, table: Table, shape: Shape, columns: Collection[str]) -> pa.Table:
    """Some columns of a table in memory. Raises as `batches_of`."""
    types = schema_of(table, shape)
    schema = pa.schema([types.field(name) for name in columns])
    return pa.Table.from_batches(list(batches_of(parts, table, shape, columns)), schema)


def whole_table(parts: Parts, table: Table, shape: Shape) -> pa.Table:
    """All columns of a table in memory: those of its first file. Raises as `batches_of`."""
    first = next(files_of(parts, table))
    return table_of(parts, table, shape, known_columns(first, table, shape))


def known_columns(file: File, table: Table, shape: Shape) -> list[str]:
    """The columns of a file that a table has, in their order, and `run_id` in any case."""
    known = set(schema_of(table, shape).names)
    found = [name for name in columns_of(file) if name in known]
    return found if "run_id" in found else ["run_id", *found]


def rows_of(
    parts: Parts, table: Table, shape: Shape, columns: Collection[str]
) -> Iterator[dict[str, Any]]:
    """The rows of a table, in order of `run_id`, some columns of each. Raises as `batches_of`."""
    for batch in batches_of(parts, table, shape, columns):
        yield from batch.to_pylist()


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
