"""The report's three files: one HTML page that needs nothing else, Markdown, and JSON."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.foreign import lines, markdown
from sim.files.foreign.documents import json_text
from sim.study.causes import Causes
from sim.study.causes.witnesses import ToldWitness
from sim.study.report import figures
from sim.study.report.causes import causes_in, pictures
from sim.study.report.content import as_document, report_content
from sim.study.report.parts import Part
from sim.study.report.sections import sections_of
from sim.study.report.shares import rate_of
from sim.study.report.short import short_parts
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
    colours = figures.colours_of(content["rule_sets"])
    drawn = [
        figures.figures_of(own, [*map(rate_of, one.tallies["rule_sets"])], colours)
        for one, own in zip(folder.environments, content["environments"], strict=True)
    ]
    shown = content | {
        "short": short_parts(folder),
        "sample": _sample(content),
        "alarm": _alarm(content["other_weather"]),
        "pictured": _pictured(content),
        "figures": drawn,
        "plan_address": _address(as_json(folder.plan)),
        "sections": [*sections_of(content, drawn, pictures(causes))],
    }
    return {
        "report.json": json_text(as_document(content), indent=2) + "\n",
        **{
            name: _environment().get_template(f"{name}.j2").render(**shown)
            for name in ("report.md", "report.html")
        },
    }


def _sample(content: dict[str, Any]) -> str:
    size = wording.counted(len(content["rule_sets"]), "rule set")
    return (
        f"{content['drawn']}, drawn from {content['seed']}, {size}, "
        f"{wording.count(content['runs'])} runs; every rule set met the same writes and the same "
        "faults at the same times."
    )


def _alarm(pairs: int) -> str:
    if not pairs:
        return ""
    return (
        f"Workload or faults differ in {wording.counted(pairs, 'pair')} of runs: the paired "
        "comparison does not hold for them."
    )


def _pictured(content: dict[str, Any]) -> str:
    """What the figures at the top show."""
    about, rule_sets = content["about"], content["rule_sets"]
    told = (
        f"Runs with any of: {', '.join(about)}." if about else "Runs that violated any invariant."
    )
    if len(rule_sets) == 1:
        return told
    fixes = "fix" in rule_sets[0]["swept"]
    baseline = "the same rules without a fix" if fixes else rule_sets[0]["label"]
    return (
        f"{told} Beside a name is its share; the mark is the difference to {baseline}, case by "
        "case, with its 95 % interval (two-sided, not adjusted)."
    )


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


def _address(plan: str) -> str:
    """The plan as an address that needs no network, for whoever has the page alone."""
    return f"data:application/json;base64,{b64encode(plan.encode()).decode()}"


def _unbroken(text: str) -> str:
    """Keeps a number and what belongs to it on one line."""
    for joint in (" %", " points", "p = ", "p < "):
        text = text.replace(joint, joint.replace(" ", "\u00a0"))
    return text
