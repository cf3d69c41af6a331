"""The files of a report: a page in Markdown, the same as self-contained HTML, and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any, Final

from markdown_it import MarkdownIt

from sim.files.atomic import replace_text
from sim.files.foreign import json_text, one_line
from sim.study.report.claims import verdict_of
from sim.study.report.grid import Comparison, Grid
from sim.study.report.page import headline, page_of
from sim.study.report.schedules import pictures_of, schedules_of
from sim.study.sweep.folder import describe
from sim.study.sweep.table import SweepFolder

REPORT_FORMAT: Final = "replog-report/4"
TEMPLATES: Final = Path(__file__).with_name("templates")


def write_report(folder: SweepFolder, grids: Sequence[Grid]) -> Path:
    """Writes `report.html`, `report.md` and `report.json` into the folder of a finished sweep.

    The same sweeps under the same names give the same bytes.

    Args:
        folder: The sweep.
        grids: The grids of its decisions; the verdict of the first one opens the page.

    Returns:
        The path of the HTML page.

    Raises:
        OSError: The folder cannot be written.
    """
    for name, text in files_of(folder, grids).items():
        replace_text(folder.path / name, text)
    return folder.path / "report.html"


def files_of(folder: SweepFolder, grids: Sequence[Grid]) -> dict[str, str]:
    """The texts of the three files of a report by their names."""
    page = page_of(folder, grids)
    pictures = pictures_of(schedules_of(grids[0]))
    return {
        "report.json": json_text(document_of(folder, grids), indent=2) + "\n",
        "report.md": page,
        "report.html": as_html(page, title=folder.sweep.plan.title, pictures=pictures),
    }


def document_of(folder: SweepFolder, grids: Sequence[Grid]) -> dict[str, Any]:
    """The content of `report.json`: each decision with its sentences and findings, every count."""
    return {
        **describe(folder.sweep, plan_file=folder.made.plan_file),
        "package_version": folder.made.package_version,
        "revision": folder.made.revision,
        "plugins": folder.made.plugins,
        "format": REPORT_FORMAT,
        "headline": headline(folder, grids[0]),
        "verdict": [
            {
                "decision": grid.decision.name,
                "alternatives": grid.alternatives,
                "sentences": [
                    {"text": one.text, "claims": [*map(_claim, one.claims)]}
                    for one in verdict_of(grid)
                ],
                "findings": [one.as_row() for one in grid.findings],
            }
            for grid in grids
        ],
        "statistics": folder.statistics,
        "commands": folder.commands,
    }


def _claim(one: Comparison) -> dict[str, Any]:
    about = {"hazard": one.hazard, "units": [one.unit]}
    return about | {"breaks": one.breaking, "holds": one.holding}


_STYLE = re.compile("<style>.*?</style>", re.DOTALL)


def as_html(page: str, *, title: str, pictures: Mapping[str, str]) -> str:
    """Converts a page of Markdown to one of HTML that needs no other file.

    Args:
        page: The page, in which all text of others is escaped (`sim.files.markdown`).
        title: Title of the document.
        pictures: HTML by the comment whose place it takes; styles go to the top, once.
    """
    reader = MarkdownIt("commonmark").enable("table")
    tokens = reader.parse(page)
    head: list[str] = []
    column = 0
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "thead_open":
            head = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open" and following is not None:
            head.append("".join(one.content for one in following.children or ()))
        elif token.type == "td_open":  # a narrow screen shows it beside the cell
            token.attrSet("data-label", head[column])
            column += 1
    body = str(reader.renderer.render(tokens, reader.options, {}))
    body = body.replace("<table>", '<div class="wide" tabindex="0"><table>')
    body = body.replace("</table>", "</table></div>")
    styles = dict.fromkeys(style for one in pictures.values() for style in _STYLE.findall(one))
    for place, picture in pictures.items():
        drawn = f'<div class="wide" tabindex="0">{_STYLE.sub("", picture)}</div>'
        body = body.replace(place, drawn)
    return Template((TEMPLATES / "report.html").read_text(encoding="utf-8")).substitute(
        title=escape(one_line(title)),
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
        styles="\n".join(styles),
        body=body,
    )
