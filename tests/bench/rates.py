"""The reference mix in turns: before, pure, compiled and bare SimPy, a few scenarios each."""

from __future__ import annotations

from collections import defaultdict
from statistics import median, quantiles
from typing import Any

from tests.bench.trees import Tree, workers

CHUNK = 10
"""Scenarios of one turn: short enough that a disturbance meets all in the same way."""
BARE_EVENTS = 50_000


def reference_mix(trees: list[Tree], count: int) -> dict[str, Any]:
    """Rates of every tree, and factors between them turn by turn.

    Rates are per second of processor time and include drawing the scenarios. A factor is the median
    over the turns, in which each tree runs the same scenarios; `quarters` are its quartiles.
    """
    taken: dict[str, list[float]] = defaultdict(list)
    per_bare: dict[str, list[float]] = defaultdict(list)
    totals: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    digests: dict[str, list[str]] = defaultdict(list)
    bare_seconds: list[float] = []
    with workers(trees) as processes:
        for first in range(0, count, CHUNK):
            bare = processes[0].ask("bare", BARE_EVENTS)["seconds"]
            bare_seconds.append(bare)
            for process in processes:
                answer = process.ask("runs", first, CHUNK)
                name, seconds = process.name, answer["seconds"]
                taken[name].append(seconds)
                per_bare[name].append(answer["simulator_events"] / seconds / (BARE_EVENTS / bare))
                for figure in ("seconds", "simulator_events", "events"):
                    totals[name][figure] += answer[figure]
                digests[name] += answer["digests"]
    if "compiled" in digests and digests["compiled"] != digests["pure"]:
        raise AssertionError("compiled and pure runs have different digests; `make compiled` first")
    names = [tree.name for tree in trees]
    return {
        "scenarios": count,
        "bare_simpy_events_per_second": round(BARE_EVENTS / median(bare_seconds)),
        "rates": {
            name: {
                "scenarios_per_second": round(count / totals[name]["seconds"], 1),
                "simulator_events_per_scenario": round(totals[name]["simulator_events"] / count),
                "core_events_per_scenario": round(totals[name]["events"] / count),
                "simulator_events_per_second": round(
                    totals[name]["simulator_events"] / totals[name]["seconds"]
                ),
                "share_of_bare_simpy": _spread(per_bare[name]),
            }
            for name in names
        },
        "scenarios_per_second_over_before": {
            name: _spread(
                [old / new for old, new in zip(taken["before"], taken[name], strict=True)]
            )
            for name in names
            if name != "before" and "before" in names
        },
        "events_per_second_over_before": {
            name: _spread(
                [new / old for old, new in zip(per_bare["before"], per_bare[name], strict=True)]
            )
            for name in names
            if name != "before" and "before" in names
        },
    }


def _spread(values: list[float]) -> dict[str, float | list[float]]:
    """Median and quartiles."""
    if len(values) < 2:
        return {"median": round(values[0], 3), "quarters": []}
    low, _, high = quantiles(values, n=4)
    return {"median": round(median(values), 3), "quarters": [round(low, 3), round(high, 3)]}
