"""What a sweep says: the verdict, rates with intervals, paired differences, what rule sets cost.

Everything that the page, the Markdown and the terminal show is computed once, from the tallies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sim.check.registry import declared_family
from sim.study.causes.grouping import Causes
from sim.study.report.conditions import conditions_of
from sim.study.report.costs import Cost, costs_of, price_of
from sim.study.report.pairs import baselines_of, difference_of, pairs_of
from sim.study.report.shares import Share, counted_share, families_of, rate_of, share_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.report.verdict import verdict_of
from sim.study.sweep import wording
from sim.study.sweep.statistics import VERDICTS
from sim.study.sweep.unjudged import unjudged

INTERVALS = "in brackets the share and its two-sided 95 % interval"


def compare(folder: SweepFolder) -> dict[str, Any]:
    """What is said of a sweep, or of one environment of it."""
    costs = costs_of(folder)
    return {
        "conditions": conditions_of(folder),
        "other_weather": sum(pair["other_weather"] for pair in folder.tallies["pairs"]),
        "rates": [_rate(entry) for entry in folder.tallies["rule_sets"]],
        "families": families_of(folder),
        "pairs": pairs_of(folder),
        "costs": costs,
        "invariants": [
            {
                **one,
                "family": declared_family(one["name"]),
                "rates": [
                    _share(share_of(entry, "invariant", one["name"]))
                    for entry in folder.tallies["rule_sets"]
                ],
            }
            for one in seen_in(folder, "invariant")
        ],
        "standings": standings_of(folder, costs),
    }


def _rate(entry: dict[str, Any]) -> dict[str, Any]:
    """How often a rule set violated any invariant."""
    found = rate_of(entry)
    return {
        "index": entry["index"],
        "label": entry["label"],
        "verdicts": {name: entry["counts"]["verdict"][name]["runs"] for name in VERDICTS},
        "judged": found.judged,
        "violated": found.runs,
        "rate": found.rate,
        "exact": found.interval,
        "text": found.rate_text,
    }


def _share(found: Share) -> dict[str, Any]:
    return {"violated": found.runs, "interval": found.interval, "text": found.text}


def standings_of(folder: SweepFolder, costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """Where each rule set of one environment stands, in the order of the plan.

    Of each: `label`, `share`, whether it `is_baseline`, the difference `against_baseline` on the
    same cases, and its `price`. What counts as violated is what the plan is about, or any
    invariant where it does not say.
    """
    baselines = baselines_of(folder.plan["rule_sets"])
    return [
        {
            "label": entry["label"],
            "share": counted_share(folder, entry),
            "is_baseline": place == baseline,
            "against_baseline": None
            if place == baseline
            else difference_of(folder, place, baseline),
            "price": "" if place == baseline else price_of(costs, place),
        }
        for place, (entry, baseline) in enumerate(
            zip(folder.tallies["rule_sets"], baselines, strict=True)
        )
    ]


def against_text(standing: Mapping[str, Any]) -> str:
    """The difference of a rule set to its baseline in words."""
    if standing["is_baseline"]:
        return "the baseline"
    found = standing["against_baseline"]
    return "-" if found is None else str(found.text)


def seen_in(
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


def headline(folder: SweepFolder, causes: Causes | None = None) -> tuple[str, ...]:
    """The verdict in a few sentences, and one more if the sweep is not green.

    Of one rule set it is how often it violated an invariant.
    """
    _first, *others = folder.tallies["rule_sets"]
    return (
        *(verdict_of(folder, causes) if others else [_of_one_rule_set(folder)]),
        *not_green(folder),
    )


def _of_one_rule_set(folder: SweepFolder) -> str:
    """How often it violated any invariant; in each environment, since they have the same seeds."""
    several = len(folder.environments) > 1
    told = [
        f"{rate_of(one.tallies['rule_sets'][0]).rate_text}"
        + (f" in {one.environment}" if several else "")
        for one in folder.environments
    ]
    return f"An invariant was violated in {', '.join(told)}; {INTERVALS}."


def not_green(folder: SweepFolder) -> list[str]:
    """One sentence on runs that should have a verdict and have none; nothing where all have one.

    A run that left the durability contract needs none.
    """
    told = unjudged(folder.tallies).in_words(folder.plan["runs"])
    return [f"{told.capitalize()}."] if told else []


def comparison_table(sweep: SweepFolder) -> list[dict[str, str]]:
    """One row of text cells per rule set of a finished sweep, in the order of the plan.

    Where the plan has several environments, each has its rows. Columns: `environment` then,
    `rule set`, `runs`, `violated`, `rate` (with its exact 95 % interval), `not judged`
    (inconclusive and failed runs), and one per cost: the mean per run and how many times the
    baseline's.

    """
    environments = sweep.environments
    rows = []
    for folder in environments:
        named = {"environment": folder.environment} if len(environments) > 1 else {}
        rows += [{**named, **row} for row in _rows(folder)]
    return rows


def _rows(folder: SweepFolder) -> list[dict[str, str]]:
    costs = costs_of(folder)
    rows = []
    for place, entry in enumerate(folder.tallies["rule_sets"]):
        rate = rate_of(entry)
        row = {
            "rule set": entry["label"],
            "runs": wording.count(entry["runs"]),
            "violated": wording.count(rate.runs),
            "rate": rate.share_text,
            "not judged": wording.count(entry["runs"] - rate.judged),
        }
        for cost in costs:
            own = cost.rule_sets[place]
            times = "" if own.ratio is None else f" (x{own.ratio:.3f})"
            row[cost.title] = f"{own.mean_text}{times}"
        rows.append(row)
    return rows
