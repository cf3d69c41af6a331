"""Sweeps with planted counts, in memory, as far as gates look at them."""

from collections.abc import Mapping
from pathlib import Path

from sim.check.violation import FAMILIES
from sim.study.sweep.table import SweepFolder
from tests.report.folders import entry, folder_of


def folder(
    rule_sets: Mapping[str, Mapping[str, int]],
    *,
    cases: int,
    environments: tuple[str, ...] = ("plain",),
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
    planted = folder_of(
        [{"delete_retention_ms": at} for at in range(1, len(rule_sets) + 1)],
        entries,
        [],
        path=Path("nowhere"),
        count=cases * len(environments),
        about=[*about],
        environments={name: {"tail_hunts": at / 9} for at, name in enumerate(environments)},
        labels=[*rule_sets],
    )
    planted.statistics[:] = [{"name": name, "rule_sets": entries} for name in environments]
    return planted
