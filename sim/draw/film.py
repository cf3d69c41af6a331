"""A run as what changes from one shown event to the next, for pages that step through it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sim.check import Violation
from sim.draw.cells import NOTHING, Cell
from sim.draw.figure import left_out_in_words, place_of, window
from sim.draw.frames import NOT_THERE, Replay, Spot, replicas_of
from sim.draw.scene import Case, Scene, has_a_place, position_of
from sim.draw.shapes import inline_of
from sim.draw.space_time import HEAD, ROW, SpaceTime, sentence_of
from sim.draw.words import printable
from sim.explain import Explanation
from sim.trace import FaultInjected, LeaderElected, ReplicaCrashed, ReplicaRestarted

EXPLAINED_MAX = 12
"""Of so many violations a page says what led to them: of the first ones of their invariants."""
LINE_MAX = 2_000
_COMMITTED = 0
"""The first row of a grid is what was committed; the replicas follow."""
_TURNS = (LeaderElected, ReplicaCrashed, ReplicaRestarted, FaultInjected)
"""What is shown of a run without a violation, beside what is about the same offset."""


class Film:
    """One case, ready for a page.

    Attributes:
        case: What is shown.
        left_out: How many events that should be shown are not, in words; empty = none.
        shown: So many are.
        which: What is shown, where that is not all.
        total: So many events the run has.
        diagram: The space-time diagram of the shown events, without sentences, as SVG.
    """

    def __init__(
        self,
        case: Case,
        *,
        everything: bool = False,
        most: int | None = None,
        like: Violation | None = None,
        explained: Mapping[int, Explanation] | None = None,
    ) -> None:
        """Choose the events of a case.

        Args:
            case: What to show.
            everything: All events, not only those that led to a violation.
            most: So many events at most, beside those that show violations: the last ones, and
                what led to the violation to look at; None = all.
            like: Of a case without a violation: one of another case, to show the same offset.
            explained: Of violations, by their place among those of the case.
        """
        self.case = case
        self._scene = Scene(case, like)
        self._explained = explained or {}
        self._shows = [position_of(case.events, each) for each in case.violations]
        wanted = self._wanted(everything=everything)
        chosen = window(len(wanted), place_of(self._scene.position, wanted), most)
        self._positions = sorted({*wanted[chosen.start : chosen.stop], *self._shows})
        missing = sorted({*wanted} - {*self._positions})
        earlier = bisect_left(missing, self._scene.position)
        self.left_out = left_out_in_words(earlier, len(missing) - earlier)
        self.shown, self.total = len(self._positions), len(case.events)
        self.which = ""
        if len(wanted) < self.total:
            about = "led to a violation" if case.violation else "are about the same offset"
            self.which = f"those that {about}"
        self._rows = ["committed", *replicas_of(case.events)]
        self._table: dict[Cell, int] = {NOTHING: 0}
        diagram = SpaceTime(
            self._scene, self._positions, violated=set(self._shows), sentences=False
        )
        self.diagram = inline_of(diagram.picture(), alternative="Space-time diagram")

    def _wanted(self, *, everything: bool) -> Sequence[int]:
        """The positions of events to show, if there is room."""
        events = range(len(self.case.events))
        if everything or self._scene.violation is None:
            return events
        if self.case.violation is None:
            return self._of_the_subject()
        cones = [each.cone for each in self._explained.values()]
        found = {position for cone in cones for position in cone} | set(self._shows)
        return sorted({*found, self._scene.position})

    def _of_the_subject(self) -> list[int]:
        """The events that change the offset in question, who led and was down, and the last one."""
        subject, replay = self._scene.subject, Replay(self.case.rules)
        found = [
            position
            for position, (at, event) in enumerate(self.case.events)
            if subject in replay.take(at, event) or isinstance(event, _TURNS)
        ]
        return sorted({*found, len(self.case.events) - 1})

    def content(self) -> dict[str, Any]:
        """All that the page's script needs, as JSON takes it."""
        about = self._scene.about
        frames, painter = [], _Painter(self._scene, self._rows, self._table)
        subjects: dict[int, int | None] = {}
        taken = 0
        for position in self._positions:
            for at, event in self.case.events[taken : position + 1]:
                painter.take(at, event)
            taken = position + 1
            at, event = self.case.events[position]
            frames.append({"a": at, "s": sentence_of(event, about), **painter.changes()})
            for number in [n for n, shows in enumerate(self._shows) if shows == position]:
                frame = painter.replay.frame()
                subjects[number] = self._scene.subject_of(self.case.violations[number], frame)
        ends = [painter.end, *[each + 1 for each in subjects.values() if each is not None]]
        own = self.case.violation
        return {
            "name": printable(self.case.name),
            "rows": [printable(name) for name in self._rows],
            "columns": max([*ends, (self._scene.subject or 0) + 1]),
            "cells": [list(cell[:4]) for cell in self._table],
            "frames": frames,
            "focus": place_of(self._scene.position, self._positions),
            "subject": self._scene.subject,
            "chosen": -1 if own is None else self.case.violations.index(own),
            "violations": [self._violation(number, subjects[number]) for number in subjects],
            "head": HEAD,
            "step": ROW,
        }

    def _violation(self, number: int, subject: int | None) -> dict[str, Any]:
        """A violation: frame, name, time, sentence, subject, whether that is a place, row, why."""
        violation, told = self.case.violations[number], self._explained.get(number)
        row = self._rows.index(violation.replica) if violation.replica in self._rows else -1
        return {
            "f": place_of(self._shows[number], self._positions),
            "i": violation.invariant,
            "a": violation.at,
            "s": printable(violation.sentence, longest=LINE_MAX),
            "o": subject,
            "p": has_a_place(violation),
            "r": row,
            "d": "" if told is None else printable(told.decided_by, longest=LINE_MAX),
            "w": [] if told is None else [printable(e, longest=LINE_MAX) for e in told.lines],
        }


