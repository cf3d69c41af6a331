"""A run as one static picture: the offset grid at chosen moments, then the space-time diagram."""

from __future__ import annotations

import textwrap
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TypedDict, Unpack

from sim.diagnose.draw.cells import printable
from sim.diagnose.draw.grid import Grid
from sim.diagnose.draw.looks import letter_width
from sim.diagnose.draw.scene import Case, Scene
from sim.diagnose.draw.shapes import Picture, Text, joined, legend, snippet_of, svg_of
from sim.diagnose.draw.space_time import SpaceTime
from sim.errors import BadInput
from sim.files.extras import install

ROWS_MAX = 60
"""Of more events than that the last ones and the violation are drawn; how many are not is said."""
_WIDTH = 900.0
_HEADING_MAX = 1_000
_PANEL = 330.0
_PANELS_IN_A_ROW = 3


class Options(TypedDict, total=False):
    """How a picture is drawn.

    Attributes:
        title: Goes on top.
        note: Goes below the violation, such as what decided.
        unit: What times count: `ms`, `step`.
        captions: When (ms, or the step) -> what to look at, or an empty text: draws the logs at
            these moments side by side, and nothing else.
        everything: All events, not only those that led to the violation; 60 are drawn.
    """

    title: str
    note: str
    unit: str
    captions: Mapping[int, str] | None
    everything: bool


def svg(case: Case, **options: Unpack[Options]) -> str:
    """A run as an SVG file: the logs at the violation, and what led to it; same run, same bytes.

    Args:
        case: The run, and what to point at.
        options: See `Options`.

    Raises:
        BadInput: A moment of `captions` at which nothing has happened yet, or after the end.
    """
    return svg_of(figure(case, **options), alternative=_alternative(case, options))


def figure_html(case: Case, **options: Unpack[Options]) -> str:
    """The same picture as a piece of HTML without a script, for notebooks, light and dark."""
    return snippet_of(figure(case, **options), alternative=_alternative(case, options))


def png(case: Case, **options: Unpack[Options]) -> bytes:
    """The same picture as a PNG file, at twice the size; needs the extra `report`.

    Raises:
        BadInput: As `svg`; also when matplotlib is not installed.
    """
    try:
        from sim.diagnose.draw.raster import png_of
    except ModuleNotFoundError as error:
        raise BadInput(f"a PNG needs {error.name}: {install('report')}") from None
    return png_of(figure(case, **options))


def _alternative(case: Case, options: Options) -> str:
    what = printable(options.get("title", "")) or "The logs of all replicas"
    return what if case.violation is None else f"{what}. {case.violation.sentence}"


def figure(case: Case, **options: Unpack[Options]) -> Picture:
    """The picture itself, for the arguments see `svg`."""
    violation, unit, captions = case.violation, options.get("unit", ""), options.get("captions")
    if captions:
        heading = _paragraph(options.get("title", ""), "th")
        return joined([*heading, *_moments(case, captions, unit)])
    scene = Scene(case)
    grid = Grid(scene, [scene.frame], room=_WIDTH).picture(scene.frame)
    shown = scene.shown(everything=options.get("everything", False))
    chosen = window(len(shown), place_of(scene.position, shown), ROWS_MAX)
    violated = [] if violation is None else [scene.position]
    diagram = SpaceTime(scene, [shown[each] for each in chosen], violated, unit).picture()
    told = "" if violation is None else f"{violation.invariant}: {violation.sentence}"
    return joined(
        [
            *_paragraph(options.get("title", ""), "th"),
            *_paragraph(told, "ta"),
            *_paragraph(options.get("note", ""), "t"),
            grid,
            legend([grid, diagram], _WIDTH),
            *_paragraph(left_out_in_words(chosen.start, len(shown) - chosen.stop), "tf"),
            diagram,
        ]
    )


def _moments(case: Case, captions: Mapping[int, str], unit: str) -> list[Picture]:
    """The logs at the end of chosen moments side by side; nothing is pointed at."""
    events = case.events
    first, last = (max(events[0][0], 1), events[-1][0]) if events else (1, 0)
    wrong = [moment for moment in sorted(captions) if not min(first, 1) <= moment <= last]
    if wrong:
        raise BadInput(f"step {wrong[0]}: the story has steps {first} to {last}")
    positions = [bisect_right(events, moment, key=itemgetter(0)) - 1 for moment in captions]
    scene = Scene(replace(case, violation=None), case.violation, position=positions[-1])
    frames = [scene.case.logs.frame(position) for position in positions]
    grid = Grid(scene, frames, room=_PANEL)
    numbered = [
        f"{number}. {text}" if text else f"{unit or 'at'} {at}"
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
    """Which of the shown positions is this one, or the last one before it."""
    return max(bisect_right(shown, position) - 1, 0)


def window(count: int, focus: int, most: int | None) -> range:
    """Which of `count` things to show where there is room for `most`: the last, `focus` with them.

    What comes after `focus` goes first where it lies so far back, but for a quarter.
    """
    if most is None or count <= most:
        return range(count)
    start = min(count - most, max(focus - most * 3 // 4, 0))
    return range(start, start + most)


def left_out_in_words(earlier: int, later: int) -> str:
    """How many events are not shown before and after those that are; empty = none."""
    sides = {"earlier": earlier, "later": later}
    parts = " and ".join([f"{number} {which}" for which, number in sides.items() if number])
    return f"{parts} event{'' if earlier + later == 1 else 's'} left out" if parts else ""


def _paragraph(text: str, look: str, width: float = _WIDTH) -> list[Picture]:
    """A text in as many lines as it takes; nothing if it is empty."""
    letters = int(width / letter_width(look))
    lines = textwrap.wrap(printable(text, longest=_HEADING_MAX), letters)
    if not lines:
        return []
    size = letter_width(look) * 2.6
    shapes = tuple(Text(0, 12 + number * size, line, look) for number, line in enumerate(lines))
    return [Picture(max(one.width for one in shapes), shapes[-1].y, shapes)]
