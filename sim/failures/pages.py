"""What people read first: the `README.md` of a failure, and the page that lists all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from sim.failures.failure import Failure

FILES = {
    "sentence.txt": "what went wrong, in one line",
    "strip.txt": "what every replica held then, as text",
    "explanation.txt": "what led there",
    "scenario.yaml": "the scenario, with its seed and its rules; `command.txt` runs it",
    "command.txt": "runs it again, in this folder",
    "trace.ndjson": "everything that happened, a line of JSON each",
    "failure.json": "the same facts for machines",
}
"""What is in the folder of a failure beside `README.md`."""


def readme(failure: Failure, *, command: str, explanation: Sequence[str], strip: str) -> str:
    """The `README.md` of a failure."""
    rules = ", ".join(f"{name}={value}" for name, value in failure.changed_rules.items())
    seed = failure.header.seed
    rows = {
        "title": failure.title,
        "verdict": failure.verdict + (f" ({failure.reason})" if failure.reason else ""),
        "cause": failure.cause,
        "violated": ", ".join(dict.fromkeys(one.invariant for one in failure.violations)),
        "rules": f"`{rules}`" if rules else "the defaults",
        "seed": "none: a story has no randomness" if seed is None else str(seed),
        "digest": f"`{failure.digest}`",
        "found by": f"`{failure.made_by}`" if failure.made_by else "",
    }
    table = [f"| {name} | {_cell(value)} |" for name, value in rows.items() if value]
    files = [f"- [{name}]({name}): {what}" for name, what in FILES.items()]
    parts = [
        f"# {failure.id}",
        failure.sentence,
        "\n".join(["| | |", "|---|---|", *table]),
        "Run it again, in this folder:",
        f"```console\n$ {command}\n```",
        f"What every replica held:\n\n{_block(strip)}",
        f"What led there:\n\n{_block(chr(10).join(explanation))}",
        "\n".join(["Files:", "", *files]),
    ]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _block(text: str) -> str:
    """Text as it stands; a fence in it does not end the block."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"


def index_page(documents: Mapping[str, Mapping[str, Any]]) -> str:
    """The page that lists failures; `documents` are theirs by the name of the folder."""
    rows = "".join(
        f'<tr><td><a href="{escape(name)}/">{escape(name)}</a></td>'
        f"<td>{escape(str(document.get('sentence', '')))}</td>"
        f"<td>{escape(str(document.get('cause', '')))}</td>"
        f"<td>{escape(str(document.get('events', '')))}</td></tr>"
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
