"""Draws a story: what every replica's log looks like at chosen steps, side by side.

`replog draw STORY -o PICTURE.svg` makes the picture in the README. The same story gives the same
bytes.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from sim.check import Checker
from sim.check.history import ClusterHistory
from sim.check.queries import HistoryQueries
from sim.check.replica_view import EMPTY
from sim.errors import BadInput
from sim.story import StoryRun
from sim.trace import LeaderElected

_BOX = 0.84
_PANEL_INCHES = 2.3
_LANE_INCHES = 0.52
_CAPTION_COLUMNS = 29
_COLOURS = ("#56b4e9", "#009e73", "#e69f00", "#cc79a7", "#f0e442", "#0072b2")
_REUSED = "#d55e00"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "replog",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One moment: a caption and, per replica, the slots of its log (uid, EMPTY or 0)."""

    caption: str
    logs: Mapping[str, Sequence[int]]
    high_watermarks: Mapping[str, int]
    up: Mapping[str, bool]
    leader: str | None


def draw_story(run: StoryRun, captions: Mapping[int, str]) -> str:
    """An SVG with one panel per step in `captions`, each showing the logs after that step.

    A record's box has the colour of its key; an offset that was given twice is red; a dashed box is
    an offset without a record, a grey one an empty batch; the line marks the high watermark.

    Raises:
        BadInput: A step that the story does not have.
    """
    last = len(run.story.steps)
    for step in captions:
        if not 1 <= step <= last:
            raise BadInput(f"step {step}: the story has steps 1 to {last}")
    panels, queries = _panels(run, captions)
    lanes, width = len(panels[0].logs), max(len(s) for p in panels for s in p.logs.values())
    colours = _colours(queries.history)
    with mpl.rc_context(_STYLE):
        height = _LANE_INCHES * lanes + 1.0
        figure = Figure(figsize=(_PANEL_INCHES * len(panels), height), facecolor="white")
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for number, (axis, panel) in enumerate(zip(axes, panels, strict=True), start=1):
            _draw(axis, panel, number, width, queries, colours)
        figure.subplots_adjust(left=0.035, right=0.995, top=0.70, bottom=0.02, wspace=0.12)
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": "replog"})
    return buffer.getvalue()


def _panels(run: StoryRun, captions: Mapping[int, str]) -> tuple[list[Panel], HistoryQueries]:
    checker = Checker(run.story.rules, (), label=run.labels.get)
    history = checker.history
    leader: str | None = None
    panels = []
    position = 0
    for step in sorted(captions):
        while position < len(run.events) and run.events[position][0] <= step:
            event = run.events[position][1]
            checker.on(run.events[position][0], event)
            if isinstance(event, LeaderElected):
                leader = event.replica
            position += 1
        panels.append(
            Panel(
                captions[step],
                {name: tuple(view.slots) for name, view in history.replicas.items()},
                {name: view.high_watermark for name, view in history.replicas.items()},
                {name: view.up for name, view in history.replicas.items()},
                leader,
            )
        )
    return panels, checker.queries


def _colours(history: ClusterHistory) -> dict[int, str]:
    keys = list(history.uids_of_key)
    return {
        uid: _COLOURS[keys.index(key) % len(_COLOURS)]
        for key, uids in history.uids_of_key.items()
        for uid in uids
    }


def _draw(
    axis: Axes,
    panel: Panel,
    number: int,
    width: int,
    queries: HistoryQueries,
    colours: Mapping[int, str],
) -> None:
    lanes = len(panel.logs)
    axis.set_xlim(-1.35, width + 0.15)
    axis.set_ylim(lanes, -0.45)
    axis.axis("off")
    axis.set_title(
        f"{number}. " + textwrap.fill(panel.caption, _CAPTION_COLUMNS),
        loc="left",
        fontsize=8.5,
        x=0.0,
    )
    for offset in range(width):
        axis.text(offset + 0.5, -0.12, str(offset), ha="center", fontsize=7, color="#666666")
    for lane, (name, slots) in enumerate(panel.logs.items()):
        leads = name == panel.leader
        axis.text(
            -0.15,
            lane + 0.5,
            f"{name}\nleader" if leads else name,
            ha="right",
            va="center",
            fontsize=8,
            fontweight="bold" if leads else "normal",
            color="#000000" if panel.up[name] else "#aaaaaa",
            linespacing=0.9,
        )
        for offset, slot in enumerate(slots):
            _draw_slot(axis, offset, lane, slot, queries, colours)
        mark = panel.high_watermarks[name]
        axis.plot([mark, mark], [lane + 0.06, lane + 0.94], color="#000000", linewidth=1.6)


def _draw_slot(
    axis: Axes,
    offset: int,
    lane: int,
    slot: int,
    queries: HistoryQueries,
    colours: Mapping[int, str],
) -> None:
    history = queries.history
    committed = history.committed[offset] if offset < len(history.committed) else slot
    reused = slot > 0 and committed not in (slot, 0)
    face = "#ffffff" if slot == 0 else "#dddddd" if slot == EMPTY else colours.get(slot, "#dddddd")
    axis.add_patch(
        FancyBboxPatch(
            (offset + (1 - _BOX) / 2, lane + (1 - _BOX) / 2),
            _BOX,
            _BOX,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=_REUSED if reused else face,
            edgecolor="#888888" if slot <= 0 else "#333333",
            linestyle="--" if slot == 0 else "-",
            linewidth=1.0,
        )
    )
    text = "" if slot == 0 else "–" if slot == EMPTY else queries.describe(slot).split("@")[0]
    axis.text(
        offset + 0.5,
        lane + 0.52,
        text,
        ha="center",
        va="center",
        fontsize=9,
        color="#ffffff" if reused else "#000000",
        fontweight="bold" if reused else "normal",
    )
