"""The content of a report, as one document: what the page, the Markdown and the JSON share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import Any

from sim.check.coverage import SITUATIONS
from sim.check.registry import declared_family
from sim.report.comparison import Comparison
from sim.report.confirmation import Confirmation
from sim.report.families import share_of
from sim.report.sweep_folder import SweepFolder

REPORT_FORMAT = "replog-report/1"
SIGNIFICANT_DIGITS = 12
"""Of floats: what a last-bit difference between two machines does not reach."""


def report_content(
    folder: SweepFolder,
    comparison: Comparison,
    environments: Sequence[Comparison],
    headline: Sequence[str],
) -> dict[str, Any]:
    """The content of `report.json`: all that the page shows, without the pictures.

    What is said of all cases is beside `environments`, where it is said of the cases of each.
    """
    plan = folder.plan
    labels = [rate.label for rate in comparison.rates]
    return {
        "format": REPORT_FORMAT,
        "title": plan["plan"]["title"],
        "source": plan["plan"]["source"],
        "headline": list(headline),
        "cases": plan["count"],
        "runs": plan["runs"],
        "seed": plan["seed"],
        "segments": [part._asdict() for part in folder.parts],
        "seeds_text": folder.seeds_text,
        "plan_file": plan["plan_file"],
        "about": plan["plan"].get("about", []),
        "package_version": plan["package_version"],
        "revision": plan.get("revision"),
        "command": folder.sweep_command,
        "other_weather": sum(pair.other_weather for pair in comparison.pairs),
        "notes": list(zip(labels, plan["plan"].get("notes", ()), strict=False)),
        **_compared(folder, comparison),
        "environments": [
            {"name": one.environment, "cases": one.conditions.cases, **_compared(own, one)}
            for own, one in zip(folder.environments, environments, strict=True)
        ],
        "reached": _seen(folder, "reached", SITUATIONS),
        "inconclusive": _seen(folder, "reason"),
        "errors": _seen(folder, "error"),
        "shortest": _shortest(folder),
        "rule_sets": plan["rule_sets"],
        "plan": plan["plan"],
    }


def confirmed(confirmation: Confirmation | None) -> dict[str, Any]:
    """What the second seed says, or that there is none."""
    if confirmation is None:
        return {"confirmation": None}
    return {"confirmation": {**asdict(confirmation), "text": confirmation.text}}


def _compared(folder: SweepFolder, comparison: Comparison) -> dict[str, Any]:
    """What is there for all cases, and for each environment."""
    conditions = comparison.conditions
    return {
        "conditions": {**asdict(conditions), "text": conditions.text},
        "rates": [{**asdict(rate), "text": rate.text} for rate in comparison.rates],
        "families": [asdict(family) for family in comparison.families],
        "about_pairs": [asdict(pair) for pair in comparison.about],
        "pairs": [{**asdict(pair), "text": pair.text} for pair in comparison.pairs],
        "costs": [asdict(cost) for cost in comparison.costs],
        "invariants": [
            {
                **one,
                "family": declared_family(one["name"]),
                "rates": _rates(folder, one["name"]),
            }
            for one in _seen(folder, "invariant")
        ],
        "first_invariants": _seen(folder, "first_invariant"),
        "standings": [asdict(one) for one in comparison.standings],
        "onsets": [asdict(onset) for onset in comparison.onsets],
    }


def _rates(folder: SweepFolder, name: str) -> list[dict[str, Any]]:
    """How often one invariant was violated under each rule set, with its exact 95 % interval."""
    shares = [share_of(entry, "invariant", name) for entry in folder.tallies["rule_sets"]]
    return [{"violated": one.runs, "interval": one.interval, "text": one.text} for one in shares]


def _seen(
    folder: SweepFolder, measure: str, known: Mapping[str, str] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """How often each name of a measure was seen, most runs first.

    Of each: `name`, `meaning`, `runs` (per rule set) and `example`, the number of one such run.
    `known` names, given with their meanings, are there even if they were never seen.
    """
    counts = [entry["counts"][measure] for entry in folder.tallies["rule_sets"]]
    found = []
    for name in sorted({*known, *(name for count in counts for name in count)}):
        seen = [count[name] for count in counts if name in count]
        found.append(
            {
                "name": name,
                "meaning": known.get(name, ""),
                "runs": [count[name]["runs"] if name in count else 0 for count in counts],
                "example": seen[0]["first_run"] if seen else None,
            }
        )
    return sorted(found, key=lambda one: (-sum(one["runs"]), one["name"]))


def _shortest(folder: SweepFolder) -> list[dict[str, Any]]:
    return [
        {
            "label": entry["label"],
            "runs": [
                {**run, "command": folder.replay_command(run["run_id"])}
                for run in entry["shortest"]
            ],
            "invariants": [
                {**one, "command": folder.replay_command(one["run_id"])}
                for one in entry["earliest"]
            ],
        }
        for entry in folder.tallies["rule_sets"]
    ]


def rounded(value: Any) -> Any:
    """Floats with as many digits as are the same on every machine; JSON has no infinity."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(one) for one in value]
    return value
