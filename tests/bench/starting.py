"""What a command costs from its start to its end, in each tree in turns."""

from __future__ import annotations

import resource
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.trees import Tree

STORY = "scenarios/kip280/kip280_03_uncommitted_tail_heals.yaml"
PLAN = """\
format: replog-sweep/1
title: Runs of which one is replayed
source: this project
count: 2
seed: 1
generate: {mix: reference}
rules: {preset: kafka-4.0}
rule_sets: [{fix: none}, {fix: leo_retention}, {fix: empty_batch}]
"""
REPEATS = 7


def start_up(trees: list[Tree], folder: Path) -> dict[str, Any]:
    """Median processor seconds by command and tree, those of child processes included."""
    commands = {
        "replog run STORY": {tree: ["run", STORY] for tree in trees},
        "replog run DIR RUN_ID": {tree: _swept(tree, folder) for tree in trees},
    }
    answer: dict[str, Any] = {}
    for title, per_tree in commands.items():
        seconds: dict[str, list[float]] = {tree.name: [] for tree in trees}
        for repeat in range(1 + REPEATS):
            for tree, arguments in per_tree.items():
                spent = _spent(tree, arguments)
                if repeat:  # the first time leaves bytecode behind
                    seconds[tree.name].append(spent)
        answer[title] = {name: round(median(values), 3) for name, values in seconds.items()}
    return answer


def _swept(tree: Tree, folder: Path) -> list[str]:
    """Runs a small sweep; returns the arguments that repeat one of its runs.

    Older revisions have a command of its own for that.
    """
    out, plan = folder / f"sweep-{tree.name}", folder / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    _replog(tree, ["sweep", str(plan), "--out", str(out), "--engine", "process"])
    repeats = "RUN_ID" in _replog(tree, ["run", "--help"])
    return ["run" if repeats else "replay", str(out), "1"]


def _spent(tree: Tree, arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _replog(tree, arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _replog(tree: Tree, arguments: list[str]) -> str:
    return tree.python("-c", "from sim.cli import main; main()", *arguments)
