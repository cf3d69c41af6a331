"""A run as what changes from one shown event to the next, for pages that step through it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, repeat, zip_longest
from typing import Any

from sim.check import Violation
from sim.draw.cells import NOTHING, Cell, Cells, printable
from sim.draw.figure import left_out_in_words, place_of, window
from sim.draw.frames import Frame, Replay, replicas_of
from sim.draw.scene import Case, Scene, has_a_place, position_of
from sim.draw.shapes import inline_of
from sim.draw.space_time import HEAD, ROW, SpaceTime, sentence_of
from sim.draw.spots import NOT_COMMITTED, NOT_THERE, Spot
from sim.explain import Explanation
from sim.trace import FaultInjected, LeaderElected, ReplicaCrashed, ReplicaRestarted

EXPLAINED_MAX = 12
"""Of so many violations a page says what led to them: of the first ones of their invariants."""
LINE_MAX = 2_000
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
        diagram = SpaceTime(self._scene, self._positions, {*self._shows}, sentences=False)
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
        found = [len(self.case.events) - 1]
        for position, (at, event) in enumerate(self.case.events):
            name = event.replica or ""
            before = None if subject is None else replay.spot(name, subject)
            replay.take(at, event)
            after = None if subject is None else replay.spot(name, subject)
            if before != after or isinstance(event, _TURNS):
                found.append(position)
        return sorted({*found})

    def content(self) -> dict[str, Any]:
        """All that the page's script needs, as JSON takes it."""
        replay = Replay(self.case.rules)
        cells = Cells(replay, self.case.labels, versions=self.case.rules is not None)
        painter, frames, about = _Painter(cells, self._rows), [], self._scene.about
        subjects: dict[int, int | None] = {}
        for position in self._positions:
            replay.upto(self.case.events, position)
            frame, (at, event) = replay.frame(), self.case.events[position]
            frames.append({"a": at, "s": sentence_of(event, about), **painter.changes(frame)})
            for number in [n for n, shows in enumerate(self._shows) if shows == position]:
                subjects[number] = self._scene.subject_of(self.case.violations[number], frame)
        named = [
            each for each in (*subjects.values(), self._scene.subject or 0) if each is not None
        ]
        own = self.case.violation
        return {
            "name": printable(self.case.name),
            "rows": [printable(name) for name in self._rows],
            "columns": max([painter.end, *[each + 1 for each in named]]),
            "cells": [[*cell[:3], f"{cell.words}{cell.more}"] for cell in painter.table],
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
    """Says what each frame changes in the grid of a page.

    Attributes:
        table: Cell -> its number, in order of numbers.
        end: Offsets end here at which something was ever painted (exclusive).
    """

    def __init__(self, cells: Cells, rows: Sequence[str]) -> None:
        self.table: dict[Cell, int] = {NOTHING: 0}
        self.end = 0
        self._cells = cells
        self._rows = rows
        self._painted: list[tuple[Sequence[Spot], Sequence[Spot]]] = [((), ())] * len(rows)
        self._marked: list[tuple[Any, ...] | None] = [None] * len(rows)

    def changes(self, frame: Frame) -> dict[str, Any]:
        """What is to be painted anew: `c` are cells, row, offset, number; `m` marks by row.

        Marks are None where a replica is gone.
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
    """Each spot with what was committed there."""
    return zip(spots, chain(committed, repeat(NOT_COMMITTED)), strict=False)


def explained(case: Case) -> dict[int, Explanation]:
    """Place -> why, of the violation to look at and of the first one of each invariant."""
    names = [each.invariant for each in case.violations]
    own = [] if case.violation is None else [case.violations.index(case.violation)]
    wanted = dict.fromkeys([*own, *map(names.index, dict.fromkeys(names))])
    return {number: case.explained(case.violations[number]) for number in [*wanted][:EXPLAINED_MAX]}
