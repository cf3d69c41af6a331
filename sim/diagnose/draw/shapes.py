"""Pictures as lists of shapes, and as SVG; equal lists give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from sim.diagnose.draw.looks import (
    DARK_IN_NOTEBOOKS,
    LIGHT_IN_NOTEBOOKS,
    LOOKS,
    NOTES,
    both,
    css,
    letter_width,
    meant,
)
from sim.files.foreign import one_line


class Rect(NamedTuple):
    """A box from its upper left corner on, in pixels; `title` is shown where a mouse rests."""

    x: float
    y: float
    width: float
    height: float
    look: str
    radius: float = 0.0
    title: str = ""


class Path(NamedTuple):
    """Straight lines from point to point."""

    points: tuple[tuple[float, float], ...]
    look: str
    closed: bool = False


class Text(NamedTuple):
    """A line of text on its base line; `anchor` is start, middle or end."""

    x: float
    y: float
    text: str
    look: str
    anchor: str = "start"

    @property
    def width(self) -> float:
        """Approximate width in pixels."""
        return text_width(self.text, self.look)


Shape = Rect | Path | Text


class Picture(NamedTuple):
    """Shapes on a sheet, with its size in pixels; the last ones lie on top."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


def text_width(text: str, look: str) -> float:
    """The approximate width of a text, in pixels."""
    return len(text) * letter_width(look)


def moved(shapes: Iterable[Shape], right: float, down: float) -> list[Shape]:
    """Moves shapes to the right and down, in pixels."""
    out: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Path):
            points = tuple((x + right, y + down) for x, y in shape.points)
            out.append(shape._replace(points=points))
        else:
            out.append(shape._replace(x=shape.x + right, y=shape.y + down))
    return out


def joined(pictures: Sequence[Picture], gap: float = 16, *, across: bool = False) -> Picture:
    """Puts pictures below each other, or side by side."""
    shapes: list[Shape] = []
    end = 0.0
    for picture in pictures:
        shapes += moved(picture.shapes, end, 0) if across else moved(picture.shapes, 0, end)
        end += (picture.width if across else picture.height) + gap
    widest = max(picture.width for picture in pictures)
    highest = max(picture.height for picture in pictures)
    width, height = (end - gap, highest) if across else (widest, end - gap)
    return Picture(width, height, tuple(shapes))


def arrow(start: tuple[float, float], end: tuple[float, float], look: str) -> list[Shape]:
    """Draws a line with an arrow head at its end."""
    (x0, y0), (x1, y1) = start, end
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 0.1)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    back = (x1 - 7 * ux, y1 - 7 * uy)
    left, right = (back[0] - 3.4 * uy, back[1] + 3.4 * ux), (back[0] + 3.4 * uy, back[1] - 3.4 * ux)
    return [Path((start, back), look), Path(((x1, y1), left, right), "head", closed=True)]


