"""What the tables of a sweep say case by case: costs of each run, and when it went wrong first.

Means and counts come from `tallies.json`. Intervals of costs and times to the first violation need
the runs themselves; where somebody kept the tallies alone, a report does without both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sim.errors import BadInput
from sim.report.sweep_folder import SweepFolder
from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.reading import batches_of, table_of

Times = npt.NDArray[np.float64]


def are_there(folder: SweepFolder) -> bool:
    """Whether the tables are in the folder of the sweep."""
    return bool(folder.tables.of(RUNS))


def costs_by_case(folder: SweepFolder, counter: str) -> npt.NDArray[np.float64]:
    """A counter of every run of all cases: cases by rule sets, nan for a run that did not end."""
    runs = _runs(folder, counter)
    values = runs.column(counter).cast(pa.float64()).fill_null(float("nan")).to_numpy()
    return np.asarray(values).reshape(-1, folder.shape.rule_sets)


def first_violations(folder: SweepFolder) -> Times | None:
    """Since when each violated run violated something: cases by rule sets, in ms.

    Infinite for a run that holds; nan for one without a verdict. The table has the first violation
    of each invariant in each run. None = it does not say since when, as an older one.
    """
    verdicts = _runs(folder, "verdict").column("verdict")
    judged = pc.is_in(verdicts, pa.array(["holds", "violated"])).to_numpy()
    times = np.where(judged, np.inf, np.nan)
    for found in batches_of(folder.tables, VIOLATIONS, folder.shape, ("run_id", "since_ms")):
        if found.column("since_ms").null_count:
            return None
        places, since_ms = (found.column(name).to_numpy() for name in found.schema.names)
        np.fmin.at(times, places, np.where(judged[places], since_ms, np.nan))
    return times.reshape(-1, folder.shape.rule_sets)


def _runs(folder: SweepFolder, column: str) -> pa.Table:
    """A column of all runs, in order of their numbers, which are their places."""
    shape = folder.shape
    runs = table_of(folder.tables, RUNS, shape, ("run_id", column))
    if runs.num_rows != shape.runs:
        raise BadInput(
            f"{folder.path / RUNS}: {runs.num_rows} of {shape.runs} runs are there; "
            "the table is damaged"
        )
    return runs
