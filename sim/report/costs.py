"""What each rule set costs per run, alone and against the same cases without a fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sim.check.counters import COSTS
from sim.report import stats
from sim.report.stats import Interval
from sim.report.sweep_folder import SweepFolder

ALWAYS_SHOWN = ("bytes_retained", "bytes_replicated", "empty_batches", "stale_reads_last")
"""The other costs belong to some fixes or cures; they are left out where nobody paid them."""


@dataclass(frozen=True, slots=True)
class CostOfRuleSet:
    """A cost per run under one rule set, and against its baseline on the same cases."""

    label: str
    baseline: str
    """Label of the rule set it is compared with: the same rules without a fix, if there is one."""
    runs: int
    mean: float | None
    interval: Interval | None
    ratio: float | None
    """Of the means; None for a baseline itself, or when the baseline's mean is 0."""
    difference: float | None
    """Mean of (this - baseline) over the cases both ended; None for a baseline itself."""
    difference_interval: Interval | None


@dataclass(frozen=True, slots=True)
class Cost:
    """One counter that says what a rule set costs."""

    counter: str
    title: str
    rule_sets: tuple[CostOfRuleSet, ...]


def costs_of(folder: SweepFolder) -> tuple[Cost, ...]:
    """Every cost of every rule set; what an older version of Replog did not count is left out."""
    rule_sets = folder.plan["rule_sets"]
    baselines = [_baseline(rule_sets, index) for index in range(len(rule_sets))]
    entries = folder.tallies["rule_sets"]
    return tuple(
        Cost(
            counter,
            title,
            tuple(
                _cost(folder.tallies, counter, index, baseline)
                for index, baseline in enumerate(baselines)
            ),
        )
        for counter, title in COSTS.items()
        if all(counter in entry["squares"] for entry in entries)
        and (counter in ALWAYS_SHOWN or any(entry["totals"][counter] for entry in entries))
    )


def _baseline(rule_sets: list[dict[str, Any]], index: int) -> int:
    """Where fixes are compared: the rule set with the same rules and no fix, or the first without.

    The first of all rule sets otherwise.
    """
    if "fix" not in rule_sets[index]["swept"]:
        return 0
    plain = {**rule_sets[index]["rules"], "fix": "none"}
    places = range(len(rule_sets))
    same = [place for place in places if rule_sets[place]["rules"] == plain]
    unfixed = [place for place in places if rule_sets[place]["rules"]["fix"] == "none"]
    return (same + unfixed + [0])[0]


def _cost(tallies: dict[str, Any], counter: str, index: int, baseline: int) -> CostOfRuleSet:
    entry, reference = (tallies["rule_sets"][place] for place in (index, baseline))
    runs, total, squares = entry["ended"], entry["totals"][counter], entry["squares"][counter]
    base = reference["totals"][counter] / reference["ended"] if reference["ended"] else 0.0
    difference, interval = _mean_difference(tallies["pairs"], counter, index, baseline)
    return CostOfRuleSet(
        label=entry["label"],
        baseline=reference["label"],
        runs=runs,
        mean=total / runs if runs else None,
        interval=stats.mean_interval(total, squares, runs),
        ratio=total / runs / base if runs and base and index != baseline else None,
        difference=difference,
        difference_interval=interval,
    )


def _mean_difference(
    pairs: list[dict[str, Any]], counter: str, index: int, baseline: int
) -> tuple[float | None, Interval | None]:
    wanted = {index, baseline}
    pair = next((pair for pair in pairs if {pair["left"], pair["right"]} == wanted), None)
    if pair is None or not pair["ended"]:
        return None, None
    sign = 1 if pair["left"] == baseline else -1
    cases = pair["ended"]
    total = sign * pair["differences"][counter]
    interval = stats.mean_interval(total, pair["squares"][counter], cases)
    return total / cases, interval
