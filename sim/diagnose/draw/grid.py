"""The offset grid: replicas by offsets, at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sim.diagnose.draw.cells import Cell, printable
from sim.diagnose.draw.frames import Frame, Lane
from sim.diagnose.draw.scene import Room, Scene, has_a_place
from sim.diagnose.draw.shapes import (
    Path,
    Picture,
    Rect,
    Shape,
    Text,
    bracket,
    fitting,
    sign,
    text_width,
)

_ROW = 36.0
_STEP = _ROW + 9
_HEAD = 20.0
_NARROWEST = 40.0
_WIDEST = 104.0
_NAME = 130.0
_LEFT_OUT = 16.0
_BORDER = 17.0
"""Between two columns, where the marks of a log are."""
_MIDDLE = _ROW / 2 + 4
"""Base line of a text by itself in a row."""
_LETTERS = {"wrong": ("tw", "tws"), **dict.fromkeys(("hole", "beyond", "below"), ("ts", "ts"))}
"""How the two lines of a cell look, where not as those of a record."""


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
        self._columns: list[_Column] = []
        self._left_out: list[float] = []
        self._borders: dict[int, float] = {}
        names = [_name_width(lane) for frame in frames for lane in frame.lanes]
        x, before = max([*names, text_width("committed", "tf")]) + 8 + _BORDER, -1
        for offset, width in scene.columns(Room(self._width, room, _BORDER, _LEFT_OUT)).items():
            if offset - before > 1:
                self._left_out.append(x - (_BORDER - _LEFT_OUT) / 2)
                x += _LEFT_OUT
            self._columns.append(_Column(offset, x, width))
            self._borders |= {offset: x - _BORDER / 2, offset + 1: x + width + _BORDER / 2}
            x, before = x + width + _BORDER, offset
        self._right = x

    def picture(self, frame: Frame, *, numbers: bool = True) -> Picture:
        """One of the frames, with what is violated pointed at.

        Args:
            frame: What to draw.
            numbers: Whether the marks of each log are told behind it.
        """
        numbered = [(column.middle, str(column.offset)) for column in self._columns]
        heads = [*numbered, *[(x, "…") for x in self._left_out]]
        texts = [Text(x, _HEAD - 6, head, "tf", "middle") for x, head in heads]
        texts.append(Text(0, _HEAD + _MIDDLE, "committed", "tf"))
        below = _HEAD + _STEP - 4.5
        shapes: list[Shape] = [Path(((0, below), (self._right, below)), "rule")]
        places = {lane.name: _HEAD + n * _STEP for n, lane in enumerate(frame.lanes, start=1)}
        columns = [self._scene.column(column.offset, frame) for column in self._columns]
        for y, cells in zip((_HEAD, *places.values()), zip(*columns, strict=True), strict=False):
            for column, cell in zip(self._columns, cells, strict=True):
                shapes += _box(column, cell, y)
        for lane in frame.lanes:
            shapes += [*self._name(lane, places[lane.name]), *self._marks(lane, places[lane.name])]
            if numbers:
                texts.append(Text(self._right, places[lane.name] + _MIDDLE, lane.marks, "tf"))
        ends = [text.x + text.width for text in texts if text.anchor == "start"]
        shapes += [*texts, *self._pointed(places)]
        return Picture(max(self._right, *ends), _HEAD + (len(places) + 1) * _STEP, tuple(shapes))

    def _width(self, offset: int) -> float:
        cells = [cell for frame in self._frames for cell in self._scene.column(offset, frame)]
        widest = max(
            max(text_width(cell.text, "tm"), text_width(cell.small, "ts")) + _beside(cell)
            for cell in cells
        )
        return min(max(widest + 8, _NARROWEST), _WIDEST)

    def _name(self, lane: Lane, y: float) -> Iterable[Shape]:
        violation, does = self._scene.case.violation, lane.role
        concerned = violation is not None and violation.replica == lane.name
        name = fitting(printable(lane.name), "tb", _NAME)
        yield Text(0, y + (15 if does else _MIDDLE), name, "ta" if concerned else "tb")
        if does:
            yield Text(0, y + 28, fitting(does, "te", _NAME), "te")

    def _pointed(self, places: Mapping[str, float]) -> Iterable[Shape]:
        """A frame around the violated offset, at its replica or over all of them; a pointer."""
        violation = self._scene.case.violation
        if violation is None or not has_a_place(violation) or not places:
            return
        own = places.get(violation.replica or "")
        top, bottom = (min(places.values()), max(places.values())) if own is None else (own, own)
        for column in self._columns:
            if column.offset == self._scene.subject:
                height = bottom - top + _ROW + 4
                yield Rect(column.x - 2, top - 2, column.width + 4, height, "violated", 5)
                yield sign("pointer", column.middle, 0)

    def _marks(self, lane: Lane, y: float) -> Iterable[Shape]:
        """High watermark, last stable offset, log end and start, clean point, where columns are."""
        borders, open_ended = self._borders, lane.last_stable_offset != lane.high_watermark
        if lane.log_end_offset in borders:
            x = borders[lane.log_end_offset]
            yield bracket(x - 6, x - 3, y + 2, _ROW - 4)
        if lane.log_start_offset and lane.log_start_offset in borders:
            x = borders[lane.log_start_offset]
            yield bracket(x + 6, x + 3, y + 2, _ROW - 4)
        if lane.clean_point and lane.clean_point in borders:
            yield sign("clean", borders[lane.clean_point], y + _ROW + 2)
        stable = {"stable": lane.last_stable_offset} if open_ended else {}
        for look, offset in (stable | {"hw": lane.high_watermark}).items():
            if offset in borders:
                x = borders[offset]
                yield Path(((x, y - 1), (x, y + _ROW + 1)), look)


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
    looks = _LETTERS.get(cell.look, ("tm", "tsi"))
    lines = [each for each in zip((cell.text, cell.small), looks, strict=True) if each[0]]
    for (text, look), down in zip(lines, (16, 29) if len(lines) == 2 else (_MIDDLE,), strict=True):
        shown = fitting(text, look, column.width - beside - 6)
        yield Text(column.middle + beside / 2, y + down, shown, look, "middle")
