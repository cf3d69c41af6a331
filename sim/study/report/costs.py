"""Costs of each rule set per run, alone and against its baseline on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.check.counters import COSTS
from sim.study.report.pairs import baselines_of, pair_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording
from sim.study.sweep.stats import Interval

ALWAYS_SHOWN = ("bytes_retained", "bytes_replicated", "empty_batches", "stale_reads_last")
"""The other costs belong to some fixes or cures; they are left out where no run paid them."""
LISTED_MAX = 3
"""Costs of a rule set that make its price."""


@dataclass(frozen=True, slots=True)
class CostOfRuleSet:
    """A cost per run under one rule set, and against its baseline on the same cases."""

    label: str
    baseline: str
    """Label of the rule set it is compared with (`baselines_of`)."""
    runs: int
    """Those that ended."""
    mean: float | None
    ratio: float | None = None
    """Of the means; None for a baseline itself, or when the baseline's mean is 0."""
    difference: float | None = None
    """Mean of (this - baseline) over the cases both ended; None for a baseline itself."""
    interval: Interval | None = None
    """Of the difference (`stats.mean_difference`); None where fewer than two cases differ."""
    differing: int | None = None
    """Cases in which it costs more or less than the baseline; None for a baseline itself."""

    @property
    def mean_text(self) -> str:
        """The mean, as in 1,200."""
        return "-" if self.mean is None else wording.number(self.mean)

    @property
    def paired_text(self) -> str:
        """Ratio and difference, as in ×1.200, +200 (+180 to +220); empty for a baseline itself."""
        if self.difference is None:
            return ""
        if not self.differing:
            return "the same in every case"
        limits = f"other in {wording.counted(self.differing, 'case')}"
        if self.interval is not None:
            limits = wording.signed_numbers(self.interval)
        ratio = "" if self.ratio is None else f"\u00d7{self.ratio:.3f}, "
        return f"{ratio}{wording.signed(self.difference)} ({limits})"


@dataclass(frozen=True, slots=True)
class Cost:
    """A counter that is a cost, under each rule set."""

    counter: str
    title: str
    rule_sets: tuple[CostOfRuleSet, ...]


def costs_of(folder: SweepFolder) -> tuple[Cost, ...]:
    """Every cost of every rule set that some run paid, and those that are always shown."""
    entries = folder.statistics["rule_sets"]
    return tuple(
        Cost(counter, title, tuple(_costs_of(folder, counter)))
        for counter, title in COSTS.items()
        if counter in ALWAYS_SHOWN or any(entry["totals"][counter] for entry in entries)
    )


def _costs_of(folder: SweepFolder, counter: str) -> list[CostOfRuleSet]:
    entries = folder.statistics["rule_sets"]
    means = [one["totals"][counter] / one["ended"] if one["ended"] else None for one in entries]
    found = []
    for place, baseline in enumerate(baselines_of(folder.plan["rule_sets"])):
        label, runs = entries[place]["label"], entries[place]["ended"]
        named = label, entries[baseline]["label"], runs, means[place]
        pair = None if place == baseline else pair_of(folder, baseline, place)
        if pair is None or not pair["ended"]:
            found.append(CostOfRuleSet(*named))
            continue
        mean, base = means[place], means[baseline]
        sums = pair["differences"][counter], pair["squares"][counter], pair["differing"][counter]
        found.append(
            CostOfRuleSet(
                *named,
                ratio=mean / base if mean is not None and base else None,
                difference=sums[0] / pair["ended"],
                interval=stats.mean_difference(*sums, pair["ended"]),
                differing=sums[2],
            )
        )
    return found


def price_of(costs: Sequence[Cost], place: int) -> str:
    """Costs of a rule set that differ from its baseline's beyond chance; empty for a baseline."""
    if any(cost.rule_sets[place].label == cost.rule_sets[place].baseline for cost in costs):
        return ""
    paid = [
        f"{cost.title} {own.paired_text}"
        for cost in costs
        for own in cost.rule_sets[place : place + 1]
        if own.interval is not None and (own.interval.low > 0 or own.interval.high < 0)
    ]
    if not paid:
        return "nothing that can be told from chance"
    more = len(paid) - LISTED_MAX
    return ", ".join([*paid[:LISTED_MAX], *([f"{more} more"] if more > 0 else [])])
