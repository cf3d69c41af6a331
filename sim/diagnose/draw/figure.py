"""A run as one static picture: the offset grid at chosen moments, then the space-time diagram."""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple, TypedDict, Unpack

from sim.diagnose.draw.cells import Cell, printable
from sim.diagnose.draw.frames import Frame, Lane
from sim.diagnose.draw.scene import DrawnCase, Room, Scene, has_a_place
from sim.diagnose.draw.shapes import (
    Path,
    Picture,
    Rect,
    Shape,
    Text,
    bracket,
    fitting,
    joined,
    legend,
    letter_width,
    sign,
    snippet_of,
    svg_of,
    text_width,
)
from sim.diagnose.draw.space_time import SpaceTime
from sim.errors import BadInput
from sim.files.shipped import check_extra

ROWS_MAX = 60
"""Most events that are drawn, see `window`; the picture says how many are left out."""
_WIDTH = 900.0
_HEADING_MAX = 1_000
_PANEL = 330.0
_PANELS_IN_A_ROW = 3


class Options(TypedDict, total=False):
    """Options of a picture.

    Attributes:
        title: Title at the top.
        note: Text below the violation, such as the deciding fact.
        captions: Moment (ms, or a step) -> caption, may be empty: draws the logs after all events
            of these moments side by side, and nothing else. The latest one selects the columns.
    """

    title: str
    note: str
    captions: Mapping[int, str] | None


def svg(case: DrawnCase, **options: Unpack[Options]) -> str:
    """Draws a run as an SVG file: the logs at the violation, and what led to it.

    The same run gives the same bytes.

    Args:
        case: The run, and the violation to point at.
        options: See `Options`.

    Raises:
        BadInput: A moment of `captions` below 1, or after the last event.
    """
    return svg_of(figure(case, **options), alternative=_alternative(case, options))


def figure_html(case: DrawnCase, **options: Unpack[Options]) -> str:
    """Draws the same picture as a piece of HTML without a script, for notebooks, light and dark."""
    return snippet_of(figure(case, **options), alternative=_alternative(case, options))


def png(case: DrawnCase, **options: Unpack[Options]) -> bytes:
    """Draws the same picture as a PNG file, at twice the size; needs the extra `report`.

    Raises:
        BadInput: As `svg`; also when matplotlib is not installed.
    """
    check_extra("a PNG needs", "report", "matplotlib")
    from sim.diagnose.draw.raster import png_of

    return png_of(figure(case, **options))


def _alternative(case: DrawnCase, options: Options) -> str:
    what = printable(options.get("title", "")) or "The logs of all replicas"
    return what if case.violation is None else f"{what}. {case.violation.sentence}"


def figure(case: DrawnCase, **options: Unpack[Options]) -> Picture:
    """Draws a run as shapes; for the arguments see `svg`."""
    violation, captions = case.violation, options.get("captions")
    if captions:
        top = _paragraph(options.get("title", ""), "th")
        return joined([*top, *_moments(case, captions)])
    scene = Scene(case)
    grid = OffsetGrid(scene, [scene.frame], room=_WIDTH).picture(scene.frame)
    shown = scene.shown
    chosen = window(len(shown), place_of(scene.position, shown), ROWS_MAX)
    violated = [] if violation is None else [scene.position]
    diagram = SpaceTime(scene, [shown[each] for each in chosen], violated).picture()
    heading = "" if violation is None else f"{violation.invariant}: {violation.sentence}"
    return joined(
        [
            *_paragraph(options.get("title", ""), "th"),
            *_paragraph(heading, "ta"),
            *_paragraph(options.get("note", ""), "t"),
            grid,
            legend([grid, diagram], _WIDTH),
            *_paragraph(left_out_in_words(chosen.start, len(shown) - chosen.stop), "tf"),
            diagram,
        ]
    )


def _moments(case: DrawnCase, captions: Mapping[int, str]) -> list[Picture]:
    """Draws the logs at the end of chosen moments side by side, without a violation."""
    unit, events = case.run.unit, case.run.events
    last = events[-1][0] if events else 0
    wrong = [moment for moment in sorted(captions) if not 1 <= moment <= last]
    if wrong:
        has = "run goes from" if unit == "ms" else "story has steps"
        raise BadInput(f"{unit} {wrong[0]}: the {has} 1 to {last}")
    positions = [bisect_right(events, moment, key=itemgetter(0)) - 1 for moment in captions]
    scene = Scene(
        replace(case, violation=None, whole=True), case.violation, position=max(positions)
    )
    frames = [scene.case.logs.frame(position) for position in positions]
    grid = OffsetGrid(scene, frames, room=_PANEL)
    numbered = [
        f"{number}. {text}" if text else f"{unit} {at}"
        for number, (at, text) in enumerate(captions.items(), start=1)
    ]
    headings = [_paragraph(text, "tb", _PANEL)[0] for text in numbered]
    height = max(heading.height for heading in headings)
    panels = [
        joined([heading._replace(height=height), grid.picture(frame, numbers=False)], 12)
        for heading, frame in zip(headings, frames, strict=True)
    ]
    rows = range(0, len(panels), _PANELS_IN_A_ROW)
    parts = [joined(panels[start : start + _PANELS_IN_A_ROW], 24, across=True) for start in rows]
    return [*parts, legend(panels, max(part.width for part in parts))]


