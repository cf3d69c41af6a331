"""Sweeps with planted counts, in memory, as far as gates look at them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sim.check.families import FAMILIES
from sim.study.report.sweep_folder import SweepFolder
from tests.report.folders import entry


def folder(
    rule_sets: Mapping[str, Mapping[str, int]],
    *,
    cases: int,
    environments: tuple[str, ...] = ("plain",),
    generate: Mapping[str, Any] | None = None,
    about: tuple[str, ...] = (),
    unjudged: int = 0,
) -> SweepFolder:
    """Per rule set, in how many of its runs in every environment a family is violated."""
    entries = []
    for index, (label, seen) in enumerate(rule_sets.items()):
        violated = max(seen.values(), default=0)
        verdicts = {"violated": violated, "holds": cases - violated - unjudged}
        families = {name: runs for name, runs in seen.items() if name in FAMILIES}
        laws = {name: runs for name, runs in seen.items() if name not in FAMILIES}
        counts = {"family": families, "invariant": laws}
        found = entry(index, label, verdicts | {"inconclusive": unjudged}, counts=counts)
        entries.append(found)
    plan = {
        "runs": cases * len(environments) * len(rule_sets),
        "plan": {"about": list(about)},
        "environments": [
            {"name": name, "generate": dict(generate or {"mix": "reference"})}
            for name in environments
        ],
        "rule_sets": [
            {"index": index, "label": label, "rules": {"fix": label}}
            for index, label in enumerate(rule_sets)
        ],
    }
    statistics = [{"name": name, "rule_sets": entries} for name in environments]
    return SweepFolder(Path("nowhere"), "nowhere", plan, statistics)
