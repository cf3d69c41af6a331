"""Costs of the alternatives of a decision: the counters in which one of them differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from sim.check.counters import COSTS
from sim.files import markdown
from sim.study.report.grid import Grid
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import stats, wording


class Cost(NamedTuple):
    """A counter that is a cost, under one rule set, against a baseline on the same cases.

    Attributes:
        text: The mean over the runs that ended, and what there is more or less of it, as in
            1,200 (×1.200, +180 to +220).
        difference: Mean of (this - baseline) over the cases that both ended; 0 for the baseline.
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
        baseline: Place of the one it is compared with; its own for none.
    """
    mean, base = (_mean(environment["rule_sets"][one], counter) for one in (place, baseline))
    if mean is None:
        return Cost("-")
    text = wording.number(mean)
    if place == baseline:
        return Cost(text)
    pair = next(
        one for one in environment["pairs"] if {one["left"], one["right"]} == {place, baseline}
    )
    if not pair["ended"]:
        return Cost(text)
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


def _mean(entry: Mapping[str, Any], counter: str) -> float | None:
    return entry["totals"][counter] / entry["ended"] if entry["ended"] else None


COST: Final = (
    "Mean per {environment} run; in brackets against the first alternative on the same cases, with "
    "Student's 95 % interval (same: in every case), under the other rules with which it differs "
    "most. Costs that differ under no alternative are left out."
)
GIGABYTE: Final = 10**9
AT_A_GIGABYTE: Final = (
    " A pass keeps at most one record or batch more at the log end, whatever the size of the log: "
    "the last row is calculated for 1 GB of segments from the bytes per pass."
)


def costs_of(folder: SweepFolder, grid: Grid) -> str:
    """The costs in the first environment, in Markdown; empty where no alternative differs."""
    environment = folder.statistics[0]
    first = grid.alternatives[0]
    places = {beside: own for beside, own in _places(folder, grid).items() if first in own}
    rows = [*_differing(environment, grid, places)]
    if not rows:
        return ""
    larger = [*_at_a_gigabyte(environment, grid, places)]
    labels = map(markdown.text, grid.alternatives)
    table = markdown.table(
        ("cost per run", *labels), [*rows, *larger], numbers=len(grid.alternatives)
    )
    note = COST.format(environment=markdown.text(environment["name"]))
    return f"### What it costs\n\n{table}\n\n{note}{AT_A_GIGABYTE if larger else ''}"


Places = Mapping[str, Mapping[str, int]]
"""Values of the other rules -> the place of each alternative's rule set."""


def _places(folder: SweepFolder, grid: Grid) -> Places:
    found: dict[str, dict[str, int]] = {}
    for one in folder.sweep.rule_sets:
        label = grid.decision.alternative_of(one.rules.as_dict())
        if label is not None:
            found.setdefault(grid.decision.beside(one.values), {})[label] = one.index
    return found


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
            yield (_titled(title, beside), *texts)


def _at_a_gigabyte(
    environment: Mapping[str, Any], grid: Grid, places: Places
) -> Iterator[tuple[str, ...]]:
    """The bytes that a pass leaves more under a fix for the log end, also as a share of 1 GB."""
    if any({*values} != {"fix"} for values in grid.decision.alternatives.values()):
        return
    first, *others = grid.alternatives
    totals = [one["totals"] for one in environment["rule_sets"]]
    more = {
        beside: [
            (totals[own[one]]["bytes_retained"] - totals[own[first]]["bytes_retained"])
            / max(1, totals[own[one]]["cleanings"])
            for one in others
        ]
        for beside, own in places.items()
        if {*own} == {*grid.alternatives}
    }
    if more:
        beside = max(more, key=lambda each: max(map(abs, more[each])))
        texts = [
            f"{wording.signed(one)} ({wording.share(abs(one) / GIGABYTE)})" for one in more[beside]
        ]
        yield (_titled("more bytes per cleaning pass (of 1 GB)", beside), "", *texts)


def _titled(title: str, beside: str) -> str:
    return markdown.text(", ".join(filter(None, (title, beside))))
