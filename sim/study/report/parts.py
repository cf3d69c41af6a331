"""Parts of which sections of a page are made: everything that a template has to show."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sim.files import markdown


class Piece(NamedTuple):
    """A piece of the text of a cell, which may be a link or the place where one leads.

    Attributes:
        text: The text.
        target: Name of the anchor on the same page to which it is a link; empty for plain text.
        anchor: Name of the anchor that it is; empty for none.
    """

    text: str
    target: str = ""
    anchor: str = ""

    @property
    def markdown(self) -> str:
        """The piece in Markdown."""
        text = markdown.text(self.text)
        text = f"[{text}](#{self.target})" if self.target else text
        before, after = self.text[:1].isspace(), self.text[-1:].isspace()
        text = f"{' ' * before}{text}{' ' * after}"
        return f'<a id="{self.anchor}"></a>{text}' if self.anchor else text


Lines = Sequence[Sequence[Piece]]
"""The lines of a cell, each in pieces."""


def text_of(lines: Lines) -> list[str]:
    """The lines of a cell as plain text."""
    return ["".join(piece.text for piece in line) for line in lines]


class Note(NamedTuple):
    """A paragraph of plain text."""

    text: str


class Heading(NamedTuple):
    """A heading within a section, with the name of its anchor if a link leads there."""

    text: str
    anchor: str = ""


class Code(NamedTuple):
    """A block of code and the language it is in."""

    text: str
    language: str = ""


class Picture(NamedTuple):
    """A picture as SVG, empty for none; Markdown shows no picture.

    Attributes:
        svg: The picture.
        title: Title under which it is folded; empty for a picture in its place.
        caption: Sentence above a folded picture.
    """

    svg: str
    title: str = ""
    caption: str = ""


class Table(NamedTuple):
    """A table, whose columns of numbers are aligned to the right.

    Attributes:
        head: Titles of the columns.
        rows: Cells, each a text with line ends or lines in pieces.
        texts: Number of columns of text, which come first; the others hold numbers.
        broken: Places (row, column) of cells that say that something breaks.
        is_grid: True where HTML shows each row as a block of its own on a narrow screen.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Lines]]
    texts: int = 1
    broken: Collection[tuple[int, int]] = ()
    is_grid: bool = False

    @property
    def cells(self) -> list[list[Lines]]:
        """The rows, each cell as lines in pieces."""
        return [
            [
                [[Piece(line)] for line in cell.split("\n")] if isinstance(cell, str) else cell
                for cell in row
            ]
            for row in self.rows
        ]

    @property
    def markdown(self) -> str:
        """The table in Markdown."""
        rule = ["---" if place < self.texts else "--:" for place in range(len(self.head))]
        rows = [
            ["<br>".join("".join(one.markdown for one in line) for line in cell) for cell in row]
            for row in self.cells
        ]
        head = list(map(markdown.text, self.head))
        return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


class Section(NamedTuple):
    """Parts under a title, folded until a reader opens them."""

    title: str
    parts: Sequence[Part]


Part = Note | Heading | Table | Code | Picture | Section
