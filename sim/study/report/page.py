"""The three files of a report: a self-contained HTML page, Markdown and JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import jinja2

from sim.errors import BadInput
from sim.files import markdown
from sim.files.atomic import replace_text
from sim.files.foreign import json_text, shown
from sim.study.causes import add_witnesses, causes_of
from sim.study.causes.witnesses import ToldWitness
from sim.study.report.content import as_document, quoted, report_content
from sim.study.report.grid import Grid
from sim.study.report.parts import Part
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep.folder import as_json


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
    shrink: bool = False,
    told_witness: ToldWitness | None = None,
    quote_in: Path | None = None,
) -> Report:
    """Writes `report.html`, `report.md` and `report.json` into the folder of a finished sweep.

    The same sweeps under the same names give the same bytes.

    Args:
        folder: The sweep.
        grids: The grids of its decisions; the verdict of the first one opens the page.
        shrink: True to make the witnesses of causes that are not in the folder yet.
        told_witness: Takes the progress (`sim.study.causes`).
        quote_in: A Markdown file that quotes the verdict (`quoted`).

    Returns:
        The path of the page, and the sentences that open it.

    Raises:
        BadInput: The folder cannot be written, or `quote_in` has no place for the verdict; then
            no file is changed.
    """
    texts: dict[Path, str] = {}
    if quote_in is not None:
        texts[quote_in] = quoted(folder, (), quote_in)  # no place for it: no witness is made
    causes = add_witnesses(causes_of(folder.path), told=told_witness, kept_only=not shrink)
    content = report_content(folder, grids, causes)
    sentences = [one["text"] for one in content["verdict"][0]["sentences"]]
    if quote_in is not None:
        texts[quote_in] = quoted(folder, sentences, quote_in)
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
