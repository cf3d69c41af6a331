"""The figures of a report as inline SVG: the same numbers give the same bytes.

Text and lines take the colours of the page around them, so that the figures are readable on a light
and on a dark background. Every mark carries its number; colour only repeats what a label says.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator

from sim.diagnose.draw.raster import plain_style
from sim.files.foreign.lines import one_line
from sim.study.report.comparison import against_text
from sim.study.report.costs import Cost
from sim.study.report.shares import Share
from sim.study.sweep.stats import Interval

PALETTE = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's colours, told apart with every common kind of colour vision."""
INK, FAINT, PAPER = "#010203", "#040506", "#070809"
"""Stand-ins for the colours of the page's text, its lines and what is behind them."""
_PAGE_COLOURS = {INK: "currentColor", FAINT: "var(--line)", PAPER: "var(--page)"}
WIDTH_INCHES = 7.6
NARROW_INCHES = 4.3
"""Of figures that a telephone shows, too: there a point of their font is a little above a pixel."""
_LINE_CHARACTERS = 52
_TEXT_POINTS = 10
_ROW_INCHES = 0.21
_LINE, _MARK = 1.0, 1.1
"""Heights of a line of text and of a mark, in rows."""
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "replog",
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.parse_math": False,  # a dollar sign in a label is one
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


class Mark(NamedTuple):
    """A row of a figure: a number with its interval, under a line of text."""

    label: str
    text: str
    """The number in words."""
    colour: str
    value: float | None
    """None: nothing is drawn."""
    interval: Interval | None
    filled: bool = True


class EnvironmentFigures(NamedTuple):
    """The figures of one environment.

    Attributes:
        picture: Where each rule set stands; of one alone its rate.
        costs: Of each cost that differs in some case its title and figure.
    """

    picture: str
    costs: Sequence[tuple[str, str]]


def figures_of(
    environment: Mapping[str, Any], rates: Sequence[Share], colours: Sequence[str]
) -> EnvironmentFigures:
    """The figures of an environment, whose comparison and rates these are."""
    standings = environment["standings"]
    if len(colours) > 1:
        picture = standings_figure(standings, colours)
    else:
        picture = rates_figure([one["label"] for one in standings], rates, colours)
    place = environment["name"].replace(" ", "-")
    costs = [
        (cost.title, own_ids(cost_figure(cost, colours), f"{place}-cost-{number}"))
        for number, cost in enumerate(environment["costs"])
        if any(one.differing for one in cost.rule_sets)
    ]
    return EnvironmentFigures(own_ids(picture, f"{place}-picture"), costs)


def rates_figure(labels: Sequence[str], rates: Sequence[Share], colours: Sequence[str]) -> str:
    """Violation rate per rule set with its 95 % interval; an open mark where nothing violated."""
    marks = [
        Mark(
            label,
            rate.share_text,
            colour,
            None if rate.rate is None else 100 * rate.rate,
            rate.interval and Interval(100 * rate.interval.low, 100 * rate.interval.high),
            filled=bool(rate.runs),
        )
        for label, rate, colour in zip(labels, rates, colours, strict=True)
    ]
    return marks_figure(marks, axis="runs that violated an invariant, %", reference=None)


def standings_figure(standings: Sequence[Mapping[str, Any]], colours: Sequence[str]) -> str:
    """Each rule set against its baseline on the same cases, with its own share beside its name."""
    marks = []
    for one, colour in zip(standings, colours, strict=True):
        label, against = f"{one['label']}: {one['share'].counted_text}", one["against_baseline"]
        text = against_text(one).replace(" points", "")  # as the axis says
        if against is None:
            value = 0.0 if one["is_baseline"] else None
            marks.append(Mark(label, text, colour, value, None, filled=False))
            continue
        points = Interval(100 * against.interval.low, 100 * against.interval.high)
        marks.append(Mark(label, text, colour, 100 * against.value, points))
    axis = "difference of violating runs on the same cases, points"
    return marks_figure(marks, axis=axis, reference=0.0)


def cost_figure(cost: Cost, colours: Sequence[str]) -> str:
    """How much more each rule set costs than its baseline, on the same cases."""
    marks = [
        Mark(one.label, one.mean_text, colour, 0.0, None, filled=False)
        if one.label == one.baseline
        else Mark(one.label, one.paired_text or "-", colour, one.difference, one.interval)
        for one, colour in zip(cost.rule_sets, colours, strict=True)
    ]
    return marks_figure(marks, axis="more than the baseline, per run", reference=0.0)


