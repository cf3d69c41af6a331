"""How things look: colours for light and dark, lines, letters; one table for every kind of picture.

The colours of keys are Okabe and Ito's, as tints that black, or white, can be read on; people who
do not see colours tell keys by their names, holes by dashes, violations by frames and signs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

SANS: Final = "'DejaVu Sans', Verdana, sans-serif"
MONO: Final = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
KEY_COLOURS: Final = 6
"""So many keys have a colour of their own; the next ones begin again with the first."""


class Colour(NamedTuple):
    """One colour on white paper and one on a dark screen."""

    light: str
    dark: str


class Look(NamedTuple):
    """How a shape or a text looks.

    Attributes:
        fill: Inside of a shape, or the colour of a text; None = nothing.
        stroke: Its outline; None = none.
        width: Of the outline, in pixels.
        dash: Lengths of dashes and gaps, as SVG has them; empty = a whole line.
        size: Of letters, in pixels; 0 = no text.
        bold: Heavy letters.
        mono: Letters of one width.
    """

    fill: Colour | None = None
    stroke: Colour | None = None
    width: float = 1.0
    dash: str = ""
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

_CROSS = Look(None, ALARM, 2.2)
_OPEN = Look(PAPER, INK, 1.5)

LOOKS: Final[Mapping[str, Look]] = {
    "paper": Look(fill=PAPER),
    **{f"k{n}": Look(fill, stroke, 1.2) for n, (fill, stroke) in enumerate(_KEYS)},
    **{f"d{n}": Look(PAPER, stroke, 2.0) for n, (_, stroke) in enumerate(_KEYS)},
    "delete": _CROSS,
    "wrong": Look(_WRONG, _WRONG, 1.2),
    "marker": Look(Colour("#e4e7ea", "#353b42"), INK, 1.2),
    "empty": Look(Colour("#eef0f2", "#2a2f35"), FAINT, 1.2),
    "hole": Look(None, FAINT, 1.2, "3 2"),
    "below": Look(Colour("#eef0f2", "#22262b"), None),
    "beyond": Look(None, FAINT, 1.0, "1 2"),
    "violated": Look(None, ALARM, 2.6),
    "pointer": Look(ALARM, None),
    "alarmband": Look(_ALARM_BAND, None),
    "hw": Look(None, BLUE, 3.0),
    "stable": Look(None, BLUE, 1.6, "3 2"),
    "end": Look(None, INK, 1.4),
    "clean": Look(FAINT, None),
    "rule": Look(None, RULE, 1.0),
    "lane": Look(None, FAINT, 1.2),
    "down": Look(None, FAINT, 1.2, "2 4"),
    "band0": Look(Colour("#d6e9fb", "#1d3f60"), Colour("#0072b2", "#56b4e9"), 0.8),
    "band1": Look(Colour("#fdebc8", "#4c3a10"), Colour("#9a6400", "#e69f00"), 0.8),
    "message": Look(None, INK, 1.3),
    "answer": Look(None, FAINT, 1.1, "3 2"),
    "fault": Look(None, ALARM, 1.6, "4 2"),
    "head": Look(INK, None),
    "sent": Look(INK, PAPER, 1.0),
    "append": Look(INK, PAPER, 1.0),
    "election": _OPEN,
    "cleaning": _OPEN,
    "snapshot": _OPEN,
    "other": _OPEN,
    "crash": _CROSS,
    "cut": _CROSS,
    "advance": Look(None, BLUE, 3.0),
    "rest": Look(None, FAINT, 1.6),
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
"""Name -> look. `k0` to `k5` are records by their key, `d0` to `d5` tombstones; texts begin with t
and have a size. A sign has a name of its own, so that the legend can say what it means."""

DARK_IN_NOTEBOOKS: Final = ("[data-jp-theme-light='false']", ".vscode-dark", "[data-theme='dark']")
"""Where notebooks say that they are dark; others go by what the reader's system prefers."""


def letter_width(look: str) -> float:
    """About how wide a letter of a text with this look is, in pixels."""
    found = LOOKS[look]
    return found.size * (0.603 if found.mono else 0.63 if found.bold else 0.57)


def css(*, dark: bool, within: str = "", cells: bool = False) -> str:
    """The colours as rules of a style sheet, each as a class of its name within a selector.

    Of `cells` of a table what fills a shape is the ground, and what lines it is the border.
    """
    inside, outline = ("background", "border-color") if cells else ("fill", "stroke")
    rules = []
    for name, look in LOOKS.items():
        colours = {inside: look.fill} | ({} if look.size else {outline: look.stroke})
        told = [f"{what}:{_value(colour, dark=dark)}" for what, colour in colours.items()]
        rules.append(f"{within}.{name}{{{';'.join(told)}}}")
    return "".join(rules)


def _value(colour: Colour | None, *, dark: bool) -> str:
    if colour is None:
        return "transparent"
    return colour.dark if dark else colour.light


def variables(*, dark: bool) -> str:
    """The colours as custom properties of a style sheet, by the names that `page.css` uses."""
    named = {"ink": INK, "faint": FAINT, "paper": PAPER, "rule": RULE, "alarm": ALARM, "blue": BLUE}
    named |= {"soft": _SOFT, "wrongink": _WHITE, "calm": _KEYS[1][1], "alarmband": _ALARM_BAND}
    return "".join(f"--{name}:{c.dark if dark else c.light};" for name, c in named.items())


def measures(within: str = "") -> str:
    """Of the looks what does not depend on light and dark, as rules of a style sheet."""
    rules = []
    for name, look in LOOKS.items():
        if look.size:
            family = MONO if look.mono else SANS
            rule = f"font:{'bold ' if look.bold else ''}{look.size:g}px {family}"
        else:
            rule = f"stroke-width:{look.width:g}"
            rule += f";stroke-dasharray:{look.dash}" if look.dash else ""
        if look.size or look.stroke is not None:
            rules.append(f"{within}.{name}{{{rule}}}")
    return "".join(rules)
