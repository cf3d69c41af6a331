"""Where the letters and the marks of a picture are, measured with the font that draws them."""

from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from matplotlib.font_manager import FontProperties, findfont, get_font

from sim.draw.looks import LOOKS
from sim.draw.shapes import Path, Picture, Rect, Text


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
def _font(mono: bool, bold: bool) -> Any:
    family = "DejaVu Sans Mono" if mono else "DejaVu Sans"
    return get_font(findfont(FontProperties(family=family, weight="bold" if bold else "normal")))


def of_text(text: Text) -> Box:
    look = LOOKS[text.look]
    font = _font(look.mono, look.bold)
    font.set_size(look.size, 72)
    font.set_text(text.text, 0)
    width, height = (each / 64 for each in font.get_width_height())
    shift = {"start": 0.0, "middle": width / 2, "end": width}[text.anchor]
    below = font.get_descent() / 64
    return Box(text.x - shift, text.y + below - height, text.x - shift + width, text.y + below)


def crosses(path: Path, box: Box) -> bool:
    """Whether one of its lines goes through a box."""
    reach = LOOKS[path.look].width / 2 if LOOKS[path.look].stroke else 0.0
    wider = Box(box.left - reach, box.top - reach, box.right + reach, box.bottom + reach)
    points = (*path.points, path.points[0]) if path.closed else path.points
    return any(_crosses(start, end, wider) for start, end in pairwise(points))


def _crosses(start: tuple[float, float], end: tuple[float, float], box: Box) -> bool:
    (x0, y0), (x1, y1) = start, end
    around = Box(min(x0, x1), min(y0, y1), max(x0, x1) + 1e-9, max(y0, y1) + 1e-9)
    if not around.overlaps(box):
        return False
    steps = int(max(abs(x1 - x0), abs(y1 - y0))) + 1
    along = [(x0 + (x1 - x0) * n / steps, y0 + (y1 - y0) * n / steps) for n in range(steps + 1)]
    return any(box.left < x < box.right and box.top < y < box.bottom for x, y in along)


def covered(picture: Picture) -> list[tuple[str, str]]:
    """Each text that touches another one or a mark, with what it touches.

    A text may stand within a box: then all of it does.
    """
    texts = [(one.text, of_text(one)) for one in picture.shapes if isinstance(one, Text)]
    rects = [one for one in picture.shapes if isinstance(one, Rect) and one.look != "alarmband"]
    boxes = [(r.look, Box(r.x, r.y, r.x + r.width, r.y + r.height)) for r in rects]
    lines = [one for one in picture.shapes if isinstance(one, Path)]
    found = []
    for number, (text, box) in enumerate(texts):
        found += [(text, other) for other, its in texts[number + 1 :] if box.overlaps(its)]
        found += [(text, one.look) for one in lines if crosses(one, box)]
        found += [(text, look) for look, its in boxes if box.overlaps(its) and not box.within(its)]
    sheet = Box(-1, -1, picture.width + 12, picture.height + 12)  # the margin is there, too
    return found + [(text, "the edge") for text, box in texts if not box.within(sheet)]
