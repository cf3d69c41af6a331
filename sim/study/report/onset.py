"""When runs go wrong: since when the first thing that they violate was so.

What is judged when the cluster is at rest was wrong before anybody looked; what counts is since
when (`sim.diagnose.explain.since`). Every judged run is watched to its end: nothing is censored
before, and the estimate of Kaplan and Meier is the plain share of runs, with the interval of a
share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.statistics import JUDGED
from sim.study.sweep.stats import Interval
from sim.study.sweep.table import State

PARTS = 4
"""Of the simulated time with faults, after each of which is counted."""
_Times = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ShareByTime:
    """How many runs had violated something by some time."""

    at_ms: int
    runs: int
    interval: Interval
    """Of their share, two-sided, 95 %, exact."""

    @property
    def text(self) -> str:
        """21 (0.13 to 0.32 %)."""
        return f"{wording.count(self.runs)} ({wording.shares(self.interval)})"


@dataclass(frozen=True, slots=True)
class Onset:
    """Since when the runs of one rule set violated something."""

    label: str
    judged: int
    by_time: tuple[ShareByTime, ...]
    later: int
    """Runs that did so after the last of these times, while the cluster came to rest."""
    times_ms: tuple[int, ...]
    """Of each run that did, in order."""


def onsets_of(folder: SweepFolder) -> tuple[Onset, ...]:
    """One per rule set with a judged run; none where no tables say since when."""
    duration = folder.plan["plan"].get("generate", {}).get("duration_ms")
    if duration is None or folder.table is None:
        return ()
    times = _first_violations(folder.table)
    return tuple(
        _onset(entry["label"], column[~np.isnan(column)], duration)
        for entry, column in zip(folder.tallies["rule_sets"], times[folder.cases].T, strict=True)
        if not np.isnan(column).all()
    )


def _first_violations(table: State) -> _Times:
    """Since when each violated run violated something: cases by rule sets, in ms.

    Infinite for a run that holds; nan for one without a verdict. The table has the first violation
    of each invariant in each run.
    """
    verdicts = table.read(("verdict",)).column("verdict")
    judged = pc.is_in(verdicts, pa.array(JUDGED)).to_numpy()
    times = np.where(judged, np.inf, np.nan)
    found = table.violations(("run_id", "since_ms"))
    places, since_ms = (found.column(name).to_numpy() for name in found.schema.names)
    np.fmin.at(times, places, np.where(judged[places], since_ms, np.nan))
    return times.reshape(-1, table.shape.rule_sets)


def _onset(label: str, times: _Times, duration: int) -> Onset:
    seen = np.sort(times[np.isfinite(times)])
    parts = [duration * part // PARTS for part in range(1, PARTS + 1)]
    counts = [int(np.count_nonzero(seen <= at_ms)) for at_ms in parts]
    return Onset(
        label=label,
        judged=len(times),
        by_time=tuple(
            ShareByTime(at_ms, runs, stats.clopper_pearson(runs, len(times)))
            for at_ms, runs in zip(parts, counts, strict=True)
        ),
        later=len(seen) - counts[-1],
        times_ms=tuple(int(one) for one in seen),
    )
