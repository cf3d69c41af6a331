"""What people read first: the `README.md` of a failure, and the pages of all and of a log file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from sim.diagnose.draw.looks import variables
from sim.diagnose.failures.failure import EXPLANATION, Failure
from sim.files.foreign import html, markdown
from sim.files.foreign.lines import LONGEST, one_line
from sim.files.foreign.markdown import block, text

FILES = {
    "sentence.txt": "what went wrong, in one line",
    "picture.html": "the run to step through, in any browser, without a network",
    "picture.svg": "what every replica held then, and the messages that led there",
    "strip.txt": "what every replica held then, as text",
    "page.html": "what was expected, what came of it and why, in any browser",
    "explanation.txt": "what led there",
    "scenario.yaml": "the scenario, with its seed and its rules; `command.txt` runs it",
    "log.yaml": "the log file; `command.txt` runs it",
    "log.json": "the log file; `command.txt` runs it",
    "answer.json": "what came of it, with all numbers",
    "command.txt": "runs it again, in this folder",
    "shrunk.yaml": "the same failure in as little as can be: a story of a few steps, mostly",
    "shrunk.svg": "what every replica held in that one",
    "trace.ndjson": "everything that happened, a line of JSON each",
    "failure.json": "the same facts for machines",
}
"""What may be in the folder of a failure beside `README.md`.

`picture.html` needs the extra `report`; what is shrunk is there where an invariant is violated; a
log file has `page.html` and `answer.json`, and neither pictures nor a trace."""
_PAGES = ("picture.html", "page.html")
_STYLE = (
    "body{margin:0 auto;padding:12px 16px 40px;max-width:80rem;background:var(--paper);"
    "color:var(--ink);font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}"
    "h1{font-size:1.15rem}h2{font-size:1.02rem}"
    "a{color:var(--blue)}"
    ".missed{border-left:5px solid var(--alarm);background:var(--alarmband);padding:6px 10px}"
    ".missed strong{color:var(--alarm)}.missed ul{margin:4px 0;padding-left:1.2em}"
    "pre{white-space:pre-wrap;border:1px solid var(--rule);border-radius:6px;padding:8px 10px}"
    "td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0}"
    "td:first-child{min-width:14rem}"
    "@media (max-width:700px){thead{display:none}tr,td{display:block}"
    "tr{border-top:1px solid var(--rule);padding:6px 0}td{padding:0}}"
)


LINES_MAX = 200
"""Of what a file has whole a page shows so many lines."""


class Red(NamedTuple):
    """A file of a suite that is not as expected.

    Attributes:
        file: Its path, as people name it.
        how: `not as expected`, `inconclusive`, `bad input`, `error`.
        lines: What went wrong.
        folder: The name of its folder; empty = it has none.
    """

    file: str
    how: str
    lines: tuple[str, ...]
    folder: str


def first(lines: Sequence[str], file: str) -> list[str]:
    """The first lines of many; a last one says which file of the folder has the others."""
    left = len(lines) - LINES_MAX
    cut = [one_line(line, longest=LONGEST) for line in lines[:LINES_MAX]]
    return [*cut, *([f"and {left:,} lines more: {file}"] if left > 0 else [])]


def readme(failure: Failure, texts: Mapping[str, str]) -> str:
    """The `README.md` of a failure; `texts` are the other files of its folder by name."""
    rows = {
        "title": text(failure.title),
        "file": "" if failure.file is None else text(str(failure.file)),
        "expected": text(failure.expected),
        **failure.rows(),
        "found by": markdown.code(failure.made_by) if failure.made_by else "",
    }
    table = [f"| {name} | {value} |" for name, value in rows.items() if value]
    missed = first(failure.missed, EXPLANATION)
    files = [f"- [{name}]({name}): {what}" for name, what in FILES.items() if name in texts]
    parts = [
        f"# {text(failure.id)}",
        text(failure.sentence),
        "\n".join(["Expectation not met:", "", *(f"- {text(line)}" for line in missed)]),
        "\n".join(["| | |", "|---|---|", *table]),
        "Run it again, in this folder:",
        block([f"$ {failure.command}"], language="console"),
        *failure.shown(texts),
        "\n".join(["Files:", "", *files]),
    ]
    return "\n\n".join(parts) + "\n"


def log_page(
    title: str,
    *,
    missed: Sequence[str],
    why: Sequence[str],
    told: Sequence[str],
    file: Sequence[str],
) -> str:
    """The page about a log file that is not as it expects.

    Args:
        title: Heads the page.
        missed: What was expected, and where it is not so, a line each.
        why: What became of the records concerned, a sentence each.
        told: What came of it, a line each.
        file: The lines of the log file.
    """
    reasons = f"<h2>Why</h2>{_list(why)}" if why else ""
    answer = f"<h2>What came of it</h2><pre>{html.text(chr(10).join(told))}</pre>"
    as_it_stands = f"<h2>The log file</h2><pre>{html.text(chr(10).join(file))}</pre>"
    red = f'<section class="missed"><strong>Expectation not met</strong>{_list(missed)}</section>'
    return _page(title, red + reasons + answer + as_it_stands)


def index_page(
    documents: Mapping[str, Mapping[str, Any]], red: Sequence[Red] = (), *, summary: str = ""
) -> str:
    """The page that lists failures.

    Args:
        documents: Those of the folders that are there, by the name of the folder.
        red: What a suite has just found; other folders are of earlier runs.
        summary: What the suite says of all its files; empty = there was none.
    """
    rows = [
        (
            _link(one.folder, documents.get(one.folder, {}), one.file),
            f"<strong>{html.text(one.how)}</strong>: {_told(one, documents.get(one.folder, {}))}",
            html.text(documents.get(one.folder, {}).get("cause", "")),
        )
        for one in red
    ]
    shown = {one.folder for one in red}
    others = [
        (
            _link(name, document, name),
            html.text(document.get("sentence", "")),
            html.text(document.get("cause", "")),
        )
        for name, document in documents.items()
        if name not in shown
    ]
    if not (red or summary):
        return _page(f"{len(others)} failures", _table(others))
    body = _table(rows)
    if others:
        body += f"<h2>Failures of earlier runs: {len(others)}</h2>{_table(others)}"
    return _page(summary, body)


def _table(rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows of which each cell is HTML already."""
    if not rows:
        return ""
    told = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    heads = "<th>failure</th><th>what went wrong</th><th>cause</th>"
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{told}</tbody></table>"


def _link(folder: str, document: Mapping[str, Any], name: str) -> str:
    """A name that leads to the page of its folder, if it has one, else to the folder."""
    if not folder:
        return html.text(name)
    files = document.get("files")
    page = next((one for one in _PAGES if isinstance(files, list) and one in files), "")
    return f'<a href="{quote(folder, errors="surrogateescape")}/{page}">{html.text(name)}</a>'


def _told(one: Red, document: Mapping[str, Any]) -> str:
    """What went wrong, in lines of HTML; of a violation with its sentence."""
    sentence = str(document.get("sentence", "")) if document.get("invariant") else ""
    return "<br>".join(map(html.text, [*one.lines, *filter(None, [sentence])]))


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{html.text(line)}</li>' for line in lines)}</ul>"


def _page(title: str, body: str) -> str:
    """A page that needs nothing else, in light and dark, wide and narrow."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.text(title)}</title>"
        f"<style>:root{{color-scheme:light dark;{variables()}}}{_STYLE}</style></head>"
        f"<body><h1>{html.text(title)}</h1>{body}</body></html>\n"
    )