def fitting(text: str, look: str, room: float) -> str:
    """Shortens a text to a width in pixels, with … at its end."""
    most = max(int(room / letter_width(look)), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def sign(name: str, x: float, y: float) -> Path:
    """Draws a sign around a point."""
    look = LOOKS[name]
    points = tuple((x + right, y + down) for right, down in look.corners)
    return Path(points, name, closed=look.fill is not None)


def bracket(opening: float, back: float, y: float, height: float) -> Path:
    """Draws the bracket of a log end or, mirrored, of a log start."""
    bottom = y + height
    return Path(((opening, y), (back, y), (back, bottom), (opening, bottom)), "end")


def sample(name: str) -> Picture:
    """Draws a sign as a legend shows it."""
    if LOOKS[name].corners:
        shapes: list[Shape] = [sign(name, 9, 7)]
    elif name in ("message", "answer"):
        shapes = arrow((0, 5), (17, 9), name)
    elif name == "end":
        shapes = [bracket(4, 8, 1, 12)]
    else:
        shapes = [Rect(1, 1, 16, 12, name, 2)]
    tombstone = [sign("delete", 6, 7)] if name[:-1] == "d" else []
    return Picture(18, 14, (*shapes, *tombstone))


def legend(pictures: Sequence[Picture], width: float) -> Picture:
    """Draws a legend of the signs in some pictures, in as many rows as it takes."""
    drawn = [shape for picture in pictures for shape in picture.shapes]
    texts = {one.text for one in drawn if isinstance(one, Text) and one.look in _NOTED}
    signs = meant({shape.look for shape in drawn})
    entries = [(sample(name).shapes, meaning) for meaning, name in signs.items()]
    for pattern, meaning in NOTES.items():
        entries += [((), meaning)] * any(re.search(pattern, text) for text in texts)
    shapes: list[Shape] = []
    x, y, widest = 0.0, 0.0, 0.0
    for picture, text in entries:
        left = 22 if picture else 0
        room = left + text_width(text, "tf") + 14
        if x and x + room > width:
            x, y = 0.0, y + 19
        shapes += [*moved(picture, x, y), Text(x + left, y + 11, text, "tf")]
        x += room
        widest = max(widest, x)
    return Picture(widest, y + 16, tuple(shapes))


_NOTED = {"ts", "tsi", "tws", "tf"}


def svg_of(picture: Picture, *, alternative: str) -> str:
    """Writes a picture as an SVG file, light, or dark for readers who prefer that.

    Args:
        picture: Picture to write.
        alternative: Description in a sentence, for screen readers.
    """
    light, dark = css(attrgetter("light")), css(attrgetter("dark"))
    style = f"{light}@media (prefers-color-scheme: dark){{{dark}}}"
    body = inline_of(picture, alternative=alternative, margin=12, style=style, standalone=True)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def snippet_of(picture: Picture, *, alternative: str) -> str:
    """Writes a picture as a piece of HTML without a script; its style applies to it alone."""
    own = ".replog-figure"
    dark = ",".join([f"{where} {own}" for where in DARK_IN_NOTEBOOKS])
    style = (
        f"{own}{{color-scheme:light dark;max-width:100%;overflow-x:auto}}"
        f"{LIGHT_IN_NOTEBOOKS} {own}{{color-scheme:light}}{dark}{{color-scheme:dark}}"
        f"{css(both, f'{own} ')}"
    )
    body = inline_of(picture, alternative=alternative, margin=8, style=style)
    return f'<div class="replog-figure">{body}</div>'


def inline_of(
    picture: Picture,
    *,
    alternative: str,
    margin: float = 0,
    style: str = "",
    standalone: bool = False,
) -> str:
    """Writes a picture as an `svg` element; with a `style` of its own it has a background."""
    width, height = picture.width + 2 * margin, picture.height + 2 * margin
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    namespace = 'xmlns="http://www.w3.org/2000/svg" ' if standalone else ""
    label = quoteattr(one_line(alternative))
    shapes = moved(picture.shapes, margin, margin)
    looks = ""
    if style:
        looks, shapes = f"\n<style>{style}</style>\n", [Rect(0, 0, width, height, "paper"), *shapes]
    opening = f'<svg {namespace}{size} role="img" aria-label={label}>'
    return f"{opening}{looks}{_elements(shapes)}</svg>"


def _elements(shapes: Iterable[Shape]) -> str:
    """Writes shapes as elements; lines of one look share an element, which halves the size."""
    elements: dict[object, list[str]] = {}
    for number, shape in enumerate(shapes):
        if isinstance(shape, Path):
            key = (shape.look, shape.closed)
            lines = elements.pop(key, [f'<path class="{shape.look}" d="', '"/>\n'])
            lines.insert(-1, _line(shape))
            elements[key] = lines
        else:
            elements[number] = [_box(shape) if isinstance(shape, Rect) else _words(shape)]
    return "".join([part for parts in elements.values() for part in parts])


def _box(box: Rect) -> str:
    size = f'width="{_n(box.width)}" height="{_n(box.height)}"'
    corner = f' rx="{_n(box.radius)}"' if box.radius else ""
    inside = f"><title>{escape(one_line(box.title))}</title></rect>" if box.title else "/>"
    return f'<rect class="{box.look}" x="{_n(box.x)}" y="{_n(box.y)}" {size}{corner}{inside}\n'


def _words(text: Text) -> str:
    """Writes a line of text; its dollar signs begin no mathematics in a notebook."""
    place = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    words = escape(one_line(text.text)).replace("$", "<tspan>$</tspan>")
    return f'<text class="{text.look}" x="{_n(text.x)}" y="{_n(text.y)}"{place}>{words}</text>\n'


def _line(path: Path) -> str:
    start, *others = [f"{_n(x)} {_n(y)}" for x, y in path.points]
    return f"M{start}L{' '.join(others)}{'Z' if path.closed else ''}"


def _n(number: float) -> str:
    """Writes a length to a tenth of a pixel, without a trailing zero."""
    return f"{number:.1f}".removesuffix(".0")
