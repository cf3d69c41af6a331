"""What the tables of a sweep say case by case: costs of each run, and when it went wrong first.

Means and counts come from `tallies.json`. Intervals of costs and times to the first violation need
the runs themselves; where somebody kept the tallies alone, a report does without both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sim.errors import BadInput

RUNS, VIOLATIONS = "runs", "violations"

Times = npt.NDArray[np.float64]


def are_there(out: Path) -> bool:
    """Whether the tables are in the folder of the sweep."""
    return next((out / RUNS).glob("*/*.parquet"), None) is not None


def costs_by_case(out: Path, counter: str, *, rule_sets: int) -> npt.NDArray[np.float64]:
    """A counter of every run: cases by rule sets, nan for a run that did not end."""
    runs = _read(out, RUNS, ["run_id", counter]).sort_by("run_id")
    values = runs.column(counter).cast(pa.float64()).fill_null(float("nan")).to_numpy()
    return _by_case(np.asarray(values), out, rule_sets)


def first_violations(
    out: Path, invariants: Collection[str], *, rule_sets: int
) -> npt.NDArray[np.float64]:
    """When each violated run violated one of `invariants` first: cases by rule sets, in ms.

    Infinite for a violated run that violated others alone, and for one that holds; nan for a run
    without a verdict. The table holds the first violation of each invariant in each run.
    """
    runs = _read(out, RUNS, ["run_id", "verdict"]).sort_by("run_id")
    judged = pc.is_in(runs.column("verdict"), pa.array(["holds", "violated"])).to_numpy()
    times = np.where(judged, np.inf, np.nan)
    found = _read(out, VIOLATIONS, ["run_id", "invariant", "at_ms"])
    names = pa.array(sorted(invariants), pa.string())
    wanted = found.filter(pc.is_in(found.column("invariant"), names))
    firsts = wanted.group_by("run_id").aggregate([("at_ms", "min")])
    places = np.searchsorted(runs.column("run_id").to_numpy(), firsts.column("run_id").to_numpy())
    firsts_ms = firsts.column("at_ms_min").to_numpy()
    times[places] = np.where(judged[places], firsts_ms, np.nan)
    return _by_case(times, out, rule_sets)


def _by_case(values: npt.NDArray[np.float64], out: Path, rule_sets: int) -> npt.NDArray[np.float64]:
    if len(values) % rule_sets:
        raise BadInput(f"{out / RUNS}: {len(values)} runs under {rule_sets} rule sets; some miss")
    return values.reshape(-1, rule_sets)


def _read(out: Path, table: str, columns: Iterable[str]) -> Any:
    """Columns of all files of a table, as an Arrow table."""
    try:
        files = sorted((out / table).glob("*/*.parquet"))
        return pa.concat_tables(
            [pq.read_table(file, columns=list(columns), partitioning=None) for file in files]
        )
    except (OSError, pa.ArrowInvalid) as error:
        raise BadInput(f"{out / table}: cannot be read: {error}") from None
