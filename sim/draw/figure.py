"""A run as one static picture: the offset grid at chosen moments, then the space-time diagram."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from sim.check import Violation
from sim.draw.cells import Cells
from sim.draw.columns import about_subject, subject_of
from sim.draw.frames import Events, Frame, Replay, position_of
from sim.draw.grid import Grid, legend
from sim.draw.looks import letter_width
from sim.draw.plain import import_matplotlib
from sim.draw.shapes import Picture, Text, beside, snippet_of, stacked, svg_of
from sim.draw.shown import left_out_in_words, positions_shown, window
from sim.draw.space_time import SpaceTime
from sim.draw.words import Words, printable
from sim.errors import BadInput
from sim.rules import Rules

ROWS_MAX = 60
"""Of more events than that the last ones and the violation are drawn; how many are not is said."""
_WIDTH = 900.0
_HEADING_MAX = 1_000
_PANEL = 250.0
_PANELS_IN_A_ROW = 3


def svg(
    events: Events,
    violation: Violation | None = None,
    *,
    rules: Rules | None = None,
    labels: Mapping[int, str] | None = None,
    title: str = "",
    note: str = "",
    unit: str = "",
    captions: Mapping[int, str] | None = None,
    everything: bool = False,
) -> str:
    """A run as an SVG file: the logs at the violation, and what led to it; same run, same bytes.

    Args:
        events: (when, event) of the run or the story, in order.
        violation: What to point at; None = the end is drawn.
        rules: Of the run: they say which version decides and what marks a tombstone.
        labels: Of a story: uid -> label.
        title: Goes on top.
        note: Goes below the violation, such as what decided.
        unit: What times count: `ms`, `step`.
        captions: When (ms, or the step) -> what to look at, or an empty text: draws the logs at
            these moments side by side, and nothing else.
        everything: All events, not only those that led to the violation; 60 are drawn.

    Raises:
        BadInput: A moment of `captions` at which nothing has happened yet, or after the end.
    """
    picture = _figure(
        events, violation, rules, labels, title, note, unit, captions, everything=everything
    )
    return svg_of(picture, alternative=_alternative(title, violation))


def figure_html(
    events: Events,
    violation: Violation | None = None,
    *,
    rules: Rules | None = None,
    labels: Mapping[int, str] | None = None,
    title: str = "",
    note: str = "",
    unit: str = "",
    captions: Mapping[int, str] | None = None,
    everything: bool = False,
) -> str:
    """The same picture as a piece of HTML without a script, for notebooks, light and dark.

    For the arguments see `svg`.
    """
    picture = _figure(
        events, violation, rules, labels, title, note, unit, captions, everything=everything
    )
    return snippet_of(picture, alternative=_alternative(title, violation))


def png(
    events: Events,
    violation: Violation | None = None,
    *,
    rules: Rules | None = None,
    labels: Mapping[int, str] | None = None,
    title: str = "",
    note: str = "",
    unit: str = "",
    captions: Mapping[int, str] | None = None,
    everything: bool = False,
) -> bytes:
    """The same picture as a PNG file, at twice the size; needs `replog[report]`.

    For the arguments see `svg`.

    Raises:
        BadInput: As `svg`; also when matplotlib is not installed.
    """
    try:
        import_matplotlib()
        from sim.draw.raster import png_of
    except ModuleNotFoundError as error:
        raise BadInput(f"a PNG needs {error.name}: pip install 'replog[report]'") from None
    return png_of(
        _figure(
            events, violation, rules, labels, title, note, unit, captions, everything=everything
        )
    )


def _alternative(title: str, violation: Violation | None) -> str:
    what = printable(title) or "The logs of all replicas"
    return what if violation is None else f"{what}. {violation.sentence}"


def _figure(
    events: Events,
    violation: Violation | None,
    rules: Rules | None,
    labels: Mapping[int, str] | None,
    title: str,
    note: str,
    unit: str,
    captions: Mapping[int, str] | None,
    *,
    everything: bool,
) -> Picture:
    replay = Replay(rules or Rules())
    words = Words(replay, labels, versions=rules is not None)
    cells = Cells(replay, words)
    parts = [_heading(title, "th")] if title else []
    if captions:
        grid = Grid(cells, words, violation, room=_PANEL)
        frames = _at_each(events, replay, captions)
        numbered = [
            f"{number}. {text}" if text else f"{unit or 'at'} {at}"
            for number, (at, text) in enumerate(captions.items(), start=1)
        ]
        panels = grid.panels(frames, numbered)
        rows = range(0, len(panels), _PANELS_IN_A_ROW)
        parts += [beside(panels[start : start + _PANELS_IN_A_ROW]) for start in rows]
        return stacked([*parts, legend(panels, max(part.width for part in parts))])
    position = position_of(events, violation, rules)
    for at, event in events[: position + 1]:
        replay.take(at, event)
    frame = replay.frame()
    if violation is not None:
        parts.append(_heading(f"{violation.invariant}: {violation.sentence}", "ta"))
    if note:
        parts.append(_heading(note, "t"))
    parts.append(Grid(cells, words, violation).picture(frame))
    parts.append(legend(parts[-1:], _WIDTH))
    shown = positions_shown(events, violation, rules=rules, everything=everything)
    place = shown.index(position) if position in shown else len(shown) - 1
    chosen = window(len(shown), place, ROWS_MAX)
    left_out = left_out_in_words(chosen.start, len(shown) - chosen.stop)
    if left_out:
        parts.append(_heading(left_out, "tf"))
    subject = subject_of(frame, words, violation)
    about = about_subject(frame, words, violation, subject)
    diagram = SpaceTime(
        events,
        [shown[each] for each in chosen],
        violation=violation,
        violated_at=None if violation is None else position,
        unit=unit,
        about=about,
    )
    return stacked([*parts, diagram.picture()])


def _at_each(events: Events, replay: Replay, captions: Mapping[int, str]) -> list[Frame]:
    """The frames at the end of each moment, in the order of the captions."""
    first, last = (events[0][0], events[-1][0]) if events else (0, 0)
    for moment in captions:
        if not min(first, 1) <= moment <= last:
            raise BadInput(f"step {moment}: the story has steps {max(first, 1)} to {last}")
    frames: dict[int, Frame] = {}
    position = 0
    for moment in sorted(captions):
        while position < len(events) and events[position][0] <= moment:
            replay.take(*events[position])
            position += 1
        frames[moment] = replay.frame()
    return [frames[moment] for moment in captions]


def _heading(text: str, look: str) -> Picture:
    lines = textwrap.wrap(printable(text, longest=_HEADING_MAX), int(_WIDTH / letter_width(look)))
    size = letter_width(look) * 2.6
    shapes = tuple(Text(0, 12 + number * size, line, look) for number, line in enumerate(lines))
    return Picture(max(one.width for one in shapes), 12 + (len(lines) - 1) * size, shapes)
