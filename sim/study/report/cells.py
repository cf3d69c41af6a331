"""Cells of a grid as text: what searches prove, how many runs met a hazard, which stories show it.

`sim.study.sweep.statistics` counts the rows of runs, and `grid` makes findings of the counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from sim.diagnose.explain.case import listed
from sim.files import markdown
from sim.study.report.grid import RUNS, SEARCH, STORY, UNCLEAN, Finding, Grid
from sim.study.sweep import numbers

Anchors = Mapping[Finding, str]
"""A finding of a search -> the anchor of its schedule on the page."""


def _broken(cell: Sequence[Finding], *, clean: bool) -> list[Finding]:
    """Of each plan, the search that breaks a cell after the fewest moves; the fewest come first."""
    broken = [one for one in cell if one.moves and one.unit.is_clean_search == clean]
    found: dict[str, Finding] = {}
    for one in sorted(broken, key=moves_of):
        found.setdefault(one.unit.title, one)
    return [*found.values()]


def moves_of(one: Finding) -> int:
    """The moves of the shortest schedule of a search that breaks a hazard; 0 without one."""
    return one.moves or 0


def breaks_of(cell: Sequence[Finding]) -> list[Finding]:
    """The shortest schedule of a cell with clean elections, and with unclean ones if shorter."""
    clean, unclean = (_broken(cell, clean=each)[:1] for each in (True, False))
    return clean + [one for one in unclean if not clean or moves_of(one) < moves_of(clean[0])]


def cell_lines(grid: Grid, hazard: str, alternative: str, anchors: Anchors | None) -> list[str]:
    """The lines of a cell: results of searches, runs of each environment, stories.

    Args:
        grid: The grid.
        hazard: Name of the row.
        alternative: Label of the column.
        anchors: Where schedules are on the page, for lines in Markdown with links to the evidence;
            None for plain text.
    """
    cell = grid.cell(hazard, alternative)

    def link(text: str, anchor: str) -> str:
        return f"[{markdown.text(text)}](#{anchor})" if anchors is not None else text

    def after(broken: Sequence[Finding]) -> str:
        texts = []
        for moves, some in groupby(broken, moves_of):
            names = ((one, one.unit.title) for one in some)
            linked = (link(name, (anchors or {}).get(one, name)) for one, name in names)
            texts.append(f"{moves} in {', '.join(linked)}")
        return "; ".join(texts).replace(" in ", " moves in ", 1)

    met = [one for one in grid.comparisons if one.hazard == hazard and one.unit.kind == RUNS]
    rates = [
        max(some, key=lambda one: max(one.runs)).findings[alternative]
        for _, some in groupby(met, lambda one: one.unit.name)
    ]
    counts = _counts(rates) if rates else ""
    stories = [one.unit.title for one in cell if one.unit.kind == STORY and one.broken]
    lines = [
        _proven(cell, after) or ("not searched" if grid.decision.searches else ""),
        link(counts, rates_anchor(hazard)) if any(one.runs for one in rates) else counts,
        ", ".join(link(title, title) for title in stories),
    ]
    return [*filter(None, lines)]


def _proven(cell: Sequence[Finding], after: Callable[[Sequence[Finding]], str]) -> str:
    """The searches with clean elections that break a cell, or the number of searches that do not.

    The searches with unclean elections that break it follow.

    Args:
        cell: The findings.
        after: Writes moves and plans of the searches that break the cell.
    """
    clean, unclean = (_broken(cell, clean=each) for each in (True, False))
    held = [one for one in cell if one.unit.kind == SEARCH and not one.broken]
    parts = [f"breaks after {after(clean)}"] if clean else []
    if held and not clean:
        bounds = [one.bound for one in held if one.bound is not None]
        every = f" of up to {min(bounds)} moves" if bounds else ""
        parts = [f"none in {len(held)} search{'' if len(held) == 1 else 'es'}{every}"]
    if unclean:
        parts.append(f"{UNCLEAN}: {after(unclean)}")
    return "; ".join(parts)


def _counts(rates: Sequence[Finding]) -> str:
    """The runs that met a hazard in each environment, as in `0 and 12 of 1,000`."""
    if len({one.judged for one in rates}) > 1:
        return ", ".join(f"{numbers.count(one.runs)} of {one.judged:,}" for one in rates)
    return f"{listed([numbers.count(one.runs) for one in rates])} of {rates[0].judged:,}"


def rates_anchor(hazard: str) -> str:
    """The anchor of a hazard's rates."""
    return "rates-" + re.sub(r"\W+", "-", hazard)


def grid_table(grid: Grid, anchors: Anchors) -> str:
    """The grid in Markdown: a row per hazard that something met, a column per alternative.

    Args:
        grid: The findings.
        anchors: Where the schedules are on the page.
    """
    rows = [
        (row, *("<br>".join(cell_lines(grid, row, one, anchors)) for one in grid.alternatives))
        for row in grid.hazards
    ]
    return markdown.table(("hazard", *map(markdown.text, grid.alternatives)), rows)


def grid_rows(grid: Grid) -> list[dict[str, str]]:
    """The grid as plain text for a terminal: a row per hazard, a column per alternative."""
    return [
        {"hazard": row}
        | {one: "; ".join(cell_lines(grid, row, one, None)) for one in grid.alternatives}
        for row in grid.hazards
    ]


def rates_table(grid: Grid) -> str:
    """The rates behind the grid with their intervals, in Markdown; empty where no run met anything.

    A row is of the environment, and of the other rules, with which most runs met the hazard.
    """
    rows = [
        (
            f'<a id="{rates_anchor(one.hazard)}"></a>{one.hazard}, {one.unit}',
            *map(_rate, one.findings.values()),
        )
        for one in grid.most_met(lambda one: bool(one.breaking))
    ]
    return markdown.table(("runs", *map(markdown.text, grid.alternatives)), rows) if rows else ""


def _rate(found: Finding) -> str:
    """A count of runs with its interval, in as few words as a table has room for."""
    if not found.runs:
        return "0" if found.judged else "no run was judged"
    limits = interval_text(found.runs, found.judged).replace(" to ", "\u2013")
    return f"{numbers.count(found.runs)} ({limits})"


def interval_text(runs: int, judged: int) -> str:
    """The exact two-sided 95 % interval of a rate; for 0 runs its upper end: `below 0.37 %`."""
    limits = numbers.clopper_pearson(runs, judged)
    return numbers.shares(limits) if runs else f"below {numbers.share(limits.high)}"
