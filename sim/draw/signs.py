"""The signs of pictures: how each is drawn, and what it means; a legend of those that there are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from sim.draw.looks import LOOKS
from sim.draw.shapes import Path, Picture, Rect, Shape, Text, arrow, moved, text_width

_ROUND = ((-4, -1.7), (-1.7, -4), (1.7, -4), (4, -1.7), (4, 1.7), (1.7, 4), (-1.7, 4), (-4, 1.7))
_CROSS = ((-5, -5), (5, 5), (0, 0), (-5, 5), (5, -5))
_UPRIGHT = ((0, -7), (0, 7))

OUTLINES: Final[Mapping[str, tuple[tuple[float, float], ...]]] = {
    "append": ((-5, -5), (5, -5), (5, 5), (-5, 5)),
    "election": ((0, -7), (7, 0), (0, 7), (-7, 0)),
    "cleaning": ((-7, 5), (7, 5), (0, -7)),
    "snapshot": ((-6, -5), (6, -5), (6, 5), (-6, 5), (-6, 0), (6, 0), (-6, 0)),
    "other": _ROUND,
    "sent": ((0, -3), (3, 0), (0, 3), (-3, 0)),
    "crash": _CROSS,
    "cut": ((-9, 0), (9, 0)),
    "advance": ((-7, 0), (7, 0)),
    "rest": ((-7, 0), (7, 0)),
    "delete": tuple((x * 0.6, y * 0.6) for x, y in _CROSS),
    "clean": ((0, 0), (-4, 5), (4, 5)),
    "pointer": ((0, 4), (-5, -3), (5, -3)),
    "hw": _UPRIGHT,
    "stable": _UPRIGHT,
    "fault": _UPRIGHT,
    "down": _UPRIGHT,
}
"""Sign -> its corners around the middle, in pixels; what has an inside is closed."""

MEANINGS: Final[Mapping[str, str]] = {
    "violated": "violated here",
    "pointer": "the violated offset",
    "wrong": "≠ not what was committed",
    "hw": "high watermark",
    "stable": "last stable offset",
    "end": "log end, log start",
    "clean": "cleaned up to here",
    "k0": "a record, each key has its colour",
    "d0": "tombstone",
    "marker": "control record",
    "empty": "batch without records",
    "hole": "no record, no batch",
    "below": "below the log start",
    "beyond": "beyond the log end",
    "band0": "leads; e1: its epoch",
    "message": "what was copied or read",
    "answer": "position, snapshot or election",
    "sent": "sender",
    "append": "append",
    "election": "elected",
    "cleaning": "cleaning pass",
    "cut": "truncated",
    "snapshot": "snapshot",
    "advance": "high watermark moves",
    "crash": "crash or fault",
    "fault": "while a fault lasts",
    "down": "down",
    "rest": "at rest",
    "other": "anything else",
    "alarmband": "what showed the violation",
}
"""Sign -> what it means, in the order of a legend."""

NOTES: Final[Mapping[str, str]] = {
    r"\bv-?\d": "v1: version",
    r"\bt-?\d": "t1: timestamp in ms",
    r"\bh-?\d": "h1: delete horizon in ms",
    r"\btx ": "tx 1: transaction of producer 1",
    r"^gap$": "gap: not there on its leader, either",
    r"^…$": "…: columns left out",
}
"""What is written into cells, and what it means."""


def sign(name: str, x: float, y: float) -> Path:
    """A sign around a place."""
    points = tuple((x + right, y + down) for right, down in OUTLINES[name])
    return Path(points, name, closed=LOOKS[name].fill is not None)


def bracket(opening: float, back: float, y: float, height: float) -> Path:
    """A log end or, the other way round, a log start."""
    bottom = y + height
    return Path(((opening, y), (back, y), (back, bottom), (opening, bottom)), "end")


def meant(look: str) -> str:
    """The sign whose meaning a look has: keys, and epochs, differ by colour only."""
    return f"{look[:-1]}0" if look[:-1] in ("k", "d", "band") else look


def sample(name: str) -> Picture:
    """A sign as a legend shows it."""
    if name in OUTLINES:
        shapes: list[Shape] = [sign(name, 9, 7)]
    elif name in ("message", "answer"):
        shapes = arrow((0, 5), (17, 9), name)
    elif name == "end":
        shapes = [bracket(4, 8, 1, 12)]
    else:
        shapes = [Rect(1, 1, 16, 12, name, 2)]
    return Picture(18, 14, tuple(shapes + ([sign("delete", 6, 7)] if name == "d0" else [])))


def legend(pictures: Sequence[Picture], width: float) -> Picture:
    """What the signs mean that these pictures have, in as many rows as it takes."""
    drawn_shapes = [shape for picture in pictures for shape in picture.shapes]
    looks = {meant(shape.look) for shape in drawn_shapes}
    noted = {one.text for one in drawn_shapes if isinstance(one, Text) and one.look in _NOTED}
    entries = [(sample(name).shapes, text) for name, text in MEANINGS.items() if name in looks]
    for pattern, meaning in NOTES.items():
        if any(re.search(pattern, text) for text in noted):
            entries.append(((), meaning))
    shapes: list[Shape] = []
    x, y, widest = 0.0, 0.0, 0.0
    for drawn, text in entries:
        left = 22 if drawn else 0
        room = left + text_width(text, "tf") + 14
        if x and x + room > width:
            x, y = 0.0, y + 19
        shapes += [*moved(drawn, x, y), Text(x + left, y + 11, text, "tf")]
        x += room
        widest = max(widest, x)
    return Picture(widest, y + 16, tuple(shapes))


_NOTED = {"ts", "tsi", "tws", "tf"}
