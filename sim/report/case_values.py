"""What the tables of a sweep say case by case: costs of each run, and when it went wrong first.

Means and counts come from `tallies.json`. Intervals of costs and times to the first violation need
the runs themselves; where somebody kept the tallies alone, a report does without both.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sim.sweeps.table import State

Times = npt.NDArray[np.float64]


def costs_by_case(table: State, counter: str) -> npt.NDArray[np.float64]:
    """A counter of every run of all cases: cases by rule sets, nan for a run that did not end."""
    values = table.read((counter,)).column(counter)
    found = values.cast(pa.float64()).fill_null(float("nan")).to_numpy()
    return np.asarray(found).reshape(-1, table.shape.rule_sets)


def first_violations(table: State) -> Times:
    """Since when each violated run violated something: cases by rule sets, in ms.

    Infinite for a run that holds; nan for one without a verdict. The table has the first violation
    of each invariant in each run.
    """
    verdicts = table.read(("verdict",)).column("verdict")
    judged = pc.is_in(verdicts, pa.array(["holds", "violated"])).to_numpy()
    times = np.where(judged, np.inf, np.nan)
    found = table.violations(("run_id", "since_ms"))
    places, since_ms = (found.column(name).to_numpy() for name in found.schema.names)
    np.fmin.at(times, places, np.where(judged[places], since_ms, np.nan))
    return times.reshape(-1, table.shape.rule_sets)
