"""Shapes of pictures, their looks with meanings, and pictures as SVG.

One table of looks serves all pictures and their legends. The colours of keys are Okabe and Ito's,
as tints on which black, or white, is readable. Names, dashes, frames and signs carry the same
information for people who do not see colours. Equal lists of shapes give the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from sim.files.foreign import one_line

SANS: Final = "'DejaVu Sans', Verdana, sans-serif"
MONO: Final = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
KEY_COLOURS: Final = 6
"""How many keys have a colour of their own; further keys reuse them in order."""


class Colour(NamedTuple):
    """A colour on white paper and its pair on a dark screen."""

    light: str
    dark: str


Points = tuple[tuple[float, float], ...]


class Look(NamedTuple):
    """The look of a shape or a text.

    Attributes:
        fill: Colour of the inside of a shape, or of a text; None for transparent.
        stroke: Colour of the outline; None without one.
        width: Width of the outline, in pixels.
        dash: Lengths of dashes and gaps, as in SVG; empty for a solid line.
        means: Meaning in a legend; empty for a look that is no sign, or part of another one.
        corners: Points of a sign around its middle, in pixels; closed if it has a fill.
        size: Size of letters in pixels; 0 for a shape.
        bold: True for bold letters.
        mono: True for monospaced letters.
    """

    fill: Colour | None = None
    stroke: Colour | None = None
    width: float = 1.0
    dash: str = ""
    means: str = ""
    corners: Points = ()
    size: float = 0.0
    bold: bool = False
    mono: bool = False


INK: Final = Colour("#1b1f24", "#eceff2")
FAINT: Final = Colour("#57606a", "#a9b1ba")
PAPER: Final = Colour("#ffffff", "#15181c")
RULE: Final = Colour("#d0d7de", "#3d444d")
ALARM: Final = Colour("#b3261e", "#ff9d94")
BLUE: Final = Colour("#0057a8", "#85c1ff")
_SOFT: Final = Colour("#f6f8fa", "#1d2126")
_WRONG: Final = Colour("#b84a00", "#ffb38a")
_ALARM_BAND: Final = Colour("#fdecea", "#4a1a17")
_WHITE: Final = Colour("#ffffff", "#2a1204")

_KEYS = (
    (Colour("#cfe6f7", "#153a54"), Colour("#0072b2", "#56b4e9")),
    (Colour("#cdebdc", "#0d4130"), Colour("#00795a", "#35c796")),
    (Colour("#fbe3b5", "#4f3700"), Colour("#9a6400", "#e69f00")),
    (Colour("#f3d9e8", "#4d2740"), Colour("#a0487f", "#dc92bd")),
    (Colour("#f6f1ab", "#45410a"), Colour("#766d00", "#e5d93f")),
    (Colour("#dddff0", "#31345a"), Colour("#4d5190", "#a6abf0")),
)

_CROSS = ((-5, -5), (5, 5), (0, 0), (-5, 5), (5, -5))
_FILE = ((-6, -5), (6, -5), (6, 5), (-6, 5), (-6, 0), (6, 0), (-6, 0))
_LEVEL = ((-7, 0), (7, 0))
_ROUND = ((-4, -1.7), (-1.7, -4), (1.7, -4), (4, -1.7), (4, 1.7), (1.7, 4), (-1.7, 4), (-4, 1.7))
_SQUARE = ((-5, -5), (5, -5), (5, 5), (-5, 5))
_UPRIGHT = ((0, -7), (0, 7))
_GREY = Colour("#eef0f2", "#2a2f35")
_A_RECORD, _LEADS = "a record, each key has its colour", "leads; e1: its epoch"

LOOKS: Final[Mapping[str, Look]] = {
    "paper": Look(PAPER),
    "rule": Look(None, RULE),
    "lane": Look(None, FAINT, 1.2),
    "head": Look(INK),
    "delete": Look(None, ALARM, 2.2, corners=tuple((x * 0.6, y * 0.6) for x, y in _CROSS)),
    "violated": Look(None, ALARM, 2.6, means="violated here"),
    "pointer": Look(ALARM, means="the violated offset", corners=((0, 4), (-5, -3), (5, -3))),
    "wrong": Look(_WRONG, _WRONG, 1.2, means="≠ not what was committed"),
    "hw": Look(None, BLUE, 3.0, means="high watermark", corners=_UPRIGHT),
    "stable": Look(None, BLUE, 1.6, "3 2", "last stable offset", _UPRIGHT),
    "end": Look(None, INK, 1.4, means="log end, log start"),
    "clean": Look(FAINT, means="cleaned up to here", corners=((0, 0), (-4, 5), (4, 5))),
    **{f"k{n}": Look(*colours, 1.2, means=_A_RECORD) for n, colours in enumerate(_KEYS)},
    **{f"d{n}": Look(PAPER, stroke, 2.0, means="tombstone") for n, (_, stroke) in enumerate(_KEYS)},
    "marker": Look(Colour("#e4e7ea", "#353b42"), INK, 1.2, means="control record"),
    "empty": Look(_GREY, FAINT, 1.2, means="batch without records"),
    "hole": Look(None, FAINT, 1.2, "3 2", "no record, no batch"),
    "below": Look(Colour("#eef0f2", "#22262b"), means="below the log start"),
    "beyond": Look(None, FAINT, 1.0, "1 2", "beyond the log end"),
    "band0": Look(Colour("#d6e9fb", "#1d3f60"), _KEYS[0][1], 0.8, means=_LEADS),
    "band1": Look(Colour("#fdebc8", "#4c3a10"), _KEYS[2][1], 0.8, means=_LEADS),
    "message": Look(None, INK, 1.3, means="what was copied or read"),
    "answer": Look(None, FAINT, 1.1, "3 2", "position, snapshot or election"),
    "sent": Look(INK, PAPER, means="sender", corners=((0, -3), (3, 0), (0, 3), (-3, 0))),
    "append": Look(INK, PAPER, means="append", corners=_SQUARE),
    "election": Look(PAPER, INK, 1.5, "", "elected", ((0, -7), (7, 0), (0, 7), (-7, 0))),
    "cleaning": Look(PAPER, INK, 1.5, "", "cleaning pass", ((-7, 5), (7, 5), (0, -7))),
    "cut": Look(None, ALARM, 2.2, "", "truncated", ((-9, 0), (9, 0))),
    "snapshot": Look(PAPER, INK, 1.5, means="snapshot", corners=_FILE),
    "advance": Look(None, BLUE, 3.0, means="high watermark moves", corners=_LEVEL),
    "crash": Look(None, ALARM, 2.2, means="crash or fault", corners=_CROSS),
    "fault": Look(None, ALARM, 1.6, "4 2", "while a fault lasts", _UPRIGHT),
    "down": Look(None, FAINT, 1.2, "2 4", "down", _UPRIGHT),
    "rest": Look(None, FAINT, 1.6, means="at rest", corners=_LEVEL),
    "other": Look(PAPER, INK, 1.5, means="anything else", corners=_ROUND),
    "alarmband": Look(_ALARM_BAND, means="what showed the violation"),
    "t": Look(INK, size=11),
    "tb": Look(INK, size=11, bold=True),
    "th": Look(INK, size=13, bold=True),
    "tf": Look(FAINT, size=10),
    "tm": Look(INK, size=10.5, mono=True),
    "ts": Look(FAINT, size=8.5, mono=True),
    "tsi": Look(INK, size=8.5, mono=True),
    "tw": Look(_WHITE, size=10.5, bold=True, mono=True),
    "tws": Look(_WHITE, size=8.5, mono=True),
    "ta": Look(ALARM, size=11, bold=True),
    "te": Look(INK, size=9, bold=True),
}
"""Name -> look, in the order of a legend. `k0` to `k5` are records by key, `d0` to `d5` tombstones,
`band0` and `band1` leaders; names of texts begin with t."""

NOTES: Final[Mapping[str, str]] = {
    r"\bv-?\d": "v1: version",
    r"\bt-?\d": "t1: timestamp in ms",
    r"\bh-?\d": "h1: delete horizon in ms",
    r"\btx ": "tx 1: transaction of producer 1",
    r"^gap$": "gap: not there on its leader, either",
    r"^…$": "…: columns left out",
}
"""Pattern of a note in a cell -> its meaning."""

LIGHT_IN_NOTEBOOKS: Final = "[data-jp-theme-light='true']"
DARK_IN_NOTEBOOKS: Final = ("[data-jp-theme-light='false']", ".vscode-dark", "[data-theme='dark']")
"""Selectors of notebooks' themes; elsewhere the system's preference counts."""


def letter_width(look: str) -> float:
    """The approximate width of a letter of a text with this look, in pixels."""
    found = LOOKS[look]
    return found.size * (0.603 if found.mono else 0.63 if found.bold else 0.57)


def meant(looks: Collection[str]) -> dict[str, str]:
    """Meaning of some looks, in the order of a legend -> the first look with it."""
    found: dict[str, str] = {}
    for name, look in LOOKS.items():
        if look.means and name in looks:
            found.setdefault(look.means, name)
    return found


def both(colour: Colour) -> str:
    """Writes a colour for browsers: light or dark by the scheme in force."""
    return f"light-dark({colour.light},{colour.dark})"


def css(paint: Callable[[Colour], str], within: str = "", *, cells: bool = False) -> str:
    """Writes the looks as rules of a style sheet, a class for each name within a selector.

    Args:
        paint: Function that writes a colour.
        within: The selector.
        cells: True for cells of a table: the fill is their background, the stroke their border.
    """
    inside, outline = ("background", "border-color") if cells else ("fill", "stroke")
    rules = []
    for name, look in LOOKS.items():
        colours = {inside: look.fill} if look.size else {inside: look.fill, outline: look.stroke}
        given = [f"{what}:{paint(one) if one else 'transparent'}" for what, one in colours.items()]
        if look.size:
            weight, family = "bold " if look.bold else "", MONO if look.mono else SANS
            given.append(f"font:{weight}{look.size:g}px {family}")
        else:
            given.append(f"stroke-width:{look.width:g}")
            given += [f"stroke-dasharray:{look.dash}"] * bool(look.dash)
        rules.append(f"{within}.{name}{{{';'.join(given)}}}")
    return "".join(rules)


def variables() -> str:
    """Writes the colours as custom properties of a style sheet, named as in `page.css`."""
    named = {"ink": INK, "faint": FAINT, "paper": PAPER, "rule": RULE, "alarm": ALARM, "blue": BLUE}
    named |= {"soft": _SOFT, "wrongink": _WHITE, "calm": _KEYS[1][1], "alarmband": _ALARM_BAND}
    return "".join(f"--{name}:{both(colour)};" for name, colour in named.items())


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
    """Draws the bracket of a log end or, mirrored, of a log start.

    Its arms reach from `back` to `opening`.
    """
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
    """Writes shapes as elements, in order but for lines.

    Lines of one look share an element where the last of them stands, which halves the size.
    """
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
