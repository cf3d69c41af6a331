"""What people read first: the `README.md` of a failure, and the page that lists all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from sim.failures.failure import Failure
from sim.foreign import html, markdown
from sim.foreign.markdown import block, text

SHRUNK, SHRUNK_PICTURE = "shrunk.yaml", "shrunk.svg"
FILES = {
    "sentence.txt": "what went wrong, in one line",
    "picture.html": "the run to step through, in any browser, without a network",
    "picture.svg": "what every replica held then, and the messages that led there",
    "strip.txt": "what every replica held then, as text",
    "explanation.txt": "what led there",
    "scenario.yaml": "the scenario, with its seed and its rules; `command.txt` runs it",
    "command.txt": "runs it again, in this folder",
    SHRUNK: "the same failure in as little as can be: a story of a few steps, mostly",
    SHRUNK_PICTURE: "what every replica held in that one",
    "trace.ndjson": "everything that happened, a line of JSON each",
    "failure.json": "the same facts for machines",
}
"""What is in the folder of a failure beside `README.md`.

The page needs the extra `report`; what is shrunk is there where an invariant is violated."""


def readme(failure: Failure, *, command: str, texts: Mapping[str, str]) -> str:
    """The `README.md` of a failure; `texts` are the other files of its folder by name."""
    rules = ", ".join(f"{name}={value}" for name, value in failure.changed_rules.items())
    run, seed = failure.run, failure.header.seed
    rows = {
        "title": text(failure.title),
        "verdict": text(run.verdict + (f" ({run.reason})" if run.reason else "")),
        "cause": text(failure.cause),
        "violated": text(", ".join(dict.fromkeys(one.invariant for one in run.violations))),
        "note": text("; ".join(run.notes)),
        "rules": markdown.code(rules) if rules else "the defaults",
        "seed": "none: a story has no randomness" if seed is None else str(seed),
        "digest": f"`{run.digest}`",
        "found by": markdown.code(failure.made_by) if failure.made_by else "",
    }
    table = [f"| {name} | {value} |" for name, value in rows.items() if value]
    files = [f"- [{name}]({name}): {what}" for name, what in FILES.items() if name in texts]
    parts = [
        f"# {text(failure.id)}",
        text(failure.sentence),
        "\n".join(["| | |", "|---|---|", *table]),
        "Run it again, in this folder:",
        block([f"$ {command}"], language="console"),
        "What every replica held ([to step through](picture.html)):"
        if "picture.html" in texts
        else "What every replica held:",
        "![what every replica held, and the messages that led there](picture.svg)",
        _file(texts["strip.txt"]),
        f"What led there:\n\n{_file(texts['explanation.txt'])}",
        *_shrunk(texts),
        "\n".join(["Files:", "", *files]),
    ]
    return "\n\n".join(parts) + "\n"


def _shrunk(texts: Mapping[str, str]) -> list[str]:
    """The smallest run that fails in the same way, with its picture, if there is one."""
    if SHRUNK not in texts:
        return []
    told = "The same failure in as little as can be:"
    return [told, _file(texts[SHRUNK]), f"![what every replica held in it]({SHRUNK_PICTURE})"]


def _page(document: Mapping[str, Any]) -> str:
    """What to open of a failure: the page if it has one, else the folder."""
    files = document.get("files")
    return "picture.html" if isinstance(files, list) and "picture.html" in files else ""


def _file(content: str) -> str:
    """What a file of text has, as it stands there."""
    return block(content.rstrip().split("\n"), language="text")


def index_page(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """The page that lists failures; `documents` are theirs by the name of the folder."""
    rows = "".join(
        f'<tr><td><a href="{_address(name)}/{_page(document)}">{html.text(name)}</a></td>'
        f"<td>{html.text(document.get('sentence', ''))}</td>"
        f"<td>{html.text(document.get('cause', ''))}</td>"
        f"<td>{html.text(document.get('events', ''))}</td></tr>"
        for name, document in documents.items()
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>Failures</title>'
        "<style>body{font-family:system-ui,sans-serif;margin:1rem;max-width:80rem}"
        "td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;"
        "overflow-wrap:anywhere}</style></head>"
        f"<body><h1>{len(documents)} failures</h1><table><thead><tr><th>failure</th>"
        "<th>what went wrong</th><th>cause</th><th>events</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></body></html>\n"
    )


def _address(name: str) -> str:
    """A folder beside the page, whatever it is called."""
    return quote(name, errors="surrogateescape")
