"""Pictures as PNG, drawn shape by shape with matplotlib."""

from __future__ import annotations

import io
from functools import cache
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import BoxStyle, FancyBboxPatch, Patch, Polygon

from sim.diagnose.draw.shapes import LOOKS, Colour, Path, Picture, Rect, Text
from sim.files.foreign import escaped, one_line

SCALE = 2
"""Pixels of the file for one pixel of the picture."""
_DOTS = 100.0
_POINT = 72 / _DOTS
_MARGIN = 12.0
"""In pixels of the picture."""
_ANCHORS: dict[str, Literal["left", "center", "right"]] = {
    "start": "left",
    "middle": "center",
    "end": "right",
}


def png_of(picture: Picture) -> bytes:
    """Draws a picture on white as the bytes of a PNG file; equal pictures give the same bytes."""
    width, height = picture.width + 2 * _MARGIN, picture.height + 2 * _MARGIN
    with mpl.rc_context():  # restores the user's settings afterwards
        mpl.rcdefaults()
        fonts = {"sans-serif": ["DejaVu Sans"], "monospace": ["DejaVu Sans Mono"]}
        mpl.rc("font", **fonts)
        mpl.rc("text", parse_math=False)  # a dollar sign in a key is one
        figure = Figure(figsize=(width / _DOTS, height / _DOTS), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(-_MARGIN, width - _MARGIN), ylim=(height - _MARGIN, -_MARGIN))
        axes.axis("off")
        for order, shape in enumerate(picture.shapes):
            if isinstance(shape, Text):
                _write(axes, shape, order)
            else:
                axes.add_patch(_patch(shape, order))
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DOTS * SCALE, metadata={"Software": "replog"})
    return buffer.getvalue()


def _write(axes: Axes, text: Text, order: int) -> None:
    look = LOOKS[text.look]
    axes.text(
        text.x,
        text.y,
        _drawable(text.text, mono=look.mono),
        ha=_ANCHORS[text.anchor],
        fontsize=look.size * _POINT,
        fontweight="bold" if look.bold else "normal",
        family="monospace" if look.mono else "sans-serif",
        color=_light(look.fill),
        zorder=order,
    )


def _patch(shape: Rect | Path, order: int) -> Patch:
    look = LOOKS[shape.look]
    dashes = [float(each) / look.width for each in look.dash.split()]
    how: dict[str, Any] = {
        "facecolor": _light(look.fill),
        "edgecolor": _light(look.stroke),
        "linewidth": look.width * _POINT if look.stroke else 0,
        "linestyle": (0, dashes) if dashes else "solid",
        "zorder": order,
    }
    if isinstance(shape, Path):
        return Polygon(shape.points, closed=shape.closed, fill=shape.closed, **how)
    style = BoxStyle.Round(pad=0, rounding_size=shape.radius)
    return FancyBboxPatch((shape.x, shape.y), shape.width, shape.height, boxstyle=style, **how)


def _light(colour: Colour | None) -> str:
    return colour.light if colour else "none"


def _drawable(text: str, *, mono: bool) -> str:
    """Escapes the characters of a text that matplotlib's own font lacks."""
    letters = _letters("DejaVu Sans Mono" if mono else "DejaVu Sans")
    return "".join([one if ord(one) in letters else escaped(one) for one in one_line(text)])


@cache
def _letters(family: str) -> frozenset[int]:
    """The characters that a font has both normal and bold."""
    fonts = (FontProperties(family=family, weight=weight) for weight in ("normal", "bold"))
    return frozenset.intersection(
        *(frozenset(get_font(findfont(font)).get_charmap()) for font in fonts)
    )
