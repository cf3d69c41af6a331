"""The figures of a report as inline SVG: the same numbers give the same bytes.

Text and lines take the colours of the page around them, so that the figures are readable on a light
and on a dark background. Every mark carries its number; colour only repeats what a label says.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.report import wording
from sim.report.costs import Cost, CostOfRuleSet
from sim.report.rates import Rate

PALETTE = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours, told apart with every common kind of colour vision."""
INK, FAINT = "#010203", "#040506"
"""Stand-ins for the colours of the page's text and lines."""
_PAGE_COLOURS = {INK: "currentColor", FAINT: "var(--line)"}
WIDTH_INCHES = 7.6
PANELS_MAX = 4
"""Costs drawn beside each other."""
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "replog",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.major.size": 0,
    "grid.color": FAINT,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}


def colours_of(rule_sets: Sequence[Mapping[str, Any]]) -> list[str]:
    """A colour for every rule set of a plan: by its fix when fixes differ, else by its place."""
    fixes = list(dict.fromkeys(rule_set["rules"]["fix"] for rule_set in rule_sets))
    places = [
        fixes.index(rule_set["rules"]["fix"]) if len(fixes) > 1 else place
        for place, rule_set in enumerate(rule_sets)
    ]
    return [PALETTE[place % len(PALETTE)] for place in places]


def rates_figure(rates: Sequence[Rate], colours: Sequence[str]) -> str:
    """Violation rate per rule set with its 95 % interval; an open mark where nothing violated."""
    with svg_figure(height=0.55 + 0.42 * len(rates)) as (figure, drawn):
        axes = figure.subplots()
        top = 0.0
        for place, rate in enumerate(rates):
            if rate.rate is None or rate.exact is None:
                continue
            low, high = rate.exact
            top = max(top, high)
            ink = colours[place]
            axes.plot(
                [100 * low, 100 * high],
                [place, place],
                color=ink,
                linewidth=2.2,
                solid_capstyle="butt",
            )
            fill = ink if rate.violated else "none"
            axes.plot(
                [100 * rate.rate],
                [place],
                "o",
                color=ink,
                markersize=7,
                markerfacecolor=fill,
                markeredgewidth=1.8,
                clip_on=False,
            )
            _label(axes, 100 * high, place, rate.share_text)
        _rows(axes, [rate.label for rate in rates])
        axes.set_xlim(0, max(100 * top, 1e-6) * 1.45)
        axes.set_xlabel("runs that violated an invariant, %")
        axes.grid(axis="x", linewidth=0.6)
        _no_axis_offset(axes)
    return drawn[0]


def costs_figure(costs: Sequence[Cost], colours: Sequence[str]) -> str:
    """Mean cost per run, one panel per cost, each with its own scale."""
    rows = max(len(cost.rule_sets) for cost in costs)
    lines = -(-len(costs) // PANELS_MAX)
    with svg_figure(height=(0.85 + 0.34 * rows) * lines) as (figure, drawn):
        columns = min(len(costs), PANELS_MAX)
        panels = figure.subplots(lines, columns, sharey=True, squeeze=False).flatten()
        for axes in panels[len(costs) :]:
            axes.set_axis_off()
        for axes, cost in zip(panels, costs, strict=False):
            means = [one.mean or 0.0 for one in cost.rule_sets]
            for place, one in enumerate(cost.rule_sets):
                axes.barh(place, means[place], color=colours[place], height=0.55)
                _label(axes, means[place], place, _cost_label(one))
            axes.set_xlim(0, max(*means, 1e-6) * 1.75)
            axes.set_title(textwrap.fill(cost.title, 20), fontsize=9, loc="left")
            axes.set_xticks([])
            axes.spines["bottom"].set_visible(False)
        for axes in panels[::columns]:
            _rows(axes, [one.label for one in costs[0].rule_sets])
    return drawn[0]


def _cost_label(cost: CostOfRuleSet) -> str:
    if cost.mean is None:
        return "-"
    ratio = "" if cost.ratio is None else f" (\u00d7{cost.ratio:.3f})"
    return wording.number(cost.mean) + ratio


def invariants_figure(
    names: Sequence[str], labels: Sequence[str], runs: Sequence[Sequence[int]]
) -> str:
    """Runs that violated each invariant (rows) under each rule set (columns), as a shaded grid."""
    with svg_figure(height=0.7 + 0.3 * len(names)) as (figure, drawn):
        axes = figure.subplots()
        most = max((count for row in runs for count in row), default=0) or 1
        for place, row in enumerate(runs):
            for column, count in enumerate(row):
                strength = (count / most) ** 0.5
                if count:
                    axes.barh(
                        place,
                        0.94,
                        left=column + 0.03,
                        height=0.86,
                        color=PALETTE[0],
                        alpha=round(0.15 + 0.6 * strength, 3),
                    )
                axes.text(column + 0.5, place, wording.count(count), ha="center", va="center")
        _rows(axes, names)
        axes.set_xlim(0, len(labels))
        axes.xaxis.tick_top()
        columns = [label.replace(" ", "\n") for label in labels]
        axes.set_xticks([column + 0.5 for column in range(len(labels))], columns)
        axes.tick_params(axis="x", length=0)
        axes.spines["bottom"].set_visible(False)
    return drawn[0]


def _rows(axes: Axes, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    axes.tick_params(axis="y", pad=9)  # room for a mark at zero


def _label(axes: Axes, x: float, y: float, text: str) -> None:
    axes.annotate(text, (x, y), xytext=(7, 0), textcoords="offset points", va="center")


def _no_axis_offset(axes: Axes) -> None:
    axes.ticklabel_format(axis="x", style="plain", useOffset=False)


@contextmanager
def svg_figure(*, height: float) -> Iterator[tuple[Figure, list[str]]]:
    """A figure to draw on; its SVG is in the list afterwards."""
    drawn: list[str] = []
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(WIDTH_INCHES, height), layout="constrained")
        yield figure, drawn
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    drawn.append(_inline(file.getvalue()))


def _inline(svg: str) -> str:
    """An SVG file as an element of a page: no prolog, the page's colours and font, own ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for stand_in, page_colour in _PAGE_COLOURS.items():
        svg = svg.replace(stand_in, page_colour)
    svg = re.sub(r"'DejaVu Sans'(?:, [^;\"]*?)?(?=[;\"])", "system-ui, sans-serif", svg)
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r'<svg \1role="img"', svg, count=1)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).strip()


def own_ids(svg: str, prefix: str) -> str:
    """The SVG with a prefix before every id and what points at it: a page has several figures."""
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-")
    return re.sub(r'href="#', f'href="#{prefix}-', svg)
