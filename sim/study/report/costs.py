"""What each rule set costs per run, alone and against its baseline on the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from sim.check.counters import COSTS
from sim.study.report import bootstrap
from sim.study.report.bootstrap import CostOfRuleSet
from sim.study.report.pairs import baselines_of, pair_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep.table import State

ALWAYS_SHOWN = ("bytes_retained", "bytes_replicated", "empty_batches", "stale_reads_last")
"""The other costs belong to some fixes or cures; they are left out where nobody paid them."""
LISTED_MAX = 3
"""Costs of a rule set that make its price."""


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
    entries = folder.tallies["rule_sets"]
    table = folder.table if intervals else None
    return tuple(
        _cost(folder, table, counter)
        for counter in COSTS
        if all(counter in entry["totals"] for entry in entries)
        and (counter in ALWAYS_SHOWN or any(entry["totals"][counter] for entry in entries))
    )


def _cost(folder: SweepFolder, table: State | None, counter: str) -> Cost:
    baselines = baselines_of(folder.plan["rule_sets"])
    if table is None:
        found = _means(folder, counter, baselines)
    else:
        found = bootstrap.costs(_by_case(table, counter)[folder.cases], baselines)
    labels = [entry["label"] for entry in folder.tallies["rule_sets"]]
    named = (
        replace(one, label=label, baseline=labels[baseline])
        for one, label, baseline in zip(found, labels, baselines, strict=True)
    )
    return Cost(counter, COSTS[counter], tuple(named))


def _by_case(table: State, counter: str) -> bootstrap.Values:
    """A counter of every run of all cases: cases by rule sets, nan for a run that did not end."""
    values = table.read((counter,)).column(counter)
    found = values.cast(pa.float64()).fill_null(float("nan")).to_numpy()
    return np.asarray(found).reshape(-1, table.shape.rule_sets)


def _means(folder: SweepFolder, counter: str, baselines: Sequence[int]) -> list[CostOfRuleSet]:
    """What the tallies say: means alone."""
    entries = folder.tallies["rule_sets"]
    means = [one["totals"][counter] / one["ended"] if one["ended"] else None for one in entries]
    found = []
    for place, (entry, mean, baseline) in enumerate(zip(entries, means, baselines, strict=True)):
        difference = ratio = None
        if place != baseline:
            pair, base = pair_of(folder, baseline, place), means[baseline]
            difference = pair["differences"][counter] / pair["ended"] if pair["ended"] else None
            ratio = mean / base if mean is not None and base else None
        runs = entry["ended"]
        found.append(
            CostOfRuleSet(runs=runs, mean=mean, paid_in=None, ratio=ratio, difference=difference)
        )
    return found


def price_of(costs: Sequence[Cost], place: int) -> str:
    """Costs of a rule set that differ from its baseline's beyond chance, by its place.

    Without intervals, all that differ.
    """
    paid = [
        f"{cost.title} {cost.rule_sets[place].paired_text}"
        for cost in costs
        if cost.rule_sets[place].difference and _differs(cost.rule_sets[place])
    ]
    if not paid:
        return "nothing that can be told from chance"
    more = len(paid) - LISTED_MAX
    return ", ".join([*paid[:LISTED_MAX], *([f"{more} more"] if more > 0 else [])])


def _differs(cost: CostOfRuleSet) -> bool:
    found = cost.difference_interval
    return cost.differing is None if found is None else found.low > 0 or found.high < 0
