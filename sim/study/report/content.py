"""The content of a report: what the page, the Markdown, the JSON and a README share."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sim.errors import BadInput
from sim.files import markdown
from sim.files.reading import read_text
from sim.study.causes import Causes
from sim.study.report.causes import causes_content
from sim.study.report.cells import grid_table
from sim.study.report.claims import Sentence, verdict_of
from sim.study.report.decision import decision_by
from sim.study.report.grid import RUNS, Grid, Unit, grid_of
from sim.study.report.parts import Code, Note, Part, Section, text_of
from sim.study.report.rates import judged_runs, rate_text
from sim.study.report.schedules import anchors_of, schedules_of
from sim.study.report.sections import (
    costs_of,
    reading_of,
    sections_of,
    sections_of_grid,
)
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording
from sim.study.sweep.runner import unjudged

PARTS: Final = ("summary", "sections")
REPORT_FORMAT: Final = "replog-report/3"
SIGNIFICANT_DIGITS: Final = 12
"""Number of digits of floats: the last bits may differ between two machines."""


def report_content(folder: SweepFolder, grids: Sequence[Grid], causes: Causes) -> dict[str, Any]:
    """Everything that a report shows; `as_document` makes `report.json` of it."""
    plan = folder.plan
    described = causes_content(folder, causes)
    first, *others = grids
    sentences, *of_others = [verdict_of(grid) for grid in grids]
    schedules = schedules_of(folder, first)
    return {
        "format": REPORT_FORMAT,
        "title": plan["plan"]["title"],
        "source": plan["plan"]["source"],
        "headline": headline(folder, sentences),
        "verdict": [
            as_verdict(grid, said)
            for grid, said in zip(grids, [sentences, *of_others], strict=True)
        ],
        "summary": [
            *_warning(folder),
            grid_table(first, anchors_of(schedules)),
            Note(reading_of(folder, first)),
            *costs_of(folder, first),
        ],
        "sections": [
            *sections_of_grid(folder, first, schedules),
            *[_in_short(folder, *one) for one in zip(others, of_others, strict=True)],
            *sections_of(folder, first, causes, described),
        ],
        "causes": described,
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


def headline(folder: SweepFolder, sentences: Sequence[Sentence]) -> list[str]:
    """The sentences of a verdict, and one more if some runs have no verdict.

    Where one alternative leaves no sentences, how often an invariant was violated in each
    environment.
    """
    missing = unjudged(folder.statistics).in_words(folder.plan["runs"])
    not_green = [f"{missing.capitalize()}."] if missing else []
    if sentences:
        return [*(one.text for one in sentences), *not_green]
    rates = [
        f"{rate_text(entry['counts']['verdict']['violated']['runs'], judged_runs(entry))}"
        f" runs, {Unit(RUNS, one.environment)}"
        for one in folder.environments
        for entry in one.statistics["rule_sets"]
    ]
    return [f"An invariant was violated in {', '.join(rates)}.", *not_green]


def as_verdict(grid: Grid, sentences: Sequence[Sentence]) -> dict[str, Any]:
    """A decision for JSON: its sentences with their claims, and its grid, a row per finding."""
    return {
        "decision": grid.decision.name,
        "alternatives": grid.alternatives,
        "sentences": [
            {"text": sentence.text, "claims": [one._asdict() for one in sentence.claims]}
            for sentence in sentences
        ],
        "findings": [one.as_row() for one in grid.findings],
    }


def _warning(folder: SweepFolder) -> list[Part]:
    """A note on pairs of runs that did not meet the same workload and faults."""
    other = sum(pair["other_weather"] for pair in folder.statistics["pairs"])
    if not other:
        return []
    pairs = wording.counted(other, "pair")
    return [
        Note(
            f"Workload or faults differ in {pairs} of runs: the paired comparison does not hold "
            "for them."
        )
    ]


def _in_short(folder: SweepFolder, grid: Grid, sentences: Sequence[Sentence]) -> Section:
    """The verdict of a decision that is not the page's own, and the command for its grid."""
    name = grid.decision.name
    command = Code(f"{folder.report_command} --decision {name}", "console")
    return Section(f"Decision: {name}", [*[Note(one.text) for one in sentences], command])


def as_document(content: dict[str, Any]) -> Any:
    """The content for JSON: without parts of pages, floats with the digits all machines share."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{SIGNIFICANT_DIGITS}g}") if math.isfinite(value) else None
        if isinstance(value, dict):
            return {name: rounded(one) for name, one in value.items() if name != "busy_ms"}
        return [rounded(one) for one in value] if isinstance(value, (list, tuple)) else value

    return rounded({name: one for name, one in content.items() if name not in PARTS})


def grid_rows(grid: Grid) -> list[dict[str, str]]:
    """The grid for a terminal: a row per hazard, a column per alternative."""
    table = grid_table(grid)
    return [
        {name: "; ".join(text_of(cell)) for name, cell in zip(table.head, row, strict=True)}
        for row in table.cells
    ]


def quoted(folder: SweepFolder, sentences: Sequence[str], page: Path) -> str:
    """The text of a Markdown file with the sentences of a verdict put into it.

    They go between the lines `<!-- verdict of PLAN -->` and `<!-- end -->`, PLAN being the file
    name of the plan, and replace the text there.

    Raises:
        BadInput: There is no such file or place.
    """
    mark = f"<!-- verdict of {Path(folder.plan['plan_file'] or '').name} -->"
    text = read_text(page)
    place = re.compile(f"(?<={re.escape(mark)}\n).*?(?=<!-- end -->)", re.DOTALL)
    if place.search(text) is None:
        raise BadInput(f"{page}: no lines {mark} and <!-- end --> in it")
    verdict = "".join(f"\n{markdown.text(one)}\n" for one in sentences)
    return place.sub(lambda _found: f"{verdict}\n", text, count=1)


def markdown_grid(folder: SweepFolder, rule: str) -> str:
    """A section for a page of Markdown: the verdict of a sweep on the values of one rule.

    Raises:
        BadInput: The sweep does not vary the rule.
    """
    grid = grid_of(folder, decision_by(folder.plan, rule))
    more = f"{folder.report_command} has the cases, intervals and costs"
    parts = [
        f"## In random runs: {markdown.text(folder.plan['plan']['title'])}",
        markdown.block([f"$ {folder.sweep_command}"], language="console"),
        *map(markdown.text, headline(folder, verdict_of(grid))),
        grid_table(grid).markdown,
        markdown.text(reading_of(folder, grid)),
        markdown.text(f"Made by {folder.made_by}; {more}."),
    ]
    return "\n\n".join(parts) + "\n"
