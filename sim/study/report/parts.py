"""Parts of the sections of a page and cells of a grid: everything that a template has to show."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sim.files import markdown
from sim.study.report.grid import RUNS, SEARCH, STORY, UNCLEAN, Finding, Grid
from sim.study.report.hazards import NO_RUN_JUDGED, interval_text
from sim.study.sweep import wording


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


class PagePicture(NamedTuple):
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


Part = Note | Heading | Table | Code | PagePicture | Section


NOT_SEARCHED = "not searched"
Anchors = Mapping[Finding, str]
"""A finding of a search -> the anchor of its schedule on the page."""


def breaks_of(cell: Sequence[Finding]) -> tuple[Finding | None, Finding | None]:
    """The shortest schedules that a cell shows: with clean elections, and with unclean ones.

    The second is None unless it is shorter than the first.
    """
    broken = [one for one in cell if one.unit.kind == SEARCH and one.broken]
    clean, unclean = (
        min(
            (one for one in broken if one.unit.is_clean_search == wanted),
            key=lambda one: one.moves or 0,
            default=None,
        )
        for wanted in (True, False)
    )
    if clean and unclean and (clean.moves or 0) <= (unclean.moves or 0):
        unclean = None
    return clean, unclean


def most_met(cell: Sequence[Finding]) -> list[Finding]:
    """The runs that met a hazard most often, for each environment: under one set of other rules."""
    found: dict[str, Finding] = {}
    for one in cell:
        if one.unit.kind == RUNS:
            found[one.unit.name] = max(found.get(one.unit.name, one), one, key=lambda x: x.runs)
    return list(found.values())


def cell_lines(cell: Sequence[Finding], anchors: Anchors | None, *, searched: bool = True) -> Lines:
    """A cell: the result of searches, the runs of each environment that met it, stories of it.

    Args:
        cell: The findings on one hazard under one alternative.
        anchors: Where the schedules are on the page; None for a cell without links.
        searched: True to say of a hazard that no search judges it.
    """
    lines: list[list[Piece]] = []
    if proven := _proven(cell, anchors or {}):
        lines.append(proven)
    elif searched:
        lines.append([Piece(NOT_SEARCHED)])
    rates = most_met(cell)
    if rates:
        met = any(one.runs for one in rates)
        target = row_name(rates[0].hazard) if anchors is not None and met else ""
        lines.append([Piece(_counts(rates), target)])
    stories = [one.unit.title for one in cell if one.unit.kind == STORY and one.broken]
    if stories:
        pieces = [Piece(name, name if anchors is not None else "") for name in stories]
        lines.append([each for one in pieces for each in (Piece(", "), one)][1:])
    return lines


def _proven(cell: Sequence[Finding], anchors: Anchors) -> list[Piece]:
    """The shortest schedule that breaks a cell, or the number of searches without one.

    Unclean elections are named where they allow a shorter one.
    """
    clean, unclean = breaks_of(cell)
    found = []
    if clean is not None:
        found = [Piece("breaks after "), Piece(f"{clean.moves} moves", anchors.get(clean, ""))]
    elif none := [one for one in cell if one.unit.is_clean_search or _is_held(one)]:
        bounds = [one.bound for one in none if one.bound is not None]
        every = f" of up to {min(bounds)} moves" if bounds else ""
        count = "1 search" if len(none) == 1 else f"{len(none)} searches"
        found = [Piece(f"none in {count}{every}")]
    if unclean is not None:
        moves = Piece(f"{unclean.moves} moves", anchors.get(unclean, ""))
        found += [Piece(", but " if found else "breaks after "), moves, Piece(f" with {UNCLEAN}")]
    return found


def _is_held(found: Finding) -> bool:
    return found.unit.kind == SEARCH and not found.broken


def _counts(rates: Sequence[Finding]) -> str:
    """Runs of each environment, as in `0 and 12 of 1,000`."""
    *_, judged = (wording.count(one.judged) for one in rates)
    if len({one.judged for one in rates}) > 1:
        return ", ".join(f"{wording.count(one.runs)} of {one.judged:,}" for one in rates)
    runs = [wording.count(one.runs) for one in rates]
    return f"{' and '.join(filter(None, (', '.join(runs[:-1]), runs[-1])))} of {judged}"


def row_name(hazard: str) -> str:
    """The anchor of a hazard's rates."""
    return "rates-" + re.sub(r"\W+", "-", hazard)


def grid_table(grid: Grid, anchors: Anchors | None = None) -> Table:
    """The grid: a row per hazard that something met, a column per alternative.

    Args:
        grid: The findings.
        anchors: Where the schedules are on the page; None for a grid without links.
    """
    searched = any(unit.kind == SEARCH for unit in grid.units)
    rows: list[list[str | Lines]] = []
    broken = set()
    for at, hazard in enumerate(grid.hazards):
        cells = [grid.cell(hazard, one) for one in grid.alternatives]
        rows.append([hazard, *(cell_lines(one, anchors, searched=searched) for one in cells)])
        broken |= {(at, to) for to, cell in enumerate(cells, 1) if any(x.broken for x in cell)}
    head = ("hazard", *grid.alternatives)
    return Table(head, rows, len(head), frozenset(broken), is_grid=True)


def rates_table(grid: Grid) -> Table | None:
    """The rates behind the grid with their intervals; None where no run met anything.

    Of several environments a row is of the one in which most runs met the hazard.
    """
    rows: list[list[str | Lines]] = []
    for hazard in grid.hazards:
        cells = [most_met(grid.cell(hazard, one)) for one in grid.alternatives]
        environments = [*zip(*cells, strict=True)]
        most = max(environments, key=lambda row: max(one.runs for one in row), default=())
        if any(one.runs for one in most):
            title = Piece(f"{hazard}, {most[0].unit.title}", anchor=row_name(hazard))
            rows.append([[[title]], *map(_rate, most)])
    head = ("runs", *grid.alternatives)
    return Table(head, rows, len(head)) if rows else None


def _rate(found: Finding) -> str:
    """A count of runs with its interval, in as few words as a table has room for."""
    if not found.runs:
        return "0" if found.judged else NO_RUN_JUDGED
    limits = interval_text(found.runs, found.judged).replace(" to ", "\u2013")
    return f"{wording.count(found.runs)} ({limits})"
