"""Where the letters and the marks of a picture are, measured with the font that draws them."""

from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.font_manager import FontProperties, findfont, get_font

from sim.diagnose.draw.looks import LOOKS
from sim.diagnose.draw.shapes import Path, Picture, Rect, Text


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: "Box") -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def within(self, other: "Box") -> bool:
        across = other.left <= self.left and self.right <= other.right
        return across and other.top <= self.top and self.bottom <= other.bottom


@cache
def measured(text: str, look_name: str) -> tuple[float, float, float]:
    """Width and height of a text, and how much of it is below its base line."""
    look = LOOKS[look_name]
    family = "DejaVu Sans Mono" if look.mono else "DejaVu Sans"
    weight = "bold" if look.bold else "normal"
    font = get_font(findfont(FontProperties(family=family, weight=weight)))
    font.set_size(look.size, 72)
    font.set_text(text, 0)
    width, height = font.get_width_height()
    return width / 64, height / 64, font.get_descent() / 64


def of_text(text: Text) -> Box:
    width, height, below = measured(text.text, text.look)
    left = text.x - {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    return Box(left, text.y + below - height, left + width, text.y + below)


def dots(path: Path) -> list[tuple[float, float]]:
    """Places all along its lines, half a pixel apart."""
    points = (*path.points, path.points[0]) if path.closed else path.points
    found = []
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = int(2 * max(abs(x1 - x0), abs(y1 - y0))) + 2
        found += list(zip(np.linspace(x0, x1, steps), np.linspace(y0, y1, steps), strict=True))
    return found


def covered(picture: Picture) -> list[tuple[str, str]]:
    """Each text that touches another one or a line, with what it touches.

    A text may stand within a box: then all of it does.
    """
    texts = [(one.text, of_text(one)) for one in picture.shapes if isinstance(one, Text)]
    rects = [one for one in picture.shapes if isinstance(one, Rect) and one.look != "alarmband"]
    boxes = [(r.look, Box(r.x, r.y, r.x + r.width, r.y + r.height)) for r in rects]
    paths = [one for one in picture.shapes if isinstance(one, Path)]
    x, y = np.array([(-9, -9), *[each for path in paths for each in dots(path)]]).T
    sheet = Box(-1, -1, picture.width + 12, picture.height + 12)  # the margin is there, too
    found = [(one, two) for (one, box), (two, its) in combinations(texts, 2) if box.overlaps(its)]
    for text, box in texts:
        found += [(text, "the edge")] * (not box.within(sheet))
        found += [(text, look) for look, its in boxes if box.overlaps(its) and not box.within(its)]
        across = (x > box.left - 1) & (x < box.right + 1)
        down = (y > box.top - 1) & (y < box.bottom + 1)
        found += [(text, "a line")] * bool(np.any(across & down))
    return found
