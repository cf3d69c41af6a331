"""The tables of a sweep as DataFrames, with plain columns."""

from pathlib import Path

import pandas as pd

from sim.study.sweep.table import frame_of, open_rows


def load_sweep(out: Path) -> pd.DataFrame:
    """A row for each run, ordered by `run_id`."""
    return frame_of(open_rows(out).ask("SELECT * EXCLUDE (violations) FROM runs ORDER BY run_id"))


def load_violations(out: Path) -> pd.DataFrame:
    """A row for each violation, ordered by `run_id` and position in the run."""
    return frame_of(open_rows(out).ask("SELECT * FROM violations ORDER BY run_id, position"))
