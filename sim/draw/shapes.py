"""A picture as a list of shapes, and these as SVG: the same list always gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

from sim.draw.looks import DARK_IN_NOTEBOOKS, attributes, css, letter_width, measures
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
        return len(self.text) * letter_width(self.look)


Shape = Rect | Path | Text


class Picture(NamedTuple):
    """Shapes on a sheet of this size, in pixels; the last ones lie on top."""

    width: float
    height: float
    shapes: tuple[Shape, ...]


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


def arrow(
    start: tuple[float, float], end: tuple[float, float], look: str, head: str = "head"
) -> list[Shape]:
    """A line, level or not, with a head at its end."""
    (x0, y0), (x1, y1) = start, end
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, 0.1)
    ux, uy = (x1 - x0) / length, (y1 - y0) / length
    back = (x1 - 7 * ux, y1 - 7 * uy)
    left, right = (back[0] - 3.4 * uy, back[1] + 3.4 * ux), (back[0] + 3.4 * uy, back[1] - 3.4 * ux)
    return [Path((start, back), look), Path(((x1, y1), left, right), head, closed=True)]


def fitting(text: str, look: str, room: float) -> str:
    """A text, or as much of it as fits into so many pixels, with … at its end."""
    most = max(int(room / letter_width(look)), 1)
    return text if len(text) <= most else text[: most - 1] + "…"


def svg_of(picture: Picture, *, alternative: str, margin: float = 12) -> str:
    """A file by itself, on white paper; for readers who prefer dark where styles are honoured.

    Args:
        picture: What to draw.
        alternative: What it shows, in a sentence, for those who do not see it.
        margin: Free space around, in pixels.
    """
    style = f"@media (prefers-color-scheme: dark){{{css(dark=True)}}}"
    body = _sheet(picture, margin) + _elements(picture.shapes, margin, both=True)
    head = _opening(picture, alternative, margin, 'xmlns="http://www.w3.org/2000/svg"')
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n<style>{style}</style>\n{body}</svg>\n'


def snippet_of(picture: Picture, *, alternative: str, margin: float = 8) -> str:
    """A figure to be put into a page, without a script: its looks are bound to its own class."""
    own = ".replog-figure "
    dark = "".join(css(dark=True, within=f"{where} {own}") for where in DARK_IN_NOTEBOOKS)
    light = "[data-jp-theme-light='true'] .replog-figure "
    style = (
        f".replog-figure{{max-width:100%;overflow-x:auto}}{measures(own)}"
        f"{css(dark=False, within=own)}"
        f"@media (prefers-color-scheme: dark){{{css(dark=True, within=own)}}}"
        f"{css(dark=False, within=light)}{dark}"
    )
    body = _sheet(picture, margin) + _elements(picture.shapes, margin, classes=True)
    head = _opening(picture, alternative, margin, "")
    return f'<div class="replog-figure"><style>{style}</style>{head}{body}</svg></div>'


def inline_of(picture: Picture, *, alternative: str, margin: float = 8) -> str:
    """For a page that has the looks in its own style sheet: classes alone.

    Lines of one look are one element, which makes a long diagram half as large.
    """
    joined: dict[tuple[str, bool], list[str]] = {}
    out: list[str] = []
    for shape in picture.shapes:
        if not isinstance(shape, Path):
            out.append(_elements([shape], margin, classes=True))
            continue
        kind = (shape.look, shape.closed)
        if kind not in joined:
            joined[kind] = []
            out.append(f"{kind}")
        joined[kind].append(_line(shape, margin))
    for (look, closed), lines in joined.items():
        out[out.index(f"{(look, closed)}")] = f'<path class="{look}" d="{"".join(lines)}"/>\n'
    return f"{_opening(picture, alternative, margin, '')}{''.join(out)}</svg>"


def _opening(picture: Picture, alternative: str, margin: float, namespace: str) -> str:
    width, height = picture.width + 2 * margin, picture.height + 2 * margin
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    label = quoteattr(one_line(alternative))
    return f'<svg {namespace} {size} role="img" aria-label={label}>'.replace("<svg  ", "<svg ")


def _sheet(picture: Picture, margin: float) -> str:
    width, height = picture.width + 2 * margin, picture.height + 2 * margin
    return (
        f'<rect class="paper" {attributes("paper")} width="{width:.0f}" height="{height:.0f}"/>\n'
    )


def _elements(
    shapes: Iterable[Shape], margin: float, *, classes: bool = False, both: bool = False
) -> str:
    """The shapes as elements: with their looks as attributes, as a class, or both."""
    out = []
    for shape in shapes:
        look = f'class="{shape.look}"' if classes or both else ""
        if both or not classes:
            look = f"{look} {attributes(shape.look)}".strip()
        match shape:
            case Rect(x, y, width, height, _, radius, title):
                at = f'x="{_n(x + margin)}" y="{_n(y + margin)}"'
                size = f'width="{_n(width)}" height="{_n(height)}"'
                corner = f' rx="{_n(radius)}"' if radius else ""
                inside = f"><title>{escape(one_line(title))}</title></rect>" if title else "/>"
                out.append(f"<rect {look} {at} {size}{corner}{inside}\n")
            case Path():
                out.append(f'<path {look} d="{_line(shape, margin)}"/>\n')
            case Text(x, y, text, _, anchor):
                at = f'x="{_n(x + margin)}" y="{_n(y + margin)}"'
                place = "" if anchor == "start" else f' text-anchor="{anchor}"'
                out.append(f"<text {look} {at}{place}>{_text(text)}</text>\n")
    return "".join(out)


def _text(text: str) -> str:
    """A line of text; a dollar sign begins no mathematics in a notebook."""
    return escape(one_line(text)).replace("$", "<tspan>$</tspan>")


def _line(path: Path, margin: float) -> str:
    start, *others = [f"{_n(x + margin)} {_n(y + margin)}" for x, y in path.points]
    return f"M{start}L{' '.join(others)}{'Z' if path.closed else ''}"


def _n(number: float) -> str:
    """A length to a tenth of a pixel, in as few characters as that takes."""
    return f"{number:.1f}".removesuffix(".0")
