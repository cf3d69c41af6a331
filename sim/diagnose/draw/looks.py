"""Looks of shapes and texts, with their meanings: one table for all pictures and their legends.

The colours of keys are Okabe and Ito's, as tints on which black, or white, is readable. Names,
dashes, frames and signs carry the same information for people who do not see colours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

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
