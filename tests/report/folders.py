"""Sweeps with chosen statistics, in memory."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from sim.check.counters import COSTS, COUNTERS
from sim.study.report.grid import grids_of
from sim.study.report.output import files_of
from sim.study.sweep.folder import PlanFile
from sim.study.sweep.plan import Plan, number_runs
from sim.study.sweep.statistics import MEASURES, VERDICTS
from sim.study.sweep.table import SweepFolder

Verdicts = dict[str, int]


def entry(
    index: int,
    label: str,
    verdicts: Verdicts,
    *,
    totals: dict[str, int] | None = None,
    counts: dict[str, dict[str, int]] | None = None,
) -> dict[str, Any]:
    named: dict[str, dict[str, int]] = {measure: {} for measure in MEASURES} | (counts or {})
    everything = dict.fromkeys(VERDICTS, 0) | verdicts
    cases = sum(everything.values())
    first = min(4, cases - 1)
    return {
        "index": index,
        "label": label,
        "runs": cases,
        "counts": {
            measure: {name: {"runs": runs, "first_run": first} for name, runs in names.items()}
            for measure, names in (named | {"verdict": everything}).items()
        },
        "ended": cases - everything["error"],
        "judged": everything["holds"] + everything["violated"],
        "totals": dict.fromkeys(COUNTERS, 0) | (totals or {}),
        "targeted": 0,
    }


def pair(left: int, right: int, verdicts: Verdicts, **more: Any) -> dict[str, Any]:
    """`verdicts`: of how many cases both runs ended as in `violated/holds`."""
    return {
        "left": left,
        "right": right,
        "ended": sum(verdicts.values()),
        "only_left": {},
        "only_right": {},
        **more,
        **{
            name: dict.fromkeys(COSTS, 0) | more.get(name, {})
            for name in ("differences", "squares", "differing")
        },
    }


MADE = PlanFile(package_version="1.2.3", count=0, seed=0, plan={})


def folder_of(
    rule_sets: list[dict[str, Any]],
    entries: list[dict[str, Any]],
    pairs: list[Any],
    *,
    path: Path = Path("a sweep"),
    **plan: Any,
) -> SweepFolder:
    """A sweep whose cases are all `plain` ones."""
    written = {
        "format": "replog-sweep/1",
        "title": "One <fix> & another",
        "source": "KIP-280",
        "count": entries[0]["runs"],
        "seed": 280,
        "generate": {"mix": "reference", "tail_hunts": 0.0},
        "rules": {"strategy": "offset"},
        "rule_sets": rule_sets,
    }
    sweep = number_runs(Plan.model_validate(written | plan))
    made = msgspec.structs.replace(MADE, plan_file="scenarios/sweeps/a plan.yaml")
    statistics = [{"name": "plain", "rule_sets": entries, "pairs": pairs}]
    return SweepFolder(path, path.as_posix(), sweep, made, statistics)


def pages_of(folder: SweepFolder) -> dict[str, str]:
    """The files of its report."""
    return files_of(folder, grids_of(folder))


def both_fixes(**plan: Any) -> SweepFolder:
    """1,000 cases: no fix violates in 120, one fix in 7, the other never."""
    data = yaml.safe_load(Path(__file__).with_name("both_fixes.yaml").read_text(encoding="utf-8"))
    entries = [entry(index, **one) for index, one in enumerate(data["rule_sets"])]
    rule_sets = [{"fix": one["label"]} for one in entries]
    return folder_of(rule_sets, entries, [pair(**one) for one in data["pairs"]], **plan)
