"""Costs of a rule set per run, by itself and against another one on the same cases."""

from __future__ import annotations

from typing import Any, NamedTuple

from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.stats import Interval


class Cost(NamedTuple):
    """A counter that is a cost, under one rule set.

    Attributes:
        mean: Mean over the runs that ended; None without any.
        ratio: Mean divided by that of the baseline; None for the baseline itself, or if that is 0.
        difference: Mean of (this - baseline) over the cases that both ended; None for the baseline.
        interval: Student's 95 % interval of the difference; None if fewer than two cases differ.
        differing: Number of cases with another number than under the baseline.
    """

    mean: float | None
    ratio: float | None = None
    difference: float | None = None
    interval: Interval | None = None
    differing: int = 0

    @property
    def differs(self) -> bool:
        """True where the interval of the difference leaves out 0."""
        return self.interval is not None and (self.interval.low > 0 or self.interval.high < 0)

    @property
    def text(self) -> str:
        """The mean and what there is more or less of it, as in 1,200 (×1.200, +180 to +220)."""
        mean = "-" if self.mean is None else wording.number(self.mean)
        if self.difference is None:
            return mean
        if not self.differing:
            return f"{mean} (same)"
        limits = f"other in {wording.counted(self.differing, 'case')}"
        if self.interval is not None:
            limits = wording.signed_numbers(self.interval)
        ratio = "" if self.ratio is None else f"\u00d7{self.ratio:.3f}, "
        return f"{mean} ({ratio}{limits})"


def cost_of(folder: SweepFolder, counter: str, place: int, baseline: int) -> Cost:
    """A cost of a rule set, against a baseline on the same cases.

    Args:
        folder: A sweep, or one environment of it.
        counter: Name of the counter.
        place: Place of the rule set.
        baseline: Place of the one it is compared with; its own for none.
    """
    entries = folder.statistics["rule_sets"]
    mean, base = (_mean(entries[one], counter) for one in (place, baseline))
    if place == baseline:
        return Cost(mean)
    pair = next(
        one
        for one in folder.statistics["pairs"]
        if {one["left"], one["right"]} == {place, baseline}
    )
    if not pair["ended"]:
        return Cost(mean)
    more = pair["differences"][counter] * (1 if pair["left"] == baseline else -1)
    squares, differing = pair["squares"][counter], pair["differing"][counter]
    return Cost(
        mean,
        ratio=mean / base if mean is not None and base else None,
        difference=more / pair["ended"],
        interval=stats.mean_difference(more, squares, differing, pair["ended"]),
        differing=differing,
    )


def _mean(entry: dict[str, Any], counter: str) -> float | None:
    return entry["totals"][counter] / entry["ended"] if entry["ended"] else None


def per_pass(folder: SweepFolder, counter: str, place: int, baseline: int) -> float | None:
    """How much larger a cost is than under a baseline, per cleaning pass; None without one.

    Args:
        folder: A sweep, or one environment of it.
        counter: Name of the counter.
        place: Place of the rule set.
        baseline: Place of the one it is compared with.
    """
    own, base = (folder.statistics["rule_sets"][one]["totals"] for one in (place, baseline))
    passes = own["cleanings"]
    return (own[counter] - base[counter]) / passes if passes else None
