"""HTML for notebooks: tables and plain text, escaped, in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sim.files.foreign import html_text as shown

_LEFT = 'style="text-align:left;vertical-align:top"'


def shorten(text: str, limit: int) -> str:
    """The text in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """A table of two columns, name and value; rows with an empty value are left out."""
    cells = "".join(
        f"<tr><th {_LEFT}>{shown(name)}</th><td {_LEFT}>{shown(value)}</td></tr>"
        for name, value in rows
        if str(value)
    )
    return f"<table>{cells}</table>"


def grid(head: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """A table with a head; `note` stands below it."""
    top = "".join(f"<th {_LEFT}>{shown(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td {_LEFT}>{shown(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    below = f"<p>{shown(note)}</p>" if note else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{below}"


def plain_text(text: str) -> str:
    """Text with its lines and columns kept; long lines are folded."""
    style = "white-space:pre-wrap;text-align:left;line-height:1.35"
    return f'<pre style="{style}">{shown(text)}</pre>'
