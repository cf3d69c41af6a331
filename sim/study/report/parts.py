"""Parts of which sections of a page are made: all that a template has to show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

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
    """A picture as SVG, empty for none; Markdown has none."""

    svg: str


class Table(NamedTuple):
    """A table; all columns but the first `texts` are aligned to the right.

    Attributes:
        head: Titles of the columns.
        rows: Texts of the cells; a line end in one is a line end.
        texts: So many columns are text.
        broken: Places (row, column) of cells that say that something breaks.
        is_grid: Whether HTML shows each row as a block of its own where the screen is narrow.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    broken: Collection[tuple[int, int]] = ()
    is_grid: bool = False

    @property
    def markdown(self) -> str:
        """The table in Markdown."""
        rule = ["---" if place < self.texts else "--:" for place in range(len(self.head))]
        rows = [
            ["<br>".join(map(markdown.text, cell.split("\n"))) for cell in row]
            for row in (self.head, *self.rows)
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


class Section(NamedTuple):
    """Parts under a title, folded."""

    title: str
    parts: Sequence[Part]


Part = Note | Heading | Table | Code | Picture | Section
