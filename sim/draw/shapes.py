"""A picture as a list of shapes, and these as SVG: the same list always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from sim.draw.looks import DARK_IN_NOTEBOOKS, css, letter_width, measures
from sim.foreign.lines import one_line


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
    """One line of text on its base line; `anchor` is start, middle or end."""

    x: float
    y: float
    text: str
    look: str
    anchor: str = "start"

    @property
    def width(self) -> float:
        """About how wide it is."""
        return text_width(self.text, self.look)


Shape = Rect | Path | Text


class Picture(NamedTuple):
    """Shapes on a sheet of this size, in pixels; the last ones lie on top."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


def text_width(text: str, look: str) -> float:
    """About how wide a text is, in pixels."""
    return len(text) * letter_width(look)


def moved(shapes: Iterable[Shape], right: float, down: float) -> list[Shape]:
    """The same shapes elsewhere."""
    out: list[Shape] = []
    for shape in shapes:
        if isinstance(shape, Path):
            points = tuple((x + right, y + down) for x, y in shape.points)
            out.append(shape._replace(points=points))
        else:
            out.append(shape._replace(x=shape.x + right, y=shape.y + down))
    return out


def stacked(pictures: Sequence[Picture], gap: float = 16) -> Picture:
    """One below the other."""
    shapes: list[Shape] = []
    below = 0.0
    for picture in pictures:
        shapes += moved(picture.shapes, 0, below)
        below += picture.height + gap
    return Picture(max(one.width for one in pictures), below - gap, tuple(shapes))


def beside(pictures: Sequence[Picture], gap: float = 24) -> Picture:
    """One to the right of the other."""
    shapes: list[Shape] = []
    right = 0.0
    for picture in pictures:
        shapes += moved(picture.shapes, right, 0)
        right += picture.width + gap
    return Picture(right - gap, max(one.height for one in pictures), tuple(shapes))


def arrow(start: tuple[float, float], end: tuple[float, float], look: str) -> list[Shape]:
    """A line, level or not, with a head at its end."""
    (x0, y0), (x1, y1) = start, end
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 0.1)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    back = (x1 - 7 * ux, y1 - 7 * uy)
    left, right = (back[0] - 3.4 * uy, back[1] + 3.4 * ux), (back[0] + 3.4 * uy, back[1] - 3.4 * ux)
    return [Path((start, back), look), Path(((x1, y1), left, right), "head", closed=True)]


def fitting(text: str, look: str, room: float) -> str:
    """A text, or as much of it as fits into so many pixels, with … at its end."""
    most = max(int(room / letter_width(look)), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def svg_of(picture: Picture, *, alternative: str) -> str:
    """A file by itself, on white paper; for readers who prefer dark where styles are honoured.

    Args:
        picture: What to draw.
        alternative: What it shows, in a sentence, for those who do not see it.
    """
    style = f"{measures()}{css(dark=False)}{_where_dark(css(dark=True))}"
    body = _sheet(picture, 12, alternative, style, 'xmlns="http://www.w3.org/2000/svg" ')
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def snippet_of(picture: Picture, *, alternative: str) -> str:
    """A figure to be put into a page, without a script: its looks are bound to its own class."""
    own = ".replog-figure "
    dark = "".join(css(dark=True, within=f"{where} {own}") for where in DARK_IN_NOTEBOOKS)
    style = (
        f".replog-figure{{max-width:100%;overflow-x:auto}}{measures(own)}"
        f"{css(dark=False, within=own)}{_where_dark(css(dark=True, within=own))}"
        f"{css(dark=False, within=f'[data-jp-theme-light=true] {own}')}{dark}"
    )
    return f'<div class="replog-figure">{_sheet(picture, 8, alternative, style)}</div>'


def inline_of(picture: Picture, *, alternative: str) -> str:
    """For a page that has the looks in its own style sheet."""
    return f"{_opening(picture, 0, alternative)}{_elements(picture.shapes, 0)}</svg>"


def _where_dark(rules: str) -> str:
    return f"@media (prefers-color-scheme: dark){{{rules}}}"


def _sheet(
    picture: Picture, margin: float, alternative: str, style: str, namespace: str = ""
) -> str:
    """A picture on paper, with its looks."""
    width, height = picture.width + 2 * margin, picture.height + 2 * margin
    paper = Picture(width, height, (Rect(0, 0, width, height, "paper"),))
    body = _elements(paper.shapes, 0) + _elements(picture.shapes, margin)
    opening = _opening(picture, margin, alternative, namespace)
    return f"{opening}\n<style>{style}</style>\n{body}</svg>"


def _opening(picture: Picture, margin: float, alternative: str, namespace: str = "") -> str:
    width, height = picture.width + 2 * margin, picture.height + 2 * margin
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg {namespace}{size} role="img" aria-label={quoteattr(one_line(alternative))}>'


def _elements(shapes: Iterable[Shape], margin: float) -> str:
    """The shapes as elements; lines of one look are one, so that diagrams are half as large."""
    out: dict[object, list[str]] = {}
    for number, shape in enumerate(moved(shapes, margin, margin)):
        if isinstance(shape, Path):
            key = (shape.look, shape.closed)
            lines = out.pop(key, [f'<path class="{shape.look}" d="', '"/>\n'])
            out[key] = lines
            lines.insert(-1, _line(shape))
        else:
            out[number] = [_box(shape) if isinstance(shape, Rect) else _words(shape)]
    return "".join(part for parts in out.values() for part in parts)


def _box(box: Rect) -> str:
    size = f'width="{_n(box.width)}" height="{_n(box.height)}"'
    corner = f' rx="{_n(box.radius)}"' if box.radius else ""
    inside = f"><title>{escape(one_line(box.title))}</title></rect>" if box.title else "/>"
    return f'<rect class="{box.look}" x="{_n(box.x)}" y="{_n(box.y)}" {size}{corner}{inside}\n'


def _words(text: Text) -> str:
    """A line of text; a dollar sign begins no mathematics in a notebook."""
    place = "" if text.anchor == "start" else f' text-anchor="{text.anchor}"'
    words = escape(one_line(text.text)).replace("$", "<tspan>$</tspan>")
    return f'<text class="{text.look}" x="{_n(text.x)}" y="{_n(text.y)}"{place}>{words}</text>\n'


def _line(path: Path) -> str:
    start, *others = [f"{_n(x)} {_n(y)}" for x, y in path.points]
    return f"M{start}L{' '.join(others)}{'Z' if path.closed else ''}"


def _n(number: float) -> str:
    """A length to a tenth of a pixel, in as few characters as that takes."""
    return f"{number:.1f}".removesuffix(".0")