def place_of(position: int, shown: Sequence[int]) -> int:
    """The index of a position among the shown ones, or of the last one before it."""
    return max(bisect_right(shown, position) - 1, 0)


def window(count: int, focus: int, most: int) -> range:
    """Chooses `most` of `count` indices in a row, among them `focus`; all if they are no more.

    A quarter of them come after `focus`: fewer near the end, more near the start.
    """
    if count <= most:
        return range(count)
    start = min(count - most, max(focus - most * 3 // 4, 0))
    return range(start, start + most)


def left_out_in_words(earlier: int, later: int) -> str:
    """The number of events left out before and after the shown ones, in words; empty if none."""
    sides = {"earlier": earlier, "later": later}
    parts = " and ".join([f"{number} {which}" for which, number in sides.items() if number])
    return f"{parts} event{'' if earlier + later == 1 else 's'} left out" if parts else ""


def _paragraph(text: str, look: str, width: float = _WIDTH) -> list[Picture]:
    """Draws a text in as many lines as it takes; nothing for an empty one."""
    letters = int(width / letter_width(look))
    lines = textwrap.wrap(printable(text, longest=_HEADING_MAX), letters)
    if not lines:
        return []
    size = letter_width(look) * 2.6
    shapes = tuple(Text(0, 12 + number * size, line, look) for number, line in enumerate(lines))
    return [Picture(max(one.width for one in shapes), shapes[-1].y, shapes)]


# The offset grid: replicas by offsets, at one moment.

_ROW = 36.0
_STEP = _ROW + 9
_HEAD = 20.0
_NARROWEST = 40.0
_WIDEST = 104.0
_NAME = 130.0
_LEFT_OUT = 16.0
_BORDER = 17.0
"""Space between two columns, for the marks of a log."""
_MIDDLE = _ROW / 2 + 4
"""Base line of the only text in a row."""
_LETTERS = {"wrong": ("tw", "tws"), **dict.fromkeys(("hole", "beyond", "below"), ("ts", "ts"))}
"""Look of a cell -> looks of its two lines, if they differ from those of a record."""


class _Column(NamedTuple):
    offset: int
    x: float
    width: float

    @property
    def middle(self) -> float:
        return self.x + self.width / 2


class OffsetGrid:
    """Draws frames of one run, all with the same columns.

    Args:
        scene: Scene of the run.
        frames: Frames to draw, one for each moment.
        room: Approximate width of all columns in pixels; `Scene.columns` says which are drawn.
    """

    def __init__(self, scene: Scene, frames: Sequence[Frame], *, room: float) -> None:
        self._scene = scene
        self._frames = frames
        self._columns: list[_Column] = []
        self._left_out: list[float] = []
        self._borders: dict[int, float] = {}
        lanes = [lane for frame in frames for lane in frame.lanes]
        names = [text_width(printable(lane.name), "tb") for lane in lanes]
        names += [text_width(lane.role, "te") for lane in lanes]
        widest = max([min(max(names, default=0), _NAME), text_width("committed", "tf")])
        x, before = widest + 8 + _BORDER, -1
        for offset, width in scene.columns(Room(self._width, room, _BORDER, _LEFT_OUT)).items():
            if offset - before > 1:
                self._left_out.append(x - (_BORDER - _LEFT_OUT) / 2)
                x += _LEFT_OUT
            self._columns.append(_Column(offset, x, width))
            self._borders |= {offset: x - _BORDER / 2, offset + 1: x + width + _BORDER / 2}
            x, before = x + width + _BORDER, offset
        self._right = x

    def picture(self, frame: Frame, *, numbers: bool = True) -> Picture:
        """Draws one of the frames and points at the violation.

        Args:
            frame: Frame to draw.
            numbers: True to write the marks of each log behind it, such as `hw 3 end 4`.
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
        """Draws a frame around the violated offset, at its replica or over all, and a pointer."""
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
        """Draws high watermark, last stable offset, log end and start, and clean point."""
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


def _beside(cell: Cell) -> float:
    """The width in pixels of the sign of a tombstone; 0 for another cell."""
    return 12 if cell.look[0] == "d" else 0


def _box(column: _Column, cell: Cell, y: float) -> Iterable[Shape]:
    """Draws a cell with its two lines."""
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
