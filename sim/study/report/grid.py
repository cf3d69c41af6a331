"""One rule of a sweep against all the others: a table per set of the other rules.

The same cases met every value, so each value is also set against the first one, case by case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim.check.families import FAMILIES
from sim.files.foreign import markdown
from sim.study.report.blocks import Block, blocks_of
from sim.study.report.conditions import exposure_of, hunts_text
from sim.study.report.costs import Cost, costs_of
from sim.study.report.pairs import pair_of, paired
from sim.study.report.parts import Table
from sim.study.report.shares import rate_of, share_of
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording

_INTERVALS = "Intervals are exact, two-sided, 95 %."


def grid_as_markdown(folder: SweepFolder, rule: str) -> str:
    """A section for a page: per environment and block a table of rates, invariants and prices."""
    plan = folder.plan
    parts = [
        f"## In random runs: {markdown.text(plan['plan']['title'])}",
        f"{folder.drawn}; each met every value. {_INTERVALS} {_made_by(plan)}",
        markdown.block([f"$ {folder.sweep_command}"], language="console"),
    ]
    for one in folder.environments:
        costs = costs_of(one)
        exposure = [f"{name} {value}" for name, value in exposure_of(one).items()]
        caption = "; ".join([hunts_text(one), *exposure])
        for block in blocks_of(folder, rule):
            others = markdown.code(block.label) if block.label else "As the plan says"
            parts.append(f"### {others}, {markdown.text(one.environment)}")
            parts.append(f"*{markdown.text(caption)}.*")
            head, *rows = _rows(one, block, costs)
            parts.append(Table(head, rows).markdown)
    return "\n\n".join(parts) + "\n"


def _made_by(plan: Mapping[str, Any]) -> str:
    """Which Replog made the sweep, so that a page shows when it is older than what it describes."""
    revision = plan.get("revision")
    build = f" ({markdown.text(revision)})" if revision else ""
    return f"Made by Replog {markdown.text(plan['package_version'])}{build}."


def _rows(folder: SweepFolder, block: Block, costs: Sequence[Cost]) -> list[list[str]]:
    entries = [folder.tallies["rule_sets"][place] for place in block.places]
    rates = [rate_of(entry) for entry in entries]
    rows = [
        ["of the cases", *block.values],
        ["any invariant violated", *(rate.share_text for rate in rates)],
        [f"against {block.values[0]}, case by case", *_against_first(folder, block)],
    ]
    for family in FAMILIES:
        shares = [share_of(entry, "family", family) for entry in entries]
        if any(share.runs for share in shares):
            rows.append([f"family: {family}", *(share.text for share in shares)])
    seen = [entry["counts"]["invariant"] for entry in entries]
    for name in sorted({name for one in seen for name in one}):
        runs = [one.get(name, {"runs": 0})["runs"] for one in seen]
        if len(set(runs)) > 1:
            rows.append([f"{name}", *map(wording.count, runs)])
    rows += [[f"{cost.title}, per run", *_costs(cost, block)] for cost in costs]
    return rows


def _against_first(folder: SweepFolder, block: Block) -> list[str]:
    """How many cases each value cured and spoiled, of those judged under both."""
    first, *others = block.places
    cells = [""]
    for place in others:
        pair = pair_of(folder, first, place)
        found = paired(pair, pair["any"])
        p = wording.p_value(found.p)
        cells.append(f"{found.only_left} cured, {found.only_right} spoiled ({p})")
    return cells


def _costs(cost: Cost, block: Block) -> list[str]:
    cells = []
    for place in block.places:
        one = cost.rule_sets[place]
        against = f"; {one.paired_text}" if one.paired_text else ""
        cells.append("-" if one.mean is None else f"{wording.number(one.mean)}{against}")
    return cells
