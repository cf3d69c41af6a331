"""The report's three files: one HTML page that needs nothing else, Markdown, and JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2

from sim.errors import BadInput
from sim.files.atomic import replace_text
from sim.files.foreign import lines, markdown
from sim.files.foreign.documents import json_text
from sim.study.causes import Causes, add_witnesses, causes_of
from sim.study.causes.witnesses import ToldWitness
from sim.study.report.content import as_document, quoted, report_content
from sim.study.report.grid import Grid
from sim.study.report.parts import Part
from sim.study.report.sweep_folder import SweepFolder
from sim.study.sweep.folder import as_json


def write_report(
    folder: SweepFolder,
    grids: Sequence[Grid],
    *,
    shrink: bool = False,
    told_witness: ToldWitness | None = None,
    quote_in: Path | None = None,
) -> Path:
    """Writes `report.html`, `report.md` and `report.json` into the folder of a finished sweep.

    The same sweeps under the same names give the same bytes.

    Args:
        folder: The sweep.
        grids: Its decisions; the first one's verdict opens the page.
        shrink: Make the witnesses of causes that are not in the folder yet.
        told_witness: Takes the progress (`sim.study.causes`).
        quote_in: A Markdown file that quotes the verdict (`quoted`).

    Returns:
        The path of the page.

    Raises:
        BadInput: The folder cannot be written, or `quote_in` has no place for the verdict; then
            nothing is.
    """
    texts: dict[Path, str] = {}
    if quote_in is not None:
        texts[quote_in] = quoted(folder, grids[0], quote_in)
    causes = add_witnesses(causes_of(folder.path), told=told_witness, kept_only=not shrink)
    written = report_texts(folder, grids, causes)
    texts |= {folder.path / name: text for name, text in written.items()}
    try:
        for path, text in texts.items():
            replace_text(path, text)
    except OSError as error:
        raise BadInput(f"{error.filename or folder.path}: {error.strerror or error}") from None
    return folder.path / "report.html"


def report_texts(folder: SweepFolder, grids: Sequence[Grid], causes: Causes) -> dict[str, str]:
    """The three files of a report by their names."""
    content = report_content(folder, grids, causes)
    plan = b64encode(as_json(folder.plan).encode()).decode()
    pages = {
        name: _environment().get_template(f"{name}.j2").render(content, plan_in_base64=plan)
        for name in ("report.md", "report.html")
    }
    return {"report.json": json_text(as_document(content), indent=2) + "\n", **pages}


@cache
def _environment() -> jinja2.Environment:
    """The templates, compiled once: that is a quarter of the time of a report."""
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


def _unbroken(text: str) -> str:
    """Keeps a number and what belongs to it on one line."""
    for joint in (" %", " points", "p = ", "p < "):
        text = text.replace(joint, joint.replace(" ", "\u00a0"))
    return text
