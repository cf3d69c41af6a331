"""The content of a report: what the page, the Markdown, the JSON and a README share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.files.foreign import markdown
from sim.files.opening import read_text
from sim.study.causes import Causes
from sim.study.report.causes import causes_content
from sim.study.report.claims import verdict_of
from sim.study.report.decision import decision_by
from sim.study.report.grid import RUNS, Grid, Unit, grid_of
from sim.study.report.parts import Heading, Note, Part, Section, Table
from sim.study.report.rates import judged_runs, rate_text
from sim.study.report.sections import (
    COST,
    HOW_TO_READ,
    cases_text,
    costs_table,
    grid_table,
    sections_of,
    sections_of_grid,
)
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording
from sim.study.sweep.runner import unjudged

PARTS: Final = ("summary", "sections")
REPORT_FORMAT: Final = "replog-report/3"
SIGNIFICANT_DIGITS: Final = 12
"""Of floats: what a last-bit difference between two machines does not reach."""


def report_content(folder: SweepFolder, grids: Sequence[Grid], causes: Causes) -> dict[str, Any]:
    """All that a report shows; `as_document` makes `report.json` of it."""
    plan = folder.plan
    told = causes_content(folder, causes)
    first, *others = grids
    return {
        "format": REPORT_FORMAT,
        "title": plan["plan"]["title"],
        "source": plan["plan"]["source"],
        "headline": headline(folder, first),
        "verdict": [as_verdict(grid) for grid in grids],
        "summary": [*_open_part(folder, first)],
        "sections": [
            *[_in_short(one) for one in others],
            *sections_of_grid(folder, first),
            *sections_of(folder, causes, told),
        ],
        "causes": told,
        "statistics": folder.statistics,
        **{
            name: plan.get(name)
            for name in ("count", "seed", "runs", "plan_file", "package_version", "revision")
        },
        "command": folder.sweep_command,
        "report_command": folder.report_command,
        "rule_sets": plan["rule_sets"],
        "plan": plan["plan"],
    }


def headline(folder: SweepFolder, grid: Grid) -> list[str]:
    """The sentences of the verdict, and one more if some runs say nothing.

    Of one rule set it is how often it violated an invariant, in each environment.
    """
    missing = unjudged(folder.statistics).in_words(folder.plan["runs"])
    not_green = [f"{missing.capitalize()}."] if missing else []
    if len(grid.alternatives) > 1:
        return [*(one.text for one in verdict_of(grid)), *not_green]
    rates = [
        f"{rate_text(entry['counts']['verdict']['violated']['runs'], judged_runs(entry))}"
        f" runs, {Unit(RUNS, one.environment)}"
        for one in folder.environments
        for entry in one.statistics["rule_sets"]
    ]
    return [f"An invariant was violated in {', '.join(rates)}.", *not_green]


def as_verdict(grid: Grid) -> dict[str, Any]:
    """A decision for JSON: its sentences with what they claim, and its grid, a row per finding."""
    return {
        "decision": grid.decision.name,
        "alternatives": grid.alternatives,
        "sentences": [
            {"text": sentence.text, "claims": [one._asdict() for one in sentence.claims]}
            for sentence in verdict_of(grid)
        ],
        "findings": [one.as_row() for one in grid.findings],
    }


def _open_part(folder: SweepFolder, grid: Grid) -> list[Part]:
    """The grid, how to read it, the cases and the costs."""
    costs = costs_table(folder, grid)
    cases = ". ".join(cases_text(one) for one in folder.environments)
    other = sum(pair["other_weather"] for pair in folder.statistics["pairs"])
    warning = (
        f"Workload or faults differ in {wording.counted(other, 'pair')} of runs: the paired "
        "comparison does not hold for them."
    )
    parts: list[Part] = [Note(warning)] if other else []
    parts += [grid_table(grid), Note(f"{HOW_TO_READ} {cases[:1].upper()}{cases[1:]}.")]
    if costs is not None:
        parts += [Heading("What it costs"), costs, Note(COST)]
    return parts


def _in_short(grid: Grid) -> Section:
    """The verdict and the grid of a decision that is not the page's own."""
    title = f"Decision: {grid.decision.name} (--decision {grid.decision.name} has all of it)"
    return Section(title, [*[Note(one.text) for one in verdict_of(grid)], grid_table(grid)])


def as_document(content: dict[str, Any]) -> Any:
    """For JSON: all but the parts of pages, floats with as many digits as all machines agree on."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
        if isinstance(value, dict):
            return {name: rounded(one) for name, one in value.items() if name != "busy_ms"}
        return [rounded(one) for one in value] if isinstance(value, (list, tuple)) else value

    return rounded({name: one for name, one in content.items() if name not in PARTS})


def grid_rows(grid: Grid) -> list[dict[str, str]]:
    """The grid for a terminal: a row per hazard, a column per alternative."""
    return [
        {
            "hazard": hazard,
            **{one: "; ".join(grid.lines(hazard, one)) for one in grid.alternatives},
        }
        for hazard in grid.hazards
    ]


def quoted(folder: SweepFolder, grid: Grid, page: Path) -> str:
    """The text of a Markdown file with the verdict of a decision put into it.

    It goes between the lines `<!-- verdict of PLAN -->` and `<!-- end -->`, PLAN being the file
    name of the plan, in the place of what is there.

    Raises:
        BadInput: There is no such file or place.
    """
    mark = f"<!-- verdict of {Path(folder.plan['plan_file'] or '').name} -->"
    text = read_text(page)
    place = re.compile(f"(?<={re.escape(mark)}\n).*?(?=<!-- end -->)", re.DOTALL)
    if place.search(text) is None:
        raise BadInput(f"{page}: no lines {mark} and <!-- end --> in it")
    verdict = "".join(f"\n{markdown.text(one.text)}\n" for one in verdict_of(grid))
    return place.sub(lambda _found: f"{verdict}\n", text, count=1)


def markdown_grid(folder: SweepFolder, rule: str) -> str:
    """A section for a page of Markdown: what a sweep says of the values of one rule.

    Raises:
        BadInput: The sweep does not vary the rule.
    """
    grid = grid_of(folder, decision_by(folder.plan, rule))
    shown = _open_part(folder, grid)
    parts = [
        f"## In random runs: {markdown.text(folder.plan['plan']['title'])}",
        markdown.block([f"$ {folder.sweep_command}"], language="console"),
        *map(markdown.text, headline(folder, grid)),
        *[one.markdown for one in shown if isinstance(one, Table)],
        *[markdown.text(one.text) for one in shown if isinstance(one, Note)],
        f"{markdown.text(folder.drawn)}. Made by {markdown.text(folder.made_by)}.",
    ]
    return "\n\n".join(parts) + "\n"
