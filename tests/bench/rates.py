"""The reference mix in turns: each tree and bare SimPy, a few scenarios each."""

from __future__ import annotations

import json
from collections import defaultdict
from statistics import median, quantiles
from typing import Any

from tests.bench.trees import Tree

WORKER = "tests/bench/worker.py"
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
    for first in range(0, count, CHUNK):
        bare = measured(trees[0], "bare", BARE_EVENTS)["seconds"]
        bare_seconds.append(bare)
        spent: list[float] = []
        for tree in trees:
            answer = measured(tree, "runs", first, CHUNK)
            seconds = answer["seconds"]
            spent.append(seconds)
            per_bare[tree.name].append(answer["simulator_events"] / seconds / (BARE_EVENTS / bare))
            for figure in ("seconds", "simulator_events", "events"):
                totals[tree.name][figure] += answer[figure]
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


def measured(tree: Tree, *task: object) -> dict[str, Any]:
    """What a process of the tree measures in one task, see `worker.py`.

    Each tree has a worker of its own, which knows where its modules are.
    """
    answer: dict[str, Any] = json.loads(tree.python(WORKER, said=" ".join(map(str, task))))
    return answer


def _spread(values: list[float]) -> dict[str, float | list[float]]:
    """The median and the quartiles of the turns."""
    if len(values) < 2:
        return {"median": round(values[0], 3), "quarters": []}
    low, _, high = quantiles(values, n=4)
    return {"median": round(median(values), 3), "quarters": [round(low, 3), round(high, 3)]}
