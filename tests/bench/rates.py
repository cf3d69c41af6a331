"""The reference mix in turns: each tree and bare SimPy, a few scenarios each."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from statistics import median, quantiles
from typing import Any

from tests.bench.trees import Tree, Worker

CHUNK = 10
"""Scenarios of one turn: short enough that a disturbance meets all in the same way."""
BARE_EVENTS = 50_000


def reference_mix(trees: list[Tree], count: int) -> dict[str, Any]:
    """Rates of every tree per second of processor time, those of drawing the scenarios included.

    The share of bare SimPy's rate and the times as fast as the tree beside are medians over the
    turns; `quarters` are their quartiles.
    """
    faster: list[float] = []
    per_bare: dict[str, list[float]] = defaultdict(list)
    totals: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    bare_seconds: list[float] = []
    with ExitStack() as stack:
        processes = [stack.enter_context(Worker(tree)) for tree in trees]
        for first in range(0, count, CHUNK):
            bare = processes[0].ask("bare", BARE_EVENTS)["seconds"]
            bare_seconds.append(bare)
            spent: list[float] = []
            for process in processes:
                answer = process.ask("runs", first, CHUNK)
                name, seconds = process.name, answer["seconds"]
                spent.append(seconds)
                per_bare[name].append(answer["simulator_events"] / seconds / (BARE_EVENTS / bare))
                for figure in ("seconds", "simulator_events", "events"):
                    totals[name][figure] += answer[figure]
            faster += [beside / spent[0] for beside in spent[1:]]
    return {
        "scenarios": count,
        **({"times_as_fast_as_beside": _spread(faster)} if faster else {}),
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
            for name in totals
        },
    }


def _spread(values: list[float]) -> dict[str, float | list[float]]:
    """The median and the quartiles of the turns."""
    if len(values) < 2:
        return {"median": round(values[0], 3), "quarters": []}
    low, _, high = quantiles(values, n=4)
    return {"median": round(median(values), 3), "quarters": [round(low, 3), round(high, 3)]}
