"""A run as one HTML file that opens at the violation and steps through the events.

It needs no network and no library: its style sheet and its script are inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain, repeat, zip_longest
from typing import TYPE_CHECKING, Any

from sim.check import Violation
from sim.diagnose.draw.cells import NOT_COMMITTED, NOT_THERE, NOTHING, Cell, Spot, printable
from sim.diagnose.draw.figure import left_out_in_words, place_of, window
from sim.diagnose.draw.frames import Frame, replicas_of
from sim.diagnose.draw.scene import DrawnCase, Scene, has_a_place, position_of
from sim.diagnose.draw.shapes import LOOKS, NOTES, both, css, inline_of, meant, sample, variables
from sim.diagnose.draw.space_time import HEAD, ROW, SpaceTime, sentence_of
from sim.diagnose.explain import ExplanationText
from sim.files.foreign import json_text, shown
from sim.files.shipped import check_extra

if TYPE_CHECKING:
    import jinja2

EVENTS_MAX = 3_000
"""Most events that a page steps through, about 1 MB; it says how many are left out."""
EXPLAINED_MAX = 12
"""Most violations that a page explains: the one to open at, and the first of each invariant."""
LINE_MAX = 2_000
"""Most characters of a sentence."""


def html(
    case: DrawnCase,
    *,
    title: str = "",
    against: DrawnCase | None = None,
    command: str = "",
) -> str:
    """Draws a run as an HTML page that works offline; needs the extra `report`.

    It opens at the violation. Keys and a slider step from event to event and from violation to
    violation. It shows the offset grid, the space-time diagram, the violation and its explanation.

    Args:
        case: The run, with all its violations, and the one to open at.
        title: Title of the page.
        against: The same case under other rules, shown beside it and stepped with it by time.
        command: Command that makes this page again.

    Raises:
        BadInput: Jinja2 is not installed.
    """
    check_extra("an HTML page needs", "report", "jinja2")
    films = [Film(each, case.violation) for each in (case, against) if each is not None]
    contents = [film.content() for film in films]
    chosen: int = contents[0]["chosen"]
    style = f":root{{{variables()}}}{css(both, 'svg ')}{css(both, '.cell', cells=True)}"
    return _template().render(
        title=printable(title) or "A run",
        unit=case.run.unit,
        command=command,
        films=films,
        chosen=contents[0]["violations"][chosen] if chosen >= 0 else {},
        missed=[printable(line, longest=LINE_MAX) for line in case.missed],
        # A script element: nothing in it may end the element, or begin a comment.
        data=json_text(contents, separators=(",", ":")).replace("<", "\\u003c"),
        legend=_legend(),
        style=f"{style}\n{_own('page.css')}",
        script=_own("page.js"),
    )


def _legend() -> list[tuple[str, str]]:
    """All signs with their meanings, then the notes in cells, which have no sign."""
    signs = [
        (inline_of(sample(name), alternative=text), text) for text, name in meant(LOOKS).items()
    ]
    notes = [note for note in NOTES.values() if note[0] != "…"]  # a page has all columns
    return [*signs, *[("", note) for note in notes]]


def _own(name: str) -> str:
    """The text of a template's style sheet or script."""
    return (files("sim.diagnose.draw") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> jinja2.Template:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.diagnose.draw", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")


