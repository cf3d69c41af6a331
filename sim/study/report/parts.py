"""Parts of which sections of a page are made: all that a template has to show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sim.files.foreign import markdown


class Note(NamedTuple):
    """A paragraph."""

    text: str


class Heading(NamedTuple):
    """A heading within a section."""

    text: str


class Code(NamedTuple):
    """A block of code."""

    text: str
    language: str = ""


class Picture(NamedTuple):
    """A picture as SVG, empty for none, and the text that stands for it in Markdown."""

    svg: str
    text: str


class Table(NamedTuple):
    """A table; all columns but the first `texts` are aligned to the right.

    Attributes:
        head: Titles of the columns.
        rows: Texts of the cells; a line end in one is a line end.
        texts: So many columns are text.
        ranges: Of each row the low end of an interval, the value and the high end, which HTML draws
            on one axis; None for nothing to draw.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    ranges: Sequence[tuple[float, float, float] | None] = ()

    @property
    def markdown(self) -> str:
        """The table in Markdown."""
        rule = ["---" if place < self.texts else "--:" for place in range(len(self.head))]
        rows = [
            ["<br>".join(map(markdown.text, cell.split("\n"))) for cell in row]
            for row in (self.head, *self.rows)
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))

    @property
    def drawn(self) -> list[tuple[float, float, float, float] | None]:
        """The ranges and 0 as places from 0 to 100 on the axis that holds all of them."""
        ends = [0.0, *(end for one in self.ranges if one for end in one)]
        span = (max(ends) - min(ends)) or 1.0
        return [
            one and tuple(round(2 + 96 * (end - min(ends)) / span, 2) for end in (*one, 0.0))  # type: ignore[misc]
            for one in self.ranges
        ]


class Section(NamedTuple):
    """Parts under a title, folded."""

    title: str
    parts: Sequence[Part]


Part = Note | Heading | Table | Code | Picture | Section


def as_data(value: Any) -> Any:
    """Parts for JSON: an object of each with its kind, without what is drawn."""
    if isinstance(value, Picture):
        return None
    if isinstance(value, Part):
        fields = {name: as_data(one) for name, one in value._asdict().items()}
        return {"kind": type(value).__name__.lower(), **fields}
    if isinstance(value, (list, tuple)):
        return [as_data(one) for one in value if not isinstance(one, Picture)]
    return value
