"""Answers as a document for machines and as a page of Markdown with a figure for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sim.report.phase_figure import PhasePanel, phase_figure
from sim.studies.phases.question import Axis, Found
from sim.sweeps.stats import clopper_pearson
from sim.sweeps.wording import count as with_commas
from sim.version import __version__

PHASES_FORMAT = "replog-phases/1"
_ABOUT = (
    "The rate of a sweep is the rate of its mix of environments. Here all is held still but the "
    "two or three quantities that decide, and a cell says how often it happened: 0 and all mean "
    "none and all of its cases. Shades are bands: up to 5, 25, 50, 75 and 100 %. In the tables, "
    "brackets hold the exact two-sided 95 % interval of each cell, unadjusted for their number. "
    "The cases of a diagram have the same seeds in every cell."
)


def as_document(found: Iterable[Found]) -> dict[str, Any]:
    """All that was counted, for machines."""
    return {
        "format": PHASES_FORMAT,
        "version": __version__,
        "diagrams": [
            {
                "name": one.question.name,
                "title": one.question.title,
                "rate_of": one.question.rate_of,
                "setting": one.question.setting,
                "cases": one.cases,
                "seed": one.seed,
                "panels": _axis(one.question.panels),
                "rows": _axis(one.question.rows),
                "columns": _axis(one.question.columns),
                "happened": [one.panel(at) for at in range(len(one.question.panels.values))],
            }
            for one in found
        ],
    }


def as_figure(found: Found) -> str:
    """The diagram, as an SVG file."""
    question = found.question
    return phase_figure(
        [PhasePanel(title, found.panel(at)) for at, title in enumerate(_panel_titles(found))],
        cases=found.cases,
        rows=(question.rows.title, question.rows.shown),
        columns=(question.columns.title, question.columns.shown),
    )


def as_markdown(found: Sequence[Found], *, command: str) -> str:
    """The page; the figures lie beside it as `phases_NAME.svg`."""
    lines = ["# Phase diagrams", "", _ABOUT, "", f"Made by `{command}`, version {__version__}.", ""]
    for one in found:
        lines += _section(one)
    return "\n".join(lines)


def answer(found: Found) -> str:
    """Where it never happened along the columns, and where most."""
    columns = found.question.columns
    totals = [
        sum(row[at] for panel in _panels(found) for row in panel)
        for at in range(len(columns.values))
    ]
    runs = found.cases * len(found.question.points) // len(columns.values)
    calm = [at for at, total in enumerate(totals) if total == 0]
    best = max(range(len(found.happened)), key=lambda cell: found.happened[cell])
    most = _cell_text(found.happened[best], found.cases)
    where = ", ".join(
        f"{axis.title} {axis.shown[axis.values.index(value)]}"
        for axis, value in zip(_axes(found), found.question.points[best], strict=True)
        if axis.title
    )
    top = f"Most, {most}, at {where}."
    if not any(found.happened):
        return f"In none of {with_commas(found.cases * len(found.happened))} runs."
    if not calm:
        return top
    names = ", ".join(columns.shown[at] for at in calm)
    none = f"In none of {with_commas(runs * len(calm))} runs with {columns.title} {names}."
    return f"{none} {top}"


def _section(found: Found) -> Iterator[str]:
    question = found.question
    yield f"## {question.title}"
    yield ""
    yield f"Share of {question.rate_of}. {answer(found)}"
    yield ""
    yield f"![{question.title}: share of cases by {_by(found)}](phases_{question.name}.svg)"
    yield ""
    yield f"{question.setting} {with_commas(found.cases)} cases in each cell, seed {found.seed}."
    yield ""
    for at, title in enumerate(_panel_titles(found)):
        if title:
            yield f"**{title}**"
            yield ""
        corner = f"{question.rows.title} ↓, {question.columns.title} →"
        yield f"| {corner} | {' | '.join(question.columns.shown)} |"
        yield "|---" + "|--:" * len(question.columns.shown) + "|"
        for label, row in zip(question.rows.shown, found.panel(at), strict=True):
            cells = " | ".join(_cell_text(count, found.cases) for count in row)
            yield f"| {label} | {cells} |"
        yield ""


def _cell_text(count: int, cases: int) -> str:
    low, high = clopper_pearson(count, cases)
    return f"{100 * count / cases:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _by(found: Found) -> str:
    return ", ".join(axis.title for axis in _axes(found) if axis.title)


def _axes(found: Found) -> tuple[Axis, Axis, Axis]:
    question = found.question
    return question.panels, question.rows, question.columns


def _panels(found: Found) -> list[list[list[int]]]:
    return [found.panel(at) for at in range(len(found.question.panels.values))]


def _panel_titles(found: Found) -> list[str]:
    axis = found.question.panels
    return [f"{axis.title} {label}".strip() for label in axis.shown]


def _axis(axis: Axis) -> dict[str, Any]:
    return {"title": axis.title, "values": list(axis.values), "labels": list(axis.shown)}
