"""How often each family of invariants was violated, per run and per chance to be."""

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
from sim.check.registry import declared_family
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import stats, wording
from sim.sweeps.stats import Interval

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
    interval: Interval | None
    """Exact, two-sided, 95 %; None when no run was judged."""
    per_chance: tuple[str, ...] = ()
    """As in "4.1 per 1,000 leader changes"."""

    @property
    def text(self) -> str:
        """The runs, and their share with its interval."""
        if self.interval is None:
            return "-"
        return f"{wording.count(self.runs)} ({wording.shares(self.interval)})"


@dataclass(frozen=True, slots=True)
class Family:
    """One family under every rule set."""

    name: str
    meaning: str
    invariants: tuple[str, ...]
    """Those of it that some run violated; what has several causes is in every family of theirs."""
    shares: tuple[Share, ...]


def share_of(entry: dict[str, Any], measure: str, name: str) -> Share:
    """How often a name of a measure was violated under a rule set of `tallies.json`."""
    seen = entry["counts"][measure].get(name, {"runs": 0})["runs"]
    verdicts = entry["counts"]["verdict"]
    judged = verdicts["holds"]["runs"] + verdicts["violated"]["runs"]
    chances = CHANCES.get(name, ()) if measure == "family" else ()
    return Share(
        seen,
        judged,
        stats.clopper_pearson(min(seen, judged), judged) if judged else None,
        tuple(
            f"{wording.number(seen * size / entry['totals'][counter])} per {words}"
            for counter, size, words in chances
            if seen and entry["totals"][counter]
        ),
    )


def families_of(folder: SweepFolder) -> tuple[Family, ...]:
    """Every family, those that nothing violated included."""
    entries = folder.tallies["rule_sets"]
    violated = sorted({name for entry in entries for name in entry["counts"]["invariant"]})
    return tuple(
        Family(
            name,
            meaning,
            tuple(each for each in violated if declared_family(each) == name),
            tuple(share_of(entry, "family", name) for entry in entries),
        )
        for name, meaning in FAMILIES.items()
    )
