"""Answers as a document for machines and as a page of Markdown with a figure for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

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


def as_markdown(found: Sequence[Found], *, command: str) -> str:
    """The page; the figures lie beside it as `phases_NAME.svg`."""
    about = ["# Phase diagrams", _ABOUT, f"Made by `{command}`, version {__version__}."]
    return "\n\n".join([*about, *[part for one in found for part in _section(one)]]) + "\n"


def answer(found: Found) -> str:
    """Where it never happened along the columns, and where most."""
    question, counts = found.question, found.happened
    if not any(counts):
        return f"In none of {with_commas(found.cases * len(counts))} runs."
    columns = question.columns
    across = len(columns.values)
    calm = [name for at, name in enumerate(columns.shown) if not any(counts[at::across])]
    best = counts.index(max(counts))
    where = ", ".join(
        f"{axis.title} {axis.shown[axis.values.index(value)]}"
        for axis, value in zip(_axes(found), question.points[best], strict=True)
        if axis.title
    )
    most = f"Most, {_share(counts[best], found.cases)}, at {where}."
    if not calm:
        return most
    runs = with_commas(found.cases * len(counts) // across * len(calm))
    return f"In none of {runs} runs with {columns.title} {', '.join(calm)}. {most}"


def _section(found: Found) -> Iterator[str]:
    question = found.question
    by = ", ".join(axis.title for axis in _axes(found) if axis.title)
    yield f"## {question.title}"
    yield f"Share of {question.rate_of}. {answer(found)}"
    yield f"![{question.title}: share of cases by {by}](phases_{question.name}.svg)"
    yield f"{question.setting} {with_commas(found.cases)} cases in each cell, seed {found.seed}."
    corner = f"{question.rows.title} ↓, {question.columns.title} →"
    for title, panel in found.panels.items():
        if title:
            yield f"**{title}**"
        rows = found.table(panel, corner, lambda count: _share(count, found.cases))
        lines = [list(rows[0]), *[list(row.values()) for row in rows]]
        head, *body = [f"| {' | '.join(line)} |" for line in lines]
        yield "\n".join([head, "|---" + "|--:" * len(question.columns.shown) + "|", *body])


def _share(count: int, cases: int) -> str:
    low, high = clopper_pearson(count, cases)
    return f"{100 * count / cases:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def _axes(found: Found) -> tuple[Axis, Axis, Axis]:
    return found.question.panels, found.question.rows, found.question.columns


def _axis(axis: Axis) -> dict[str, Any]:
    return {"title": axis.title, "values": list(axis.values), "labels": list(axis.shown)}
