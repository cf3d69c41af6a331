"""Reading what a sweep left: one run by its number, or a whole table for a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.sweep.layout import wave_of_case
from sim.sweep.output import RUNS, VIOLATIONS, clear_errors, files_of, read_sweep

if TYPE_CHECKING:
    import pandas as pd


def find_run(out: Path, run_id: int) -> dict[str, Any]:
    """The row of a run, as a dictionary. Needs pyarrow alone.

    Raises BadInput when there is no such run, or its wave has not been run yet.
    """
    sweep = read_sweep(out)
    case_id, _rule_set = sweep.place_of(run_id)
    path = out / RUNS / wave_of_case(sweep, case_id).folder_name
    if not path.exists():
        raise BadInput(f"{out}: run {run_id} is in a wave that was not finished; --resume makes it")
    with clear_errors(out):
        rows = pq.read_table(path, filters=[("run_id", "=", run_id)], partitioning=None).to_pylist()
    if len(rows) != 1:
        raise BadInput(f"{path}: run {run_id} occurs {len(rows)} times; the file is damaged")
    return dict(rows[0])


def load_sweep(out: Path | str) -> pd.DataFrame:
    """The `runs` table of a finished or interrupted sweep as a DataFrame, ordered by `run_id`.

    Integer columns stay integers: int64, or pandas' nullable Int64 where values are missing.
    """
    return _load(Path(out), RUNS)


def load_violations(out: Path | str) -> pd.DataFrame:
    """The `violations` table, ordered by `run_id` and position in the run."""
    return _load(Path(out), VIOLATIONS)


def _load(out: Path, name: str) -> pd.DataFrame:
    sweep = read_sweep(out)
    files = files_of(out, name, sweep)
    if not files:
        raise BadInput(f"{out}: no wave of this sweep is finished yet; --resume continues it")
    table = pa.concat_tables([pq.read_table(file, partitioning=None) for file in files])
    return _frame(table)


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
