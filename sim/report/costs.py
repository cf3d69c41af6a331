"""What each rule set costs per run, alone and against its baseline on the same cases."""

from __future__ import annotations

from dataclasses import dataclass

from sim.check.counters import COSTS
from sim.report import bootstrap, case_values
from sim.report.bootstrap import MeanCost, PairedCost
from sim.report.pairs import baselines_of, pair_of
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import wording
from sim.sweeps.stats import Interval
from sim.sweeps.table import State

ALWAYS_SHOWN = ("bytes_retained", "bytes_replicated", "empty_batches", "stale_reads_last")
"""The other costs belong to some fixes or cures; they are left out where nobody paid them."""


@dataclass(frozen=True, slots=True)
class CostOfRuleSet:
    """A cost per run under one rule set, and against its baseline on the same cases.

    All intervals are two-sided, 95 %, by `sim.report.bootstrap`, and None without the tables of
    runs or where too few cases tell.
    """

    label: str
    baseline: str
    """Label of the rule set it is compared with (`baselines_of`)."""
    runs: int
    mean: float | None
    interval: Interval | None
    paid_in: int | None
    """Runs in which it is not 0; None without the tables of runs."""
    ratio: float | None
    """Of the means; None for a baseline itself, or when the baseline's mean is 0."""
    ratio_interval: Interval | None
    difference: float | None
    """Mean of (this - baseline) over the cases both ended; None for a baseline itself."""
    difference_interval: Interval | None
    differing: int | None
    """Cases in which it costs more or less than the baseline; None for a baseline itself."""

    @property
    def mean_text(self) -> str:
        """The mean with its interval; where that is missing, in how many runs it is not 0."""
        if self.mean is None:
            return "-"
        if self.interval is not None:
            return f"{wording.number(self.mean)} ({wording.numbers(self.interval)})"
        if self.paid_in is None or not self.mean:
            return wording.number(self.mean)
        return f"{wording.number(self.mean)} (in {wording.counted(self.paid_in, 'run')})"

    @property
    def ratio_text(self) -> str:
        """How many times the baseline, with its interval or in how many cases it differs."""
        if self.ratio is None:
            return ""
        text = wording.ratio(self.ratio, self.ratio_interval)
        return text if self.ratio_interval is not None else text + self._differing_text

    @property
    def difference_text(self) -> str:
        """The mean difference, with its interval or in how many cases there is one."""
        if self.difference is None:
            return ""
        if self.differing == 0:
            return "the same in every case"
        text = wording.signed(self.difference)
        if self.difference_interval is not None:
            return f"{text} ({wording.signed_numbers(self.difference_interval)})"
        return text + self._differing_text

    @property
    def _differing_text(self) -> str:
        if not self.differing:
            return ""
        return f" (other in {wording.counted(self.differing, 'case')})"

    @property
    def paired_text(self) -> str:
        """The ratio where there is one, else the difference; whichever has an interval."""
        if self.differing == 0 or (self.difference_interval and not self.ratio_interval):
            return self.difference_text
        return self.ratio_text or self.difference_text


@dataclass(frozen=True, slots=True)
class Cost:
    """One counter that says what a rule set costs."""

    counter: str
    title: str
    rule_sets: tuple[CostOfRuleSet, ...]


def costs_of(folder: SweepFolder, *, intervals: bool = True) -> tuple[Cost, ...]:
    """Every cost of every rule set; what an older version of Replog did not count is left out.

    Without `intervals` the tables of runs are not read.
    """
    baselines = baselines_of(folder.plan["rule_sets"])
    entries = folder.tallies["rule_sets"]
    table = folder.table if intervals else None
    return tuple(
        _cost(folder, table, counter, baselines)
        for counter in COSTS
        if all(counter in entry["totals"] for entry in entries)
        and (counter in ALWAYS_SHOWN or any(entry["totals"][counter] for entry in entries))
    )


def _cost(
    folder: SweepFolder, table: State | None, counter: str, baselines: tuple[int, ...]
) -> Cost:
    if table is not None:
        by_case = case_values.costs_by_case(table, counter)[folder.cases]
        alone, paired = bootstrap.costs(by_case, baselines)
    else:
        alone, paired = _means(folder, counter, baselines)
    labels = [entry["label"] for entry in folder.tallies["rule_sets"]]
    found = [
        CostOfRuleSet(labels[place], labels[baseline], **one._asdict(), **compared._asdict())
        for place, (baseline, one, compared) in enumerate(
            zip(baselines, alone, paired, strict=True)
        )
    ]
    return Cost(counter, COSTS[counter], tuple(found))


def _means(
    folder: SweepFolder, counter: str, baselines: tuple[int, ...]
) -> tuple[list[MeanCost], list[PairedCost]]:
    """What the tallies say: means alone."""
    entries = folder.tallies["rule_sets"]
    means = [one["totals"][counter] / one["ended"] if one["ended"] else None for one in entries]
    alone = [
        MeanCost(one["ended"], None, mean, None) for one, mean in zip(entries, means, strict=True)
    ]
    paired = [
        PairedCost(
            difference=_mean_difference(folder, counter, place, baseline),
            ratio=mean / base
            if mean is not None and (base := means[baseline]) and place != baseline
            else None,
        )
        for place, (mean, baseline) in enumerate(zip(means, baselines, strict=True))
    ]
    return alone, paired


def _mean_difference(folder: SweepFolder, counter: str, place: int, baseline: int) -> float | None:
    if place == baseline:
        return None
    pair = pair_of(folder, baseline, place)
    return float(pair["differences"][counter] / pair["ended"]) if pair["ended"] else None