class _Painter:
    """Paints the grid of a page event by event."""

    def __init__(self, scene: Scene, rows: Sequence[str], table: dict[Cell, int]) -> None:
        self.replay = Replay(scene.case.rules)
        self.end = 0
        self._cells = scene.cells
        self._rows = {name: row for row, name in enumerate(rows) if row}
        self._table = table
        self._dirty: set[tuple[str, int]] = set()
        self._touched: set[str] = set()
        self._painted: dict[tuple[int, int], int] = {}
        self._marked: dict[int, list[Any] | None] = {}
        self._committed = 0

    def take(self, at: int, event: Any) -> None:
        """One more event."""
        name = event.replica or ""
        self._dirty.update((name, offset) for offset in self.replay.take(at, event))
        self._touched.update(self._rows if isinstance(event, LeaderElected) else [name])

    def changes(self) -> dict[str, Any]:
        """What is to be painted anew: `c` are cells, row, offset, number; `m` are marks."""
        committed = self.replay.history.committed
        news = range(self._committed, len(committed))
        self._committed = len(committed)
        self._dirty.update((name, offset) for name in self._rows for offset in news)
        cells = list[int]()
        for offset in news:
            self._paint(_COMMITTED, offset, self._cells.committed(committed[offset]), cells)
        for name, offset in sorted(self._dirty):
            truth = committed[offset] if offset < len(committed) else 0
            self._paint(
                self._rows[name], offset, self._cells.of(self._spot(name, offset), truth), cells
            )
        marks = dict(self._new_marks())
        self._dirty.clear()
        self._touched.clear()
        parts = {"c": cells, "m": marks}
        return {name: part for name, part in parts.items() if part}

    def _spot(self, name: str, offset: int) -> Spot:
        spots = self.replay.spots_of(name)
        return spots[offset] if offset < len(spots) else NOT_THERE

    def _paint(self, row: int, offset: int, cell: Cell, cells: list[int]) -> None:
        number = self._table.setdefault(cell, len(self._table))
        if self._painted.get((row, offset), 0) != number:
            self._painted[(row, offset)] = number
            self.end = max(self.end, offset + 1)
            cells += [row, offset, number]

    def _new_marks(self) -> Iterable[tuple[int, Any]]:
        """Row -> fields of the lane but for name and spots, where it has other ones than before.

        None = the replica is gone.
        """
        for name in sorted(self._touched & self._rows.keys()):
            there = name in self.replay.history.replicas
            marks = list(self.replay.lane(name)[1:-1]) if there else None
            if marks != self._marked.get(self._rows[name]):
                self._marked[self._rows[name]] = marks
                yield self._rows[name], marks


def explained(case: Case) -> dict[int, Explanation]:
    """Place -> why, of the violation to look at and of the first one of each invariant."""
    names = [each.invariant for each in case.violations]
    own = [] if case.violation is None else [case.violations.index(case.violation)]
    wanted = dict.fromkeys([*own, *map(names.index, dict.fromkeys(names))])
    return {number: case.explained(case.violations[number]) for number in [*wanted][:EXPLAINED_MAX]}
