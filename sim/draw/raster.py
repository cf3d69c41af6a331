"""A picture as PNG, drawn by matplotlib shape by shape."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.patches import FancyBboxPatch, Polygon

from sim.draw.looks import LOOKS, Look
from sim.draw.plain import plain_style
from sim.draw.shapes import Path, Picture, Rect, Text
from sim.foreign.lines import escaped, one_line

SCALE = 2
"""Pixels of the file for one of the picture."""
_DOTS = 100.0
_POINT = 72 / _DOTS


def png_of(picture: Picture, *, margin: float = 12) -> bytes:
    """The picture on white paper as the bytes of a PNG file; the same picture, same bytes."""
    width, height = picture.width + 2 * margin, picture.height + 2 * margin
    settings: dict[Any, Any] = {
        "font.sans-serif": ["DejaVu Sans"],
        "font.monospace": ["DejaVu Sans Mono"],
        "text.parse_math": False,  # a dollar sign in a key is one
    }
    with plain_style(settings):
        figure = Figure(figsize=(width / _DOTS, height / _DOTS), facecolor="white")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(-margin, picture.width + margin)
        axes.set_ylim(picture.height + margin, -margin)
        axes.axis("off")
        for order, shape in enumerate(picture.shapes):
            _draw(axes, shape, order)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=_DOTS * SCALE, metadata={"Software": "replog"})
    return buffer.getvalue()


def _draw(axes: Axes, shape: Rect | Path | Text, order: int) -> None:
    look = LOOKS[shape.look]
    match shape:
        case Text(x, y, text, _, anchor):
            horizontal = {"start": "left", "middle": "center", "end": "right"}[anchor]
            axes.text(
                x,
                y,
                _drawable(text, mono=look.mono),
                ha=horizontal,
                va="baseline",
                fontsize=look.size * _POINT,
                fontweight="bold" if look.bold else "normal",
                family="monospace" if look.mono else "sans-serif",
                color=look.fill.light if look.fill else "none",
                zorder=order,
            )
        case Rect(x, y, width, height, _, radius):
            style = f"round,pad=0,rounding_size={radius}" if radius else "square,pad=0"
            axes.add_patch(
                FancyBboxPatch((x, y), width, height, boxstyle=style, zorder=order, **_line(look))
            )
        case Path(points, _, closed):
            filled = _line(look) if closed else {**_line(look), "facecolor": "none"}
            axes.add_patch(Polygon(points, closed=closed, zorder=order, **filled))


def _drawable(text: str, *, mono: bool) -> str:
    """A text in letters that the font has, which comes with matplotlib; others are escaped."""
    text = one_line(text)
    if text.isascii():
        return text
    letters = _letters("DejaVu Sans Mono" if mono else "DejaVu Sans")
    return "".join([one if ord(one) in letters else escaped(one) for one in text])


@cache
def _letters(family: str) -> frozenset[int]:
    """The characters of a font, heavy or not."""
    fonts = (FontProperties(family=family, weight=weight) for weight in ("normal", "bold"))
    return frozenset.intersection(
        *(frozenset(get_font(findfont(font)).get_charmap()) for font in fonts)
    )


def _line(look: Look) -> dict[str, Any]:
    dashes = [float(each) / look.width for each in look.dash.split()]
    return {
        "facecolor": look.fill.light if look.fill else "none",
        "edgecolor": look.stroke.light if look.stroke else "none",
        "linewidth": look.width * _POINT if look.stroke else 0,
        "linestyle": (0, dashes) if dashes else "solid",
    }
