"""The content of a report, and its three files: a self-contained HTML page, Markdown and JSON."""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import jinja2

from sim.errors import BadInput
from sim.files import markdown
from sim.files.atomic import replace_text
from sim.files.foreign import json_text, shown
from sim.files.reading import read_text
from sim.study.report.claims import Sentence, verdict_of
from sim.study.report.grid import RUNS, Grid, Unit
from sim.study.report.hazards import judged_runs, rate_text
from sim.study.report.parts import Code, Note, Part, Section, grid_table, text_of
from sim.study.report.schedules import anchors_of, schedules_of
from sim.study.report.sections import (
    costs_of,
    reading_of,
    sections_of,
    sections_of_grid,
)
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording
from sim.study.sweep.folder import as_json
from sim.study.sweep.runner import unjudged

PARTS: Final = ("summary", "sections")
REPORT_FORMAT: Final = "replog-report/3"
SIGNIFICANT_DIGITS: Final = 12
"""Number of digits of floats: the last bits may differ between two machines."""


def report_content(folder: SweepFolder, grids: Sequence[Grid]) -> dict[str, Any]:
    """Everything that a report shows; `as_document` makes `report.json` of it."""
    plan = folder.plan
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
            *sections_of(folder),
        ],
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


class Report(NamedTuple):
    """A written report.

    Attributes:
        page: Path of its HTML page.
        headline: The sentences that open it.
    """

    page: Path
    headline: Sequence[str]


def write_report(
    folder: SweepFolder,
    grids: Sequence[Grid],
    *,
    quote_in: Path | None = None,
) -> Report:
    """Writes `report.html`, `report.md` and `report.json` into the folder of a finished sweep.

    The same sweeps under the same names give the same bytes.

    Args:
        folder: The sweep.
        grids: The grids of its decisions; the verdict of the first one opens the page.
        quote_in: A Markdown file that quotes the verdict (`quoted`).

    Returns:
        The path of the page, and the sentences that open it.

    Raises:
        BadInput: The folder cannot be written, or `quote_in` has no place for the verdict; then
            no file is changed.
    """
    texts: dict[Path, str] = {}
    if quote_in is not None:
        sentences = [one.text for one in verdict_of(grids[0])]
        texts[quote_in] = quoted(folder, sentences, quote_in)
    content = report_content(folder, grids)
    texts |= {folder.path / name: text for name, text in pages_of(folder, content).items()}
    try:
        for path, text in texts.items():
            replace_text(path, text)
    except OSError as error:
        raise BadInput(f"{error.filename or folder.path}: {error.strerror or error}") from None
    return Report(folder.path / "report.html", content["headline"])


def pages_of(folder: SweepFolder, content: dict[str, Any]) -> dict[str, str]:
    """The three files of a report by their names, from its content."""
    plan = b64encode(as_json(folder.plan).encode()).decode()
    pages = {
        name: _environment().get_template(f"{name}.j2").render(content, plan_in_base64=plan)
        for name in ("report.md", "report.html")
    }
    return {"report.json": json_text(as_document(content), indent=2) + "\n", **pages}


@cache
def _environment() -> jinja2.Environment:
    """The templates, compiled once, since that takes a quarter of the time of a report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.study.report", "templates"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=shown,
    )
    environment.filters |= {
        "unbroken": _unbroken,
        "plain": markdown.text,
        "block": _block,
        "kind": _kind,
    }
    return environment


def _kind(part: Part) -> str:
    return type(part).__name__


def _block(text: str, language: str = "") -> str:
    return markdown.block(text.rstrip().split("\n"), language=language)


def _unbroken(text: str) -> str:
    """Puts no line break between a number and its unit."""
    for joint in (" %", " points", "p = ", "p < "):
        text = text.replace(joint, joint.replace(" ", "\u00a0"))
    return text
