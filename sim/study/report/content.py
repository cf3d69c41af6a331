"""The content of a report, as one document: what the page, the Markdown and the JSON share."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

from sim.check.coverage import SITUATIONS
from sim.study.causes.grouping import Causes
from sim.study.report.causes import causes_content
from sim.study.report.comparison import compare, headline, seen_in
from sim.study.report.conditions import Conditions
from sim.study.report.proven import proven_of
from sim.study.report.sweep_folder import SweepFolder

REPORT_FORMAT = "replog-report/1"
SIGNIFICANT_DIGITS = 12
"""Of floats: what a last-bit difference between two machines does not reach."""


def report_content(folder: SweepFolder, causes: Causes) -> dict[str, Any]:
    """All that a report shows, without the pictures; `as_document` makes `report.json` of it.

    What is said of all cases is beside `environments`, where it is said of the cases of each.
    """
    plan, environments = folder.plan, folder.environments
    compared = compare(folder)
    labels = [entry["label"] for entry in plan["rule_sets"]]
    return {
        "format": REPORT_FORMAT,
        "title": plan["plan"]["title"],
        "source": plan["plan"]["source"],
        "proven": proven_of(folder),
        "headline": headline(folder, causes),
        "cases": plan["count"],
        "drawn": folder.drawn,
        "runs": plan["runs"],
        "seed": plan["seed"],
        "plan_file": plan["plan_file"],
        "about": folder.about,
        "package_version": plan["package_version"],
        "revision": plan.get("revision"),
        "command": folder.sweep_command,
        "report_command": folder.report_command,
        "folder": folder.name,
        "notes": list(zip(labels, plan["plan"].get("notes", ()), strict=False)),
        **compared,
        "environments": [
            {"name": one.environment, "cases": one.tallies["rule_sets"][0]["runs"], **compare(one)}
            for one in environments
        ],
        "reached": seen_in(folder, "reached", SITUATIONS),
        "inconclusive": seen_in(folder, "reason"),
        "errors": seen_in(folder, "error"),
        "shortest": _shortest(folder),
        "rule_sets": plan["rule_sets"],
        "plan": plan["plan"],
        "causes": causes_content(folder, causes),
    }


def _shortest(folder: SweepFolder) -> list[dict[str, Any]]:
    return [
        {
            "label": entry["label"],
            "runs": [
                {**run, "command": folder.replay_command(run["run_id"])}
                for run in entry["shortest"]
            ],
        }
        for entry in folder.tallies["rule_sets"]
    ]


def as_document(value: Any) -> Any:
    """For JSON, which has no infinity: floats with as many digits as all machines agree on.

    A value of ours is an object of its fields, and has its text where a report tells it so.
    """
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
    if is_dataclass(value):
        told = {field.name: getattr(value, field.name) for field in fields(value)}
        if isinstance(value, Conditions):
            told["text"] = value.text
        value = told
    if isinstance(value, dict):
        return {name: as_document(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_document(one) for one in value]
    return value
