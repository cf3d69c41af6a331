"""When runs go wrong: what can be judged at any moment, apart from what is judged at rest.

A law that is judged when the cluster is at rest is violated at the end of a run and at no other
time, whenever the damage was done. So the time to the first violation is told of the other laws
alone. Every judged run is watched to its end: nothing is censored before, and the estimate of
Kaplan and Meier is the plain share of runs, with the interval of a share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sim.check.registry import INVARIANTS, Kind, discover
from sim.report import case_values
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import stats, wording
from sim.sweeps.stats import Interval

PARTS = 4
"""Of the simulated time with faults, after each of which is counted."""


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
    """When the runs of one rule set violated first what can be judged at any moment."""

    label: str
    judged: int
    by_time: tuple[ShareByTime, ...]
    later: int
    """Runs that did so after the last of these times, while the cluster came to rest."""
    at_rest_only: int
    """Runs that violated only what is judged at rest."""
    times_ms: tuple[int, ...]
    """Of each run that did, in order."""


def onsets_of(folder: SweepFolder) -> tuple[Onset, ...]:
    """One per rule set with a judged run; none without the tables of runs."""
    duration = folder.plan["plan"].get("generate", {}).get("duration_ms")
    if duration is None or not case_values.are_there(folder):
        return ()
    entries = folder.tallies["rule_sets"]
    names = {name for entry in entries for name in entry["counts"]["invariant"]}
    at_any_time = {name for name in names if is_judged_at_any_time(name)}
    times = case_values.first_violations(folder, at_any_time)
    times = times[folder.cases]
    return tuple(
        _onset(entry["label"], column[~np.isnan(column)], duration, violated=_violated(entry))
        for entry, column in zip(entries, times.T, strict=True)
        if not np.isnan(column).all()
    )


def is_judged_at_any_time(invariant: str) -> bool:
    """Whether a violation is seen when it happens, not when the cluster has come to rest."""
    discover()
    known = INVARIANTS.get(invariant)
    if known is None:  # of another version, or of a plugin
        return True
    return known.kind != Kind.AT_REST and not hasattr(known, "on_quiesced")


def _violated(entry: dict[str, dict[str, dict[str, dict[str, int]]]]) -> int:
    return entry["counts"]["verdict"]["violated"]["runs"]


def _onset(label: str, times: case_values.Times, duration: int, *, violated: int) -> Onset:
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
        at_rest_only=violated - len(seen),
        times_ms=tuple(int(one) for one in seen),
    )
