"""The page of HTML that lists all failures of a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from sim.diagnose.draw.looks import variables
from sim.files.foreign import LONGEST, html_text, one_line

_STYLE = (
    "body{margin:0 auto;padding:12px 16px 40px;max-width:80rem;background:var(--paper);"
    "color:var(--ink);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.15rem}h2{font-size:1.02rem}"
    "a{color:var(--blue)}"
    "td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}"
    "td:first-child{min-width:14rem}"
    "@media (max-width:700px){thead{display:none}tr,td{display:block}"
    "tr{border-top:1px solid var(--rule);padding:6px 0}td{padding:0}}"
)


LINES_MAX = 200
"""How many lines of a list or a file a `README.md` shows."""
PAGE = "picture.html"
"""File in the folder of a run that a list links to."""


class Red(NamedTuple):
    """A file of a suite that failed.

    Attributes:
        file: Path of the file, as given to the command.
        how: Kind of failure: `not as expected`, `inconclusive`, `bad input` or `error`.
        lines: Lines about the failure.
        folder: Name of its folder; empty without one.
    """

    file: str
    how: str
    lines: tuple[str, ...]
    folder: str


def first(lines: Sequence[str], file: str) -> list[str]:
    """The first lines of many, and a last one that names the file with the others."""
    left = len(lines) - LINES_MAX
    cut = [one_line(line, longest=LONGEST) for line in lines[:LINES_MAX]]
    return [*cut, *([f"and {left:,} lines more: {file}"] if left > 0 else [])]


def index_page(
    documents: Mapping[str, Mapping[str, Any]], red: Sequence[Red] = (), *, summary: str = ""
) -> str:
    """Writes the page that lists failures.

    Args:
        documents: Name of a folder -> content of its `failure.json`.
        red: Failures that a suite just found; other folders are of earlier runs.
        summary: Summary of the suite; empty without one.
    """
    rows, shown = [], {one.folder for one in red}
    for one in red:
        document = documents.get(one.folder, {})
        sentence = document.get("sentence", "") if document.get("invariant") else ""
        lines = "<br>".join(map(html_text, [*one.lines, *([sentence] if sentence else [])]))
        said = f"<strong>{html_text(one.how)}</strong>: {lines}"
        rows.append(_row(one.folder, document, one.file, said))
    others = [
        _row(name, document, name, html_text(document.get("sentence", "")))
        for name, document in documents.items()
        if name not in shown
    ]
    if not (red or summary):
        return _page(f"{len(others)} failures", _table(others))
    earlier = f"<h2>Failures of earlier runs: {len(others)}</h2>" if others else ""
    return _page(summary, _table(rows) + earlier + _table(others))


def _row(folder: str, document: Mapping[str, Any], name: str, said: str) -> str:
    """Writes a row of the list; the name links to the folder's page, or to the folder."""
    files = document.get("files")
    page = PAGE if isinstance(files, list) and PAGE in files else ""
    place = quote(folder, errors="surrogateescape")
    link = f'<a href="{place}/{page}">{html_text(name)}</a>' if folder else html_text(name)
    cause = html_text(document.get("cause", ""))
    return f"<tr><td>{link}</td><td>{said}</td><td>{cause}</td></tr>"


def _table(rows: Sequence[str]) -> str:
    if not rows:
        return ""
    heads = "<th>failure</th><th>what went wrong</th><th>cause</th>"
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _page(title: str, body: str) -> str:
    """Writes a page with its style inside, for light and dark, wide and narrow screens."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html_text(title)}</title>"
        f"<style>:root{{color-scheme:light dark;{variables()}}}{_STYLE}</style></head>"
        f"<body><h1>{html_text(title)}</h1>{body}</body></html>\n"
    )
