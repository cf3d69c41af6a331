"""How often something was violated: in how many judged runs, and how many chances it had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.check.families import (
    DELETED_KEY_RETURNS,
    FAMILIES,
    LATE_WRITE,
    LOG_DIVERGENCE,
    READERS,
    TRANSACTIONS,
)
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.statistics import ANY
from sim.study.sweep.stats import Interval

CHANCES: dict[str, tuple[tuple[str, int, str], ...]] = {
    LOG_DIVERGENCE: (
        ("leader_changes", 1_000, "1,000 leader changes"),
        ("log_ends_cleaned", 1_000, "1,000 cleaned log ends"),
    ),
    DELETED_KEY_RETURNS: (("tombstones_removed", 1_000, "1,000 tombstones removed"),),
    LATE_WRITE: (("tombstones_removed", 1_000, "1,000 tombstones removed"),),
    TRANSACTIONS: (("markers_removed", 1_000, "1,000 markers removed"),),
    READERS: (("reads", 100_000, "100,000 records read"),),
}
"""Per family the counters that say how often it could have happened: runs are counted against so
many of them."""


@dataclass(frozen=True, slots=True)
class Share:
    """In how many of the judged runs of a rule set something was violated."""

    runs: int
    judged: int
    """Runs that held or violated; the others say nothing either way."""
    interval: Interval | None
    """Exact, two-sided, 95 %; None when no run was judged."""
    per_chance: tuple[str, ...] = ()
    """As in "4.1 per 1,000 leader changes"."""

    @property
    def text(self) -> str:
        """Runs and interval, as in 120 (10.1 to 14.2 %)."""
        if self.interval is None:
            return "-"
        return f"{wording.count(self.runs)} ({wording.shares(self.interval)})"

    @property
    def share_text(self) -> str:
        """Share and interval, as in 12.0 % (10.1 to 14.2 %); never a bare zero."""
        if self.interval is None:
            return "-"
        seen = wording.share(self.runs / self.judged) if self.runs else "none"
        return f"{seen} ({wording.shares(self.interval)})"

    @property
    def counted_text(self) -> str:
        """Runs and share, as in 120 of 998 (12.0 %)."""
        if not self.judged:
            return "not judged"
        counted = f"{wording.count(self.runs)} of {wording.count(self.judged)}"
        return f"{counted} ({wording.share(self.runs / self.judged)})" if self.runs else counted

    @property
    def rate_text(self) -> str:
        """All of it, as in 120 of 998 runs (12.0 %; 10.1 to 14.2 %); never a bare zero."""
        if self.interval is None:
            return "no run was judged"
        runs, limits = f"{wording.count(self.judged)} runs", wording.shares(self.interval)
        if not self.runs:
            return f"none of {runs} ({limits})"
        share = wording.share(self.runs / self.judged)
        return f"{wording.count(self.runs)} of {runs} ({share}; {limits})"


def share_of(entry: dict[str, Any], measure: str, name: str) -> Share:
    """How often a name of a measure was violated under a rule set."""
    seen = entry["counts"][measure].get(name, {"runs": 0})["runs"]
    verdicts = entry["counts"]["verdict"]
    judged = verdicts["holds"]["runs"] + verdicts["violated"]["runs"]
    chances = CHANCES.get(name, ()) if measure == "family" else ()
    return Share(
        seen,
        judged,
        stats.clopper_pearson(seen, judged) if judged else None,
        tuple(
            f"{wording.number(seen * size / entry['totals'][counter])} per {words}"
            for counter, size, words in chances
            if seen and entry["totals"][counter]
        ),
    )


def rate_of(entry: dict[str, Any]) -> Share:
    """How often a rule set violated any invariant."""
    return share_of(entry, "verdict", "violated")


def measure_of(name: str) -> str:
    """Where the statistics have a name that a plan is about."""
    return "family" if name in FAMILIES else "invariant"


def named_share(entry: dict[str, Any], name: str) -> Share:
    """How often a family or an invariant, such as a plan is about, was violated."""
    return share_of(entry, measure_of(name), name)


def counted_share(folder: SweepFolder, entry: dict[str, Any]) -> Share:
    """How often what the plan is about was violated, or else any invariant."""
    return share_of(entry, "about", ANY) if folder.about else rate_of(entry)