def marks_figure(marks: Sequence[Mark], *, axis: str, reference: float | None) -> str:
    """Marks below each other on one axis, each under its label and its number.

    Args:
        marks: At least one.
        axis: Title of the axis.
        reference: Where a line marks what the others are compared with; the axis begins at 0
            without one.
    """
    lines = [_lines(mark) for mark in marks]
    rows = sum(len(one) for one in lines) * _LINE + len(marks) * _MARK
    with svg_figure(height=rows * _ROW_INCHES + 0.55, width=NARROW_INCHES) as (figure, drawn):
        axes = figure.subplots()
        ends = [reference or 0.0]
        top = 0.0
        for mark, texts in zip(marks, lines, strict=True):
            for left, right in texts:
                top += _LINE
                for place, text, side in ((0.0, left, "left"), (1.0, right, "right")):
                    axes.text(
                        place,
                        top - 0.3,
                        text,
                        ha=side,
                        va="center",
                        fontsize=_TEXT_POINTS,
                        transform=axes.get_yaxis_transform(),
                        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
                    )
            top += _MARK
            ends += [] if mark.value is None else [mark.value, *(mark.interval or ())]
            _draw_mark(axes, mark, top - _MARK * 0.55)
        low, high = min(ends), max(ends)
        span = (high - low) or 1.0
        axes.set_xlim(low - span * (0.04 if low < 0 or reference else 0), high + span * 0.04)
        axes.set_ylim(top, 0)
        axes.set_yticks([])
        if reference is not None:
            axes.axvline(reference, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        axes.set_xlabel(axis)
        axes.grid(axis="x", linewidth=0.6)
        axes.ticklabel_format(axis="x", style="plain", useOffset=False)
    return drawn[0]


def _lines(mark: Mark) -> list[tuple[str, str]]:
    """A label and its number beside each other, or below each other where they are too long."""
    if len(mark.label) + len(mark.text) < _LINE_CHARACTERS:
        return [(mark.label, mark.text)]
    return [(line, "") for line in textwrap.wrap(mark.label, _LINE_CHARACTERS)] + [("", mark.text)]


def _draw_mark(axes: Axes, mark: Mark, y: float) -> None:
    if mark.value is None:
        return
    if mark.interval is not None:
        axes.plot(mark.interval, [y, y], color=mark.colour, linewidth=2.4, solid_capstyle="butt")
    axes.plot(
        [mark.value],
        [y],
        "o",
        color=mark.colour,
        markersize=6.5,
        markerfacecolor=mark.colour if mark.filled else "none",
        markeredgewidth=1.7,
        clip_on=False,
    )


@contextmanager
def svg_figure(*, height: float, width: float = WIDTH_INCHES) -> Iterator[tuple[Figure, list[str]]]:
    """A figure to draw on; its SVG is in the list afterwards."""
    drawn: list[str] = []
    with plain_style(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, drawn
        for text in figure.findobj(Text):
            text.set_text(one_line(text.get_text()))
        file = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with warnings.catch_warnings():
            # Letters are drawn by whoever shows the page, in a font that has them.
            warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from font")
            figure.savefig(file, format="svg", metadata=nothing)
    drawn.append(_inline(file.getvalue()))


def _inline(svg: str) -> str:
    """An SVG file as an element of a page: no prolog, the page's colours and font, own ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _in_tags(svg, _as_the_page)
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r'<svg \1role="img"', svg, count=1)
    return re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).strip()


def _as_the_page(tag: str) -> str:
    """A tag in the page's colours and font."""
    for stand_in, page_colour in _PAGE_COLOURS.items():
        tag = tag.replace(stand_in, page_colour)
    return re.sub(r"'DejaVu Sans'(?:, [^;\"]*?)?(?=[;\"])", "system-ui, sans-serif", tag)


def _in_tags(svg: str, change: Callable[[str], str]) -> str:
    """The SVG with its tags changed, and no text in it."""
    return re.sub(r"<[^>]+>", lambda tag: change(tag[0]), svg)


def own_ids(svg: str, prefix: str) -> str:
    """The SVG with a prefix before every id and what points at it: a page has several figures."""

    def own(tag: str) -> str:
        tag = re.sub(r'\bid="', f'id="{prefix}-', tag)
        tag = tag.replace("url(#", f"url(#{prefix}-")
        return re.sub(r'href="#', f'href="#{prefix}-', tag)

    return _in_tags(svg, own)
