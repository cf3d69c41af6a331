"""What a section of a page is made of; a template shows each kind of part, and knows no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sim.files.foreign import markdown


class Note(NamedTuple):
    """A paragraph."""

    text: str


class Heading(NamedTuple):
    """A heading within a section."""

    text: str


class Table(NamedTuple):
    """A table; all columns but the first `texts` are aligned to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1

    @property
    def markdown(self) -> str:
        """The table in Markdown; a line end within a cell is one there, too."""
        rule = ["---" if place < self.texts else "--:" for place in range(len(self.head))]
        rows = [
            ["<br>".join(map(markdown.text, cell.split("\n"))) for cell in row]
            for row in (self.head, *self.rows)
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


class Code(NamedTuple):
    """A block of code."""

    text: str
    language: str = ""


class Picture(NamedTuple):
    """A figure as SVG, with the text that stands for it in Markdown; empty for nothing there."""

    svg: str
    title: str = ""
    text: str = ""


class Section(NamedTuple):
    """Parts under a title, folded."""

    title: str
    parts: Sequence[Part]


Part = Note | Heading | Table | Code | Picture | Section
