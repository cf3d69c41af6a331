"""Where each rule set stands: how often it is violated, against its baseline, and at what price.

What counts as violated is what the plan is about, or any invariant where it does not say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.report.about import counted_in
from sim.report.costs import Cost, CostOfRuleSet
from sim.report.families import Share, share_of
from sim.report.pairs import Difference, baselines_of, difference_of
from sim.report.sweep_folder import SweepFolder
from sim.sweeps import wording

LISTED_MAX = 3
"""Costs of a rule set that are told."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One rule set: how often it violated what counts, and against its baseline."""

    label: str
    share: Share
    is_baseline: bool
    against_baseline: Difference | None
    """None for a baseline, and where no case was judged under both."""
    price: str
    """Costs that differ from the baseline's beyond chance; without intervals, all that differ."""

    @property
    def share_text(self) -> str:
        """As in 21 of 150 (14.0 %)."""
        runs, judged = self.share.runs, self.share.judged
        if not judged:
            return "not judged"
        counted = f"{wording.count(runs)} of {wording.count(judged)}"
        return f"{counted} ({wording.share(runs / judged)})" if runs else counted

    @property
    def against_text(self) -> str:
        """The difference to its baseline in words."""
        if self.is_baseline:
            return "the baseline"
        return "-" if self.against_baseline is None else self.against_baseline.text


def standings_of(folder: SweepFolder, costs: Sequence[Cost]) -> tuple[Standing, ...]:
    """Every rule set of one environment, in the order of the plan."""
    about = bool(folder.plan["plan"].get("about"))
    baselines = baselines_of(folder.plan["rule_sets"])
    titles = [cost.title for cost in costs]
    return tuple(
        Standing(
            entry["label"],
            share_of(entry, *counted_in(folder)),
            is_baseline=place == baseline,
            against_baseline=None
            if place == baseline
            else difference_of(folder, place, baseline, about=about),
            price="" if place == baseline else _price([c.rule_sets[place] for c in costs], titles),
        )
        for place, (entry, baseline) in enumerate(
            zip(folder.tallies["rule_sets"], baselines, strict=True)
        )
    )


def _price(costs: Sequence[CostOfRuleSet], titles: Sequence[str]) -> str:
    paid = [
        f"{title} {one.paired_text}"
        for one, title in zip(costs, titles, strict=True)
        if one.difference and _differs(one)
    ]
    if not paid:
        return "nothing that can be told from chance"
    more = len(paid) - LISTED_MAX
    return ", ".join([*paid[:LISTED_MAX], *([f"{more} more"] if more > 0 else [])])


def _differs(cost: CostOfRuleSet) -> bool:
    found = cost.difference_interval
    return cost.differing is None if found is None else found.low > 0 or found.high < 0
