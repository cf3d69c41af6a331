"""The tables of a sweep as DataFrames, for a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sim.study.sweep.columns import VIOLATIONS, runs_schema
from sim.study.sweep.table import open_rows

if TYPE_CHECKING:
    import pandas as pd


def load_sweep(out: Path | str) -> pd.DataFrame:
    """The runs of a finished or interrupted sweep as a DataFrame, ordered by `run_id`.

    Integer columns stay integers: int64, or pandas' nullable Int64 where values are missing.
    """
    table = open_rows(Path(out))
    return _frame(
        table.read([name for name in runs_schema(table.sweep).names if name != VIOLATIONS])
    )


def load_violations(out: Path | str) -> pd.DataFrame:
    """A row for each violation, ordered by `run_id` and position in the run."""
    return _frame(open_rows(Path(out)).violations())


def _frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd  # here alone: replaying a run needs no data frame

    gaps = {
        column
        for column, values in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_integer(values.type) and values.null_count
    }
    frame = table.drop_columns(sorted(gaps)).to_pandas()
    for column in gaps:
        frame[column] = pd.array(table.column(column).to_pylist(), dtype="Int64")
    ordered: pd.DataFrame = frame[table.column_names]
    return ordered
