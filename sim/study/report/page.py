"""The report's three files: one HTML page that needs nothing else, Markdown, and JSON."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.foreign import lines, markdown
from sim.files.foreign.documents import json_text
from sim.study.causes import Causes
from sim.study.causes.witnesses import ToldWitness
from sim.study.report import figures
from sim.study.report.causes import causes_in, pictures
from sim.study.report.comparison import against_text
from sim.study.report.content import as_document, report_content
from sim.study.report.shares import rate_of
from sim.study.report.short import short_table
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep import wording
from sim.study.sweep.folder import as_json


def write_report(
    folder: SweepFolder, *, shrink: bool = False, told_witness: ToldWitness | None = None
) -> Path:
    """Writes `report.html`, `report.md` and `report.json` into the folder of a finished sweep.

    `shrink` makes the witnesses of causes that are not in the folder yet; `told_witness` is
    told how far that is (`sim.study.causes`). Returns the path of the page. The same
    sweeps under the same names give the same bytes.

    Raises BadInput when the folder cannot be written.
    """
    causes = causes_in(folder, shrink=shrink, told_witness=told_witness)
    try:
        for name, text in report_texts(folder, causes).items():
            replace_text(folder.path / name, text)
    except OSError as error:
        raise BadInput(f"{error.filename or folder.path}: {error.strerror or error}") from None
    return folder.path / "report.html"


def report_texts(folder: SweepFolder, causes: Causes) -> dict[str, str]:
    """The three files of a report by their names."""
    content = report_content(folder, causes)
    shown = content | {"report_command": folder.report_command, "short": short_table(folder)}
    colours = figures.colours_of(content["rule_sets"])
    drawn = {
        "figures": [
            _figures(of, one, colours)
            for of, one in zip(folder.environments, content["environments"], strict=True)
        ],
        "pictures": pictures(causes),
    }
    return {
        "report.json": json_text(as_document(content), indent=2) + "\n",
        "report.md": _render("report.md.j2", folder, shown),
        "report.html": _render("report.html.j2", folder, shown | drawn),
    }


def _render(template: str, folder: SweepFolder, content: dict[str, Any]) -> str:
    known = {
        "labels": [entry["label"] for entry in folder.tallies["rule_sets"]],
        "colours": figures.colours_of(folder.plan["rule_sets"]),
        "replay_command": folder.replay_command,
        "folder_name": folder.name,
        "plan_address": _address(as_json(folder.plan)),
        "plan_text": json_text(folder.plan["plan"], indent=2),
    }
    return _environment().get_template(template, globals=known).render(**content)


@cache
def _environment() -> jinja2.Environment:
    """What compiles templates; kept with them, as that is a quarter of the time of a report."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.study.report", "templates"),
        autoescape=jinja2.select_autoescape(["html.j2"]),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lines.shown,
    )
    environment.filters |= {
        "count": wording.count,
        "share": wording.share,
        "number": wording.number,
        "unbroken": _unbroken,
        "against": against_text,
        "plain": markdown.text,
        "code": markdown.code,
        "block": _block,
    }
    environment.globals |= {
        "wording": wording,
        "shade": _shade,
    }
    return environment


def _block(text: str, language: str = "") -> str:
    return markdown.block(text.rstrip().split("\n"), language=language)


def _address(plan: str) -> str:
    """The plan as an address that needs no network, for whoever has the page alone."""
    return f"data:application/json;base64,{b64encode(plan.encode()).decode()}"


def _shade(runs: int, most: int) -> str:
    """How dark a cell of a table is, in per cent: by the root, so that few runs are seen too."""
    return f"{round(100 * (0.12 + 0.5 * (runs / most) ** 0.5)) if runs else 0}%"


def _unbroken(text: str) -> str:
    """Keeps a number and what belongs to it on one line."""
    for joint in (" %", " points", "p = ", "p < "):
        text = text.replace(joint, joint.replace(" ", "\u00a0"))
    return text


def _figures(
    folder: SweepFolder, environment: dict[str, Any], colours: list[str]
) -> dict[str, Any]:
    """The pictures of one environment."""
    entries = folder.tallies["rule_sets"]
    labels = [entry["label"] for entry in entries]
    rates = figures.rates_figure(labels, [*map(rate_of, entries)], colours)
    drawn = {
        "picture": figures.standings_figure(environment["standings"], colours)
        if len(colours) > 1
        else rates,
        "rates": rates,
    }
    costs = [
        (cost.title, figures.cost_figure(cost, colours), f"cost-{place}")
        for place, cost in enumerate(environment["costs"])
        if any(one.differing for one in cost.rule_sets)
    ]
    place = environment["name"].replace(" ", "-")
    return {
        **{name: _drawn(svg, f"{place}-{name}") for name, svg in drawn.items()},
        "costs": [(title, _drawn(svg, f"{place}-{name}")) for title, svg, name in costs],
    }


def _drawn(svg: str, prefix: str) -> Markup:
    return Markup(figures.own_ids(svg, prefix))  # noqa: S704 - drawn here, nothing was given
