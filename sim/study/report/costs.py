"""Costs of the alternatives of a decision: the counters in which one of them differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sim.check.counters import COSTS
from sim.files import markdown
from sim.study.report.grid import Grid
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording


class Cost(NamedTuple):
    """A counter that is a cost, under one rule set, against a baseline on the same cases.

    Attributes:
        text: The mean over the runs that ended, then its ratio to the baseline's and the interval
            of the difference, as in 1,200 (×1.200, +180 to +220).
        difference: Mean of (this - baseline) over the cases whose runs ended under both; 0 for the
            baseline.
        differs: True where the 95 % interval of the difference leaves out 0.
    """

    text: str
    difference: float = 0.0
    differs: bool = False


def cost_of(environment: Mapping[str, Any], counter: str, place: int, baseline: int) -> Cost:
    """A cost of a rule set in one environment.

    Args:
        environment: Statistics of the environment.
        counter: Name of the counter.
        place: Place of the rule set.
        baseline: Place of the rule set to compare with; equal to `place` for no comparison.
    """
    mean, base = (_mean(environment["rule_sets"][one], counter) for one in (place, baseline))
    text = wording.number(mean)
    if place == baseline:
        return Cost(text)
    pair = next(
        one for one in environment["pairs"] if {one["left"], one["right"]} == {place, baseline}
    )
    differing = pair["differing"][counter]
    if not differing:
        return Cost(f"{text} (same)")
    more = pair["differences"][counter] * (1 if pair["left"] == baseline else -1)
    interval = stats.mean_difference(more, pair["squares"][counter], differing, pair["ended"])
    limits = f"other in {wording.counted(differing, 'case')}"
    if interval is not None:
        limits = wording.signed_numbers(interval)
    ratio = f"\u00d7{mean / base:.3f}, " if base else ""
    differs = interval is not None and not interval.low <= 0 <= interval.high
    return Cost(f"{text} ({ratio}{limits})", more / pair["ended"], differs)


def _mean(entry: Mapping[str, Any], counter: str) -> float:
    return float(entry["totals"][counter] / max(1, entry["ended"]))


def costs_of(folder: SweepFolder, grid: Grid) -> str:
    """The costs in the first environment, in Markdown; empty where no alternative differs."""
    environment, places = folder.statistics[0], _places(folder, grid)
    rows = [*_differing(environment, grid, places)]
    if not rows:
        return ""
    head = ("cost per run", *map(markdown.text, grid.alternatives))
    table = markdown.table(head, rows, numbers=len(grid.alternatives))
    note = (
        f"Mean per {markdown.text(environment['name'])} run; in brackets against the first "
        "alternative on the same cases, with Student's 95 % interval (same: in every case), under "
        "the other rules with which it differs most. Costs that do not differ are left out."
    )
    return f"### What it costs\n\n{table}\n\n{note}{_at_a_gigabyte(environment, grid, places)}"


Places = Mapping[str, Mapping[str, int]]
"""Values of the other rules -> the place of each alternative's rule set."""


def _places(folder: SweepFolder, grid: Grid) -> Places:
    found: dict[str, dict[str, int]] = {}
    for one in folder.sweep.rule_sets:
        label = grid.decision.alternative_of(one.rules.as_dict())
        if label is not None:
            found.setdefault(grid.decision.beside(one.values), {})[label] = one.index
    return {beside: own for beside, own in found.items() if grid.alternatives[0] in own}


def _differing(
    environment: Mapping[str, Any], grid: Grid, places: Places
) -> Iterator[tuple[str, ...]]:
    """A row for each cost that differs, under the other rules with which it differs most."""
    for counter, title in COSTS.items():
        found = []
        for beside, own in places.items():
            base = own[grid.alternatives[0]]
            costs = {name: cost_of(environment, counter, at, base) for name, at in own.items()}
            if any(cost.differs for cost in costs.values()):
                most = max(abs(cost.difference) for cost in costs.values())
                found.append((most, beside, costs))
        if found:
            _, beside, costs = max(found, key=lambda each: each[0])
            texts = [costs[name].text if name in costs else "" for name in grid.alternatives]
            yield (markdown.text(f"{title}, {beside}" if beside else title), *texts)


def _at_a_gigabyte(environment: Mapping[str, Any], grid: Grid, places: Places) -> str:
    """The bytes that a fix for the log end keeps more per pass, also as a share of 1 GB.

    Empty for a decision about another rule than `fix`.
    """
    if any({*values} != {"fix"} for values in grid.decision.alternatives.values()):
        return ""
    more = dict.fromkeys(grid.alternatives, 0.0)
    for own in places.values():
        for name, at in own.items():
            cost = cost_of(environment, "bytes_retained", at, own[grid.alternatives[0]])
            passes = _mean(environment["rule_sets"][at], "cleanings") or 1
            more[name] = max(more[name], cost.difference / passes)
    most = max(more, key=more.__getitem__)
    return (
        " A pass keeps at most one record or batch more at the log end, whatever the size of the "
        f"log: {wording.number(more[most])} bytes per pass under {markdown.text(most)}, "
        f"{wording.share(more[most] / 10**9)} of 1 GB of segments."
    )
