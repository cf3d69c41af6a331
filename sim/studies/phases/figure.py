"""A phase diagram as a figure: in how many cases it happened, cell by cell.

Every cell has its number; the shade only says in which band it is. So the figure needs no legend,
and is read in black and white, on a light and on a dark background.
"""

from __future__ import annotations

from typing import Any

from sim.report.figures import PALETTE, svg_figure
from sim.studies.phases.question import Found

BANDS = (0.05, 0.25, 0.5, 0.75, 1.0)
"""Upper ends (inclusive) of the bands above 0, as shares."""
SHADES = (0.12, 0.28, 0.45, 0.62, 0.8)
_CELL_INCHES = 0.48
_PANELS_BESIDE = 2
_FONT = 12
_COLOURS = (
    "<style>svg{color:#1f2328;--line:#d1d9e0}"
    "@media (prefers-color-scheme:dark){svg{color:#f0f6fc;--line:#3d444d}}</style>"
)


def phase_figure(found: Found) -> str:
    """The diagram, as an SVG file."""
    rows, columns = found.question.rows, found.question.columns
    lines = -(-len(found.panels) // _PANELS_BESIDE)
    beside = min(len(found.panels), _PANELS_BESIDE)
    height = lines * (1.1 + _CELL_INCHES * len(rows.shown))
    with svg_figure(height=height) as (figure, drawn):
        grid = figure.subplots(lines, beside, squeeze=False).flatten()
        for axes in grid[len(found.panels) :]:
            axes.set_axis_off()
        for index, (axes, title) in enumerate(zip(grid, found.panels, strict=False)):
            _draw(axes, found, title)
            if index % beside == 0:
                axes.set_ylabel(rows.title, fontsize=_FONT - 1)
            if index >= len(found.panels) - beside:
                axes.set_xlabel(columns.title, fontsize=_FONT - 1)
    return _standalone(drawn[0])


def _standalone(svg: str) -> str:
    """An inline SVG as a file of its own, with colours for a light and a dark background."""
    if "xmlns=" not in svg[: svg.index(">")]:
        svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    head = svg.index(">") + 1
    return f"{svg[:head]}{_COLOURS}{svg[head:]}\n"


def share_in_words(count: int, cases: int) -> str:
    """What a cell says: a share in per cent, `0` and `all` only where it is none or all."""
    if count in (0, cases):
        return "all" if count else "0"
    per_cent = 100 * count / cases
    if per_cent < 1:
        return "<1 %"
    return ">99 %" if per_cent > 99 else f"{per_cent:.0f} %"


def _draw(axes: Any, found: Found, title: str) -> None:
    """One grid, by its title."""
    rows, columns = found.question.rows.shown, found.question.columns.shown
    for row, counts in enumerate(found.panels[title]):
        for column, count in enumerate(counts):
            if count:
                share = count / found.cases
                shade = next(
                    shade for end, shade in zip(BANDS, SHADES, strict=True) if share <= end
                )
                axes.barh(row, 0.96, left=column + 0.02, height=0.96, color=PALETTE[0], alpha=shade)
            words = share_in_words(count, found.cases)
            axes.text(column + 0.5, row, words, ha="center", va="center", fontsize=_FONT)
    axes.set_title(title, fontsize=_FONT, loc="left")
    axes.set_yticks(range(len(rows)), rows, fontsize=_FONT)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(0, len(columns))
    axes.set_xticks([place + 0.5 for place in range(len(columns))], columns, fontsize=_FONT)
    axes.tick_params(axis="x", length=0)
    axes.spines["bottom"].set_visible(False)
