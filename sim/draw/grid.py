"""The offset grid: replicas by offsets, at one moment."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sim.draw.cells import Cell, printable
from sim.draw.frames import Frame, Lane
from sim.draw.scene import Room, Scene, has_a_place
from sim.draw.shapes import Path, Picture, Rect, Shape, Text, bracket, fitting, sign, text_width

_ROW = 36.0
_STEP = _ROW + 9
_HEAD = 20.0
_NARROWEST = 40.0
_WIDEST = 104.0
_NAME = 130.0
_LEFT_OUT = 16.0
_BORDER = 17.0
"""Between two columns, where the marks of a log are."""
_CAPTION_LETTERS = 42
_CAPTION_LINE = 17.0


class _Column(NamedTuple):
    offset: int
    x: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class Grid:
    """Draws frames of one run, all with the same columns.

    Args:
        scene: What it is about.
        frames: One moment each.
        room: About as wide may the offsets be, in pixels; there is one at least.
    """

    def __init__(self, scene: Scene, frames: Sequence[Frame], *, room: float) -> None:
        self._scene = scene
        self._frames = frames
        names = [_name_width(lane) for frame in frames for lane in frame.lanes]
        widths = scene.columns(Room(self._width, room, _BORDER, _LEFT_OUT))
        self._columns: list[_Column] = []
        x, before = max([*names, text_width("committed", "tf")]) + 8 + _BORDER, -1
        for offset, width in widths.items():
            x += _LEFT_OUT if offset - before > 1 else 0
            self._columns.append(_Column(offset, x, width))
            x, before = x + width + _BORDER, offset
        self._right = x

    def panels(self, captions: Sequence[str]) -> list[Picture]:
        """Each moment below its caption."""
        wrapped = [textwrap.wrap(caption, _CAPTION_LETTERS) for caption in captions]
        most = max(map(len, wrapped))
        return [
            self._picture(frame, [*lines, *[""] * (most - len(lines))])
            for frame, lines in zip(self._frames, wrapped, strict=True)
        ]

    def picture(self) -> Picture:
        """The one moment, with a frame around the violated offset, and the marks as numbers."""
        (frame,) = self._frames
        whole = self._picture(frame, [])
        top = _HEAD + _STEP
        tails = [
            Text(self._right, top + number * _STEP + _ROW / 2 + 4, lane.marks, "tf")
            for number, lane in enumerate(frame.lanes)
        ]
        width = max([whole.width, *[self._right + tail.width for tail in tails]])
        return Picture(width, whole.height, (*whole.shapes, *tails, *self._pointed(frame, top)))

    def _picture(self, frame: Frame, lines: Sequence[str]) -> Picture:
        captions = [
            Text(0, 12 + number * _CAPTION_LINE, line, "tb") for number, line in enumerate(lines)
        ]
        top = len(lines) * _CAPTION_LINE + (6 if lines else 0) + _HEAD
        cells = {one.offset: self._scene.column(one.offset, frame) for one in self._columns}
        shapes: list[Shape] = [*captions, *self._numbers(top - 6)]
        shapes.append(Text(0, top + _ROW / 2 + 4, "committed", "tf"))
        shapes += self._row(cells, 0, top)
        y = top + _STEP
        shapes.append(Path(((0, y - 4.5), (self._right, y - 4.5)), "rule"))
        over: list[Shape] = []
        for number, lane in enumerate(frame.lanes, start=1):
            shapes += self._name(lane, y)
            shapes += self._row(cells, number, y)
            over += self._marks(lane, y)
            y += _STEP
        width = max([self._right, *[caption.width for caption in captions]])
        return Picture(width, y, (*shapes, *over))

    def _width(self, offset: int) -> float:
        cells = [cell for frame in self._frames for cell in self._scene.column(offset, frame)]
        widest = max(
            max(text_width(cell.text, "tm"), text_width(cell.small, "ts")) + _beside(cell)
            for cell in cells
        )
        return min(max(widest + 8, _NARROWEST), _WIDEST)

    def _numbers(self, y: float) -> Iterable[Shape]:
        """The offsets, and where some are left out."""
        before = -1
        for column in self._columns:
            if column.offset - before > 1:
                x = column.x - (_BORDER + _LEFT_OUT) / 2
                yield Text(x, y, "…", "tf", "middle")
            yield Text(column.middle, y, str(column.offset), "tf", "middle")
            before = column.offset

    def _name(self, lane: Lane, y: float) -> Iterable[Shape]:
        violation, does = self._scene.case.violation, lane.role
        concerned = violation is not None and violation.replica == lane.name
        name = fitting(printable(lane.name), "tb", _NAME)
        yield Text(0, y + (15 if does else _ROW / 2 + 4), name, "ta" if concerned else "tb")
        if does:
            yield Text(0, y + 28, fitting(does, "te", _NAME), "te")

    def _row(self, cells: Mapping[int, Sequence[Cell]], row: int, y: float) -> Iterable[Shape]:
        for column in self._columns:
            yield from _box(column, cells[column.offset][row], y)

    def _pointed(self, frame: Frame, top: float) -> Iterable[Shape]:
        """A frame around the violated offset, at its replica or over all of them; a pointer."""
        violation = self._scene.case.violation
        column = next((one for one in self._columns if one.offset == self._scene.subject), None)
        if violation is None or column is None or not has_a_place(violation):
            return
        names = [lane.name for lane in frame.lanes]
        first, count = 0, len(names)
        if violation.replica in names:
            first, count = names.index(violation.replica), 1
        y, height = top + first * _STEP - 2, count * _STEP - (_STEP - _ROW) + 4
        yield Rect(column.x - 2, y, column.width + 4, height, "violated", 5)
        yield sign("pointer", column.middle, 0)

    def _marks(self, lane: Lane, y: float) -> Iterable[Shape]:
        """High watermark, last stable offset, log end and start, clean point, where columns are."""
        transactional = lane.last_stable_offset != lane.high_watermark
        end, start = self._border(lane.log_end_offset), self._border(lane.log_start_offset or None)
        clean = self._border(lane.clean_point or None)
        if end is not None:
            yield bracket(end - 6, end - 3, y + 2, _ROW - 4)
        if start is not None:
            yield bracket(start + 6, start + 3, y + 2, _ROW - 4)
        if clean is not None:
            yield sign("clean", clean, y + _ROW + 2)
        stable = lane.last_stable_offset if transactional else None
        for look, offset in (("stable", stable), ("hw", lane.high_watermark)):
            x = self._border(offset)
            if x is not None:
                yield Path(((x, y - 1), (x, y + _ROW + 1)), look)

    def _border(self, offset: int | None) -> float | None:
        """Where the border before an offset is; None = among those left out, or not wanted."""
        for column in self._columns:
            if column.offset == offset:
                return column.x - _BORDER / 2
            if column.offset + 1 == offset:
                return column.x + column.width + _BORDER / 2
        return None


def _name_width(lane: Lane) -> float:
    name, does = printable(lane.name), lane.role
    return min(max(text_width(name, "tb"), text_width(does, "te")), _NAME)


def _beside(cell: Cell) -> float:
    """The room for the sign of a tombstone."""
    return 12 if cell.look[0] == "d" else 0


def _box(column: _Column, cell: Cell, y: float) -> Iterable[Shape]:
    """A cell with its two lines."""
    if cell.look == "beyond" and not cell.small:
        return
    yield Rect(column.x, y, column.width, _ROW, cell.look, 4, f"{cell.words}{cell.more}")
    beside = _beside(cell)
    if beside:
        yield sign("delete", column.x + 8, y + _ROW / 2)
    upper, lower = _LETTERS.get(cell.look, ("tm", "tsi"))
    lines = [
        (fitting(text, look, column.width - beside - 6), look)
        for text, look in ((cell.text, upper), (cell.small, lower))
        if text
    ]
    x = column.middle + beside / 2
    places = (16, 29) if len(lines) == 2 else (_ROW / 2 + 4,)
    for (text, look), down in zip(lines, places, strict=False):
        yield Text(x, y + down, text, look, "middle")


_LETTERS = {"wrong": ("tw", "tws"), "hole": ("ts", "ts"), "beyond": ("ts", "ts")}
_LETTERS["below"] = _LETTERS["beyond"]
