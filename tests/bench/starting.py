"""What a command costs from its start to its end, in turns with the commit before."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.trees import ROOT, Tree

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
"""In words that the commit before knows, too."""
REPEATS = 7


def start_up(trees: list[Tree], folder: Path) -> dict[str, Any]:
    """Median processor seconds, those of child processes included, and the ratio to before."""
    commands: dict[str, dict[str, list[str]]] = {
        "replog run STORY": {tree.name: ["run", STORY] for tree in trees},
        "replog run DIR RUN_ID": {tree.name: _replay(tree, folder) for tree in trees},
    }
    answer: dict[str, Any] = {}
    for title, per_tree in commands.items():
        seconds: dict[str, list[float]] = {tree.name: [] for tree in trees}
        for tree in trees:
            _spent(tree, per_tree[tree.name])  # leaves bytecode behind
        for _ in range(REPEATS):
            for tree in trees:
                seconds[tree.name].append(_spent(tree, per_tree[tree.name]))
        medians = {name: median(values) for name, values in seconds.items()}
        answer[title] = {
            "processor_seconds": {name: round(value, 3) for name, value in medians.items()},
            "over_before": {
                name: round(value / medians["before"], 2)
                for name, value in medians.items()
                if name != "before" and "before" in medians
            },
        }
    return answer


def _replay(tree: Tree, folder: Path) -> list[str]:
    out = folder / f"sweep-{tree.name}"
    plan = folder / "plan.yaml"
    plan.write_text(PLAN, encoding="utf-8")
    made = ["sweep", str(plan), "--out", str(out), "--engine", "process"]
    _replog(tree, made)
    # The commit before has a command of its own for it.
    return ["replay" if tree.name == "before" else "run", str(out), "1"]


def _spent(tree: Tree, arguments: list[str]) -> float:
    before = os.times()
    _replog(tree, arguments)
    after = os.times()
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def _replog(tree: Tree, arguments: list[str]) -> None:
    done = subprocess.run(
        tree.command("-c", "from sim.cli import main; main()", *arguments),
        cwd=ROOT,
        env=tree.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    # 1: what a story or a run expects is not met; or Python itself ended with a traceback.
    if done.returncode not in {0, 1} or "Traceback" in done.stderr:
        raise AssertionError(f"replog {' '.join(arguments)} ({tree.name}): {done.stderr}")