class Film:
    """The frames of a case in a page.

    Attributes:
        case: Case that is shown.
        positions: Positions of the events that are shown.
        left_out: Number of events left out because there are too many, in words; empty if none.
    """

    def __init__(self, case: DrawnCase, like: Violation | None) -> None:
        """Chooses the events of a case.

        Args:
            case: Case to show.
            like: Violation of another case, whose offset is shown if this case has none.
        """
        self.case = case
        self._scene = Scene(case, like)
        self._explained = explained(case)
        self._shows = [position_of(case.events, each) for each in case.run.seen]
        wanted: Sequence[int] = range(len(case.events))
        if case.violation is not None:  # the events that led to a violation
            cones = [each.cone for each in self._explained.values()]
            wanted = sorted({*chain(*cones), *self._shows, self._scene.position})
        chosen = window(len(wanted), place_of(self._scene.position, wanted), EVENTS_MAX)
        self.positions = sorted({*wanted[chosen.start : chosen.stop], *self._shows})
        self.left_out = left_out_in_words(chosen.start, len(wanted) - chosen.stop)
        self._rows = ["committed", *replicas_of(case.events)]

    @property
    def diagram(self) -> str:
        """The space-time diagram of the shown events, without sentences, as SVG."""
        diagram = SpaceTime(self._scene, self.positions, {*self._shows}, sentences=False)
        return inline_of(diagram.picture(), alternative="Space-time diagram")

    def content(self) -> dict[str, Any]:
        """The data for the page's script, as JSON takes it."""
        scene, own, painter = self._scene, self.case.violation, _Painter(self._scene, self._rows)
        changes, violations = list[dict[str, Any]](), dict[int, dict[str, Any]]()
        for number, position in enumerate(self.positions):
            frame = self.case.logs.frame(position)
            changes.append(painter.changes(frame))
            for which in [n for n, shows in enumerate(self._shows) if shows == position]:
                subject = scene.subject_of(self.case.run.seen[which], frame)
                violations[which] = {"f": number, "o": subject, **self._violation(which)}
        happened = [self.case.events[position] for position in self.positions]
        about = scene.about
        frames = [
            {"a": at, "s": sentence_of(event, about, longest=LINE_MAX), **changed}
            for (at, event), changed in zip(happened, changes, strict=True)
        ]
        subjects = (scene.subject, *[each["o"] for each in violations.values()])
        return {
            "name": printable(self.case.name),
            "rows": [printable(name) for name in self._rows],
            "columns": max([painter.end, 1, *[each + 1 for each in subjects if each is not None]]),
            "cells": [[*cell[:3], f"{cell.words}{cell.more}"] for cell in painter.table],
            "frames": frames,
            "focus": place_of(scene.position, self.positions),
            "subject": scene.subject,
            "chosen": -1 if own is None else self.case.run.seen.index(own),
            "violations": [violations[which] for which in sorted(violations)],
            "head": HEAD,
            "step": ROW,
        }

    def _violation(self, number: int) -> dict[str, Any]:
        """The data of a violation: name, time, sentence, has a place, row, deciding fact, lines."""
        violation, why = self.case.run.seen[number], self._explained.get(number)
        decided, lines = ("", ()) if why is None else (why.decided_by, why.lines)
        row = self._rows.index(violation.replica) if violation.replica in self._rows else -1
        return {
            "i": violation.invariant,
            "a": violation.at,
            "s": printable(violation.sentence, longest=LINE_MAX),
            "p": has_a_place(violation),
            "r": row,
            "d": printable(decided, longest=LINE_MAX),
            "w": [printable(line, longest=LINE_MAX) for line in lines],
        }


class _Painter:
    """Finds the changes of the grid from frame to frame.

    Attributes:
        table: Cell -> its number, in order of numbers.
        end: End of the offsets that were ever painted (exclusive).
    """

    def __init__(self, scene: Scene, rows: Sequence[str]) -> None:
        self.table: dict[Cell, int] = {NOTHING: 0}
        self.end = 0
        self._cells = scene.cells
        self._rows = rows
        self._painted: list[tuple[Sequence[Spot], Sequence[Spot]]] = [((), ())] * len(rows)
        self._marked: list[tuple[Any, ...] | None] = [None] * len(rows)

    def changes(self, frame: Frame) -> dict[str, Any]:
        """Finds the cells and marks to repaint: `c` (row, offset, number), `m` marks by row.

        Marks are None for a removed replica.
        """
        lanes = {lane.name: lane for lane in frame.lanes}
        cells, marks = [*self._row(0, frame.committed, frame)], dict[int, Any]()
        for row, name in enumerate(self._rows[1:], start=1):
            lane = lanes.get(name)
            cells += self._row(row, lane.spots if lane else (), frame)
            marked = lane and lane[1:-1]
            if marked != self._marked[row]:
                marks[row] = self._marked[row] = marked
        return {name: part for name, part in (("c", cells), ("m", marks)) if part}

    def _row(self, row: int, spots: Sequence[Spot], frame: Frame) -> Iterable[int]:
        before, now = self._painted[row], (spots, frame.committed)
        self._painted[row] = now
        if now == before:
            return
        pairs = enumerate(zip_longest(_beside(*now), _beside(*before), fillvalue=_NOTHING))
        for offset, (new, old) in pairs:
            if new != old and (cell := self._cells.of(*new)) != self._cells.of(*old):
                self.end = max(self.end, offset + 1)
                yield from (row, offset, self.table.setdefault(cell, len(self.table)))


_NOTHING = (NOT_THERE, NOT_COMMITTED)


def _beside(spots: Sequence[Spot], committed: Sequence[Spot]) -> Iterable[tuple[Spot, Spot]]:
    """Pairs each spot with the committed one."""
    return zip(spots, chain(committed, repeat(NOT_COMMITTED)), strict=False)


def explained(case: DrawnCase) -> dict[int, ExplanationText]:
    """Index -> explanation of the violation to open at, and of the first one of each invariant."""
    seen = case.run.seen
    names = [each.invariant for each in seen]
    own = [] if case.violation is None else [seen.index(case.violation)]
    wanted = dict.fromkeys([*own, *map(names.index, dict.fromkeys(names))])
    return {number: case.explained(seen[number]) for number in [*wanted][:EXPLAINED_MAX]}
