"""The tables of a sweep as DataFrames, for a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from sim.errors import BadInput
from sim.sweeps.evidence import sentence_of
from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.manifest import Table
from sim.sweeps.output import clear_errors, read_sweep
from sim.sweeps.parquet import shape_of
from sim.sweeps.parts import parts_there
from sim.sweeps.reading import whole_table
from sim.sweeps.storage import LocalStorage
from sim.sweeps.whole import require_whole

if TYPE_CHECKING:
    import pandas as pd


def load_sweep(out: Path | str) -> pd.DataFrame:
    """The `runs` table of a finished or interrupted sweep as a DataFrame, ordered by `run_id`.

    Integer columns stay integers: int64, or pandas' nullable Int64 where values are missing.
    """
    return _load(Path(out), RUNS)


def load_violations(out: Path | str) -> pd.DataFrame:
    """The `violations` table, ordered by `run_id` and position in the run; with its sentences.

    `sentence` says what happened: it is made of `evidence`, beside which it stands.
    """
    frame = _load(Path(out), VIOLATIONS)
    sentences = [sentence_of(one) for one in frame["evidence"]]
    frame.insert(list(frame).index("evidence") + 1, "sentence", sentences)
    return frame


def _load(out: Path, name: Table) -> pd.DataFrame:
    sweep = read_sweep(out)
    require_whole(out, thorough=False)
    with clear_errors(out):
        parts = parts_there(LocalStorage(out))
        if not parts.of(name):
            raise BadInput(f"{out}: no wave of this sweep is finished yet; --resume continues it")
        return _frame(whole_table(parts, name, shape_of(sweep)))


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
