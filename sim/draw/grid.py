"""The offset grid: replicas by offsets, at one moment."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from sim.check import Violation
from sim.draw.cells import Cell, Cells
from sim.draw.columns import end_of, has_a_place, subject_of, weighted
from sim.draw.frames import Frame, Lane
from sim.draw.looks import letter_width
from sim.draw.shapes import Path, Picture, Rect, Shape, Text, fitting
from sim.draw.words import Words, marks, printable

ROW = 36.0
GAP = 8.0
_HEAD = 20.0
_NARROWEST = 40.0
_WIDEST = 104.0
_LEFT_OUT = 16.0
_BORDER = 9.0
_ALL = 60
"""Of longer logs only a part is looked at."""
_CAPTION_LETTERS = 42
_CAPTION_LINE = 17.0


class _Column(NamedTuple):
    offset: int
    x: float
    width: float


class Grid:
    """Draws frames of one run.

    Args:
        cells: Of the run.
        words: Of the run.
        violation: What to point at; None = nothing.
        room: About as wide may the offsets be, in pixels; there is one at least.
    """

    def __init__(
        self, cells: Cells, words: Words, violation: Violation | None, *, room: float = 700
    ) -> None:
        self._cells = cells
        self._words = words
        self._violation = violation
        self._room = room

    def panels(self, frames: Sequence[Frame], captions: Sequence[str]) -> list[Picture]:
        """Several moments, each below its caption, all with the same columns."""
        wrapped = [textwrap.wrap(caption, _CAPTION_LETTERS) for caption in captions]
        most = max(map(len, wrapped))
        columns = self._columns(frames)
        return [
            self._picture(frame, columns, [*lines, *[""] * (most - len(lines))], numbers=False)
            for frame, lines in zip(frames, wrapped, strict=True)
        ]

    def picture(self, frame: Frame) -> Picture:
        """One moment, with a frame around the violated offset, and the marks as numbers, too."""
        return self._picture(frame, self._columns([frame]), [], numbers=True)

    def _picture(
        self, frame: Frame, columns: Sequence[_Column], lines: Sequence[str], *, numbers: bool
    ) -> Picture:
        violation = self._violation
        subject = subject_of(frame, self._words, violation)
        right = columns[-1].x + columns[-1].width if columns else 120.0
        tails = [marks(lane) for lane in frame.lanes] if numbers else []
        width = right + 14 + max([len(tail) for tail in tails], default=0) * letter_width("tf")
        width = max([width, *[len(line) * letter_width("tb") for line in lines]])
        shapes: list[Shape] = [
            Text(0, 12 + number * _CAPTION_LINE, line, "tb")
            for number, line in enumerate(lines)
            if line
        ]
        top = len(lines) * _CAPTION_LINE + (6 if lines else 0) + _HEAD
        for column in columns:
            x = column.x + column.width / 2
            shapes.append(Text(x, top - 6, str(column.offset), "tf", "middle"))
        for before, after in pairwise([-1, *[column.offset for column in columns]]):
            if after - before > 1:
                x = next(one.x for one in columns if one.offset == after)
                shapes.append(Text(x - _LEFT_OUT / 2 - 2, top - 6, "…", "tf", "middle"))
        truth = [self._cells.committed_at(column.offset, frame) for column in columns]
        shapes += [Text(0, top + ROW / 2 + 4, "committed", "tf")]
        shapes += _row(columns, truth, top)
        y = top + ROW + GAP
        shapes.append(Path(((0, y - GAP / 2), (right, y - GAP / 2)), "rule"))
        over: list[Shape] = []
        for number, lane in enumerate(frame.lanes):
            concerned = numbers and violation is not None and violation.replica == lane.name
            shapes += self._lane(lane, frame, columns, y, concerned=concerned)
            over += _marks(lane, columns, y)
            if numbers:
                shapes.append(Text(right + 14, y + ROW / 2 + 4, tails[number], "tf"))
            y += ROW + GAP
        if numbers and violation is not None and subject is not None:
            shapes += self._pointer(frame, columns, subject, top + ROW + GAP)
        return Picture(width, y, (*shapes, *over))

    def _name_width(self, lane: Lane) -> float:
        name, role = printable(lane.name), _role(lane)
        widths = (len(name) * letter_width("tb"), len(role) * letter_width("te"))
        return min(max(*widths, 9 * letter_width("tf")), 130)

    def _columns(self, frames: Sequence[Frame]) -> list[_Column]:
        """Those that there is room for, in order of offsets; the last frame says what matters."""
        last = frames[-1]
        subject = subject_of(last, self._words, self._violation)
        widths: dict[int, float] = {}
        chosen: dict[int, float] = {}
        everything = range(end_of(last, subject))
        if len(everything) <= _ALL:
            widths = {offset: self._width(frames, offset) for offset in everything}
        if widths and sum(widths.values()) <= self._room:
            chosen = widths
        else:
            for offset in weighted(last, self._words, self._violation, subject):
                if offset not in chosen:
                    width = self._width(frames, offset)
                    if chosen and sum(chosen.values()) + width > self._room:
                        break
                    chosen[offset] = width
        names = [self._name_width(lane) for frame in frames for lane in frame.lanes]
        columns, x, before = [], max(names, default=0.0) + 8, -1
        for offset in sorted(chosen):
            x += _LEFT_OUT if offset - before > 1 else 0
            columns.append(_Column(offset, x, chosen[offset]))
            x, before = x + chosen[offset] + _BORDER, offset
        return columns

    def _width(self, frames: Sequence[Frame], offset: int) -> float:
        cells = [self._cells.at(lane, offset, frame) for frame in frames for lane in frame.lanes]
        cells += [self._cells.committed_at(offset, frame) for frame in frames]
        widest = max(
            [len(cell.text) * letter_width("tm") for cell in cells]
            + [len(cell.small) * letter_width("ts") for cell in cells]
        )
        return min(max(widest + 8, _NARROWEST), _WIDEST)

    def _lane(
        self, lane: Lane, frame: Frame, columns: Sequence[_Column], y: float, *, concerned: bool
    ) -> Iterable[Shape]:
        name = fitting(printable(lane.name), "tb", 130)
        role = _role(lane)
        if role:
            yield Text(0, y + 15, name, "ta" if concerned else "tb")
            yield Text(0, y + 28, role, "te")
        else:
            yield Text(0, y + ROW / 2 + 4, name, "ta" if concerned else "t")
        cells = [self._cells.at(lane, column.offset, frame) for column in columns]
        yield from _row(columns, cells, y)

    def _pointer(
        self, frame: Frame, columns: Sequence[_Column], subject: int, y: float
    ) -> Iterable[Shape]:
        """A frame around the violated offset: at its replica, or over all of them."""
        assert self._violation is not None
        column = next((one for one in columns if one.offset == subject), None)
        if column is None or not has_a_place(self._violation):
            return
        names = [lane.name for lane in frame.lanes]
        rows = range(len(names))
        if self._violation.replica in names:
            rows = range(
                names.index(self._violation.replica), names.index(self._violation.replica) + 1
            )
        height = len(rows) * (ROW + GAP) - GAP
        top = y + rows[0] * (ROW + GAP)
        x = column.x + column.width / 2
        yield Rect(column.x - 2, top - 2, column.width + 4, height + 4, "violated", 5)
        base = y - ROW - GAP - _HEAD + 2
        yield Path(((x, base + 2), (x - 5, base - 5), (x + 5, base - 5)), "alarm", closed=True)


def _role(lane: Lane) -> str:
    """What a replica is beside its name: `leader, epoch 2`, and whether it is down."""
    parts = []
    if lane.leads is not None:
        parts.append(f"{'leader' if lane.newest else 'old leader'} e{lane.leads}")
    return ", ".join([*parts, *([] if lane.up else ["down"])])


def _row(columns: Sequence[_Column], cells: Sequence[Cell], top: float) -> Iterable[Shape]:
    """A box for each cell with its two lines."""
    for column, cell in zip(columns, cells, strict=True):
        middle = column.x + column.width / 2
        if cell.look == "beyond" and not cell.small:
            continue
        yield Rect(column.x, top, column.width, ROW, cell.look, 4, cell.title)
        upper, lower = ("tw", "tws") if cell.look == "wrong" else ("tm", "tsi")
        if cell.look == "hole":
            upper = lower = "ts"
        elif cell.look in ("beyond", "below"):
            lower = "ts"
        if cell.look.startswith("d"):
            yield Path(((column.x + 3, top + 3), (column.x + 9, top + 9)), "cross")
            yield Path(((column.x + 9, top + 3), (column.x + 3, top + 9)), "cross")
        text = fitting(cell.text, upper, column.width - 6)
        small = fitting(cell.small, lower, column.width - 4)
        if not text or not small:
            base = top + ROW / 2 + 4
            yield Text(middle, base, text or small, upper if text else lower, "middle")
        else:
            yield Text(middle, top + 16, text, upper, "middle")
            yield Text(middle, top + 29, small, lower, "middle")


def _marks(lane: Lane, columns: Sequence[_Column], y: float) -> Iterable[Shape]:
    """Log start, clean point, last stable offset, high watermark and log end, where columns are."""
    if not columns:
        return
    end = _place(columns, lane.log_end_offset)
    if end is not None:
        yield _bracket(end + 1, end + 5, y)
    start = _place(columns, lane.log_start_offset) if lane.log_start_offset else None
    if start is not None:
        yield _bracket(start - 1, start - 5, y)
    clean = _place(columns, lane.clean_point) if lane.clean_point else None
    if clean is not None:
        bottom = y + ROW + 1
        points = ((clean, bottom), (clean - 4, bottom + 6), (clean + 4, bottom + 6))
        yield Path(points, "clean", closed=True)
    stable = _place(columns, lane.last_stable_offset)
    if stable is not None and lane.last_stable_offset != lane.high_watermark:
        yield Path(((stable, y - 3), (stable, y + ROW + 3)), "stable")
    high = _place(columns, lane.high_watermark)
    if high is not None:
        yield Path(((high, y - 3), (high, y + ROW + 3)), "hw")


def _bracket(opening: float, back: float, y: float) -> Path:
    top, bottom = y + 2, y + ROW - 2
    return Path(((opening, top), (back, top), (back, bottom), (opening, bottom)), "end")


def _place(columns: Sequence[_Column], offset: int) -> float | None:
    """Where the border before an offset is; None = among those left out."""
    for column in columns:
        if column.offset == offset:
            return column.x - _BORDER / 2
    last = columns[-1]
    return last.x + last.width + _BORDER / 2 if offset == last.offset + 1 else None


def legend(pictures: Sequence[Picture], width: float) -> Picture:
    """What the signs mean that these pictures have, in as many rows as it takes."""
    looks = {shape.look for picture in pictures for shape in picture.shapes}
    shapes: list[Shape] = []
    x, y, widest = 0.0, 10.0, 0.0
    for look, text in _MEANINGS.items():
        if look not in looks and not (look == "d0" and any(one[0] == "d" for one in looks)):
            continue
        room = 22 + len(text) * letter_width("tf") + 12
        if x and x + room > width:
            x, y = 0.0, y + 18
        shapes += _sample(look, x, y)
        shapes.append(Text(x + 22, y, text, "tf"))
        x += room
        widest = max(widest, x)
    return Picture(widest, y + 6, tuple(shapes))


_MEANINGS = {
    "hw": "high watermark",
    "stable": "last stable offset",
    "end": "log end, log start",
    "clean": "cleaned up to here",
    "hole": "no record, no batch",
    "empty": "batch without records",
    "d0": "tombstone",
    "marker": "control record",
    "below": "below the log start",
    "wrong": "not what was committed",
}


def _sample(look: str, x: float, y: float) -> list[Shape]:
    match look:
        case "hw" | "stable":
            return [Path(((x + 8, y - 10), (x + 8, y + 3)), look)]
        case "end":
            return [Path(((x + 4, y - 9), (x + 8, y - 9), (x + 8, y + 2), (x + 4, y + 2)), "end")]
        case "clean":
            return [Path(((x + 8, y - 6), (x + 4, y), (x + 12, y)), "clean", closed=True)]
        case "d0":
            return [
                Rect(x, y - 9, 16, 12, "d0", 2),
                Path(((x + 2, y - 7), (x + 7, y - 2)), "cross"),
                Path(((x + 7, y - 7), (x + 2, y - 2)), "cross"),
            ]
        case _:
            return [Rect(x, y - 9, 16, 12, look, 2)]
