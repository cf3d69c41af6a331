"""A run as what changes from one shown event to the next, for pages that step through it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

from sim.check import Violation
from sim.draw.case import Case
from sim.draw.cells import NOTHING, Cell, Cells
from sim.draw.columns import about_subject, has_a_place, subject_of
from sim.draw.frames import NOT_THERE, Lane, Replay, Spot, position_of
from sim.draw.shown import left_out_in_words, positions_shown, window
from sim.draw.space_time import HEAD, ROW, SpaceTime, sentence_of
from sim.draw.words import Words, printable
from sim.rules import Rules
from sim.trace import LeaderElected, ReplicaAdded

COMMITTED = 0
"""The first row of a grid is what was committed; the replicas follow."""


class Film:
    """One case, ready for a page.

    Attributes:
        left_out: How many events that should be shown are not, in words; empty = none.
        shown: So many are.
        which: What is shown, where that is not all.
        total: So many events the run has.
        diagram: The space-time diagram of the shown events, without sentences.
    """

    def __init__(
        self,
        case: Case,
        *,
        everything: bool = False,
        most: int | None = None,
        like: Violation | None = None,
    ) -> None:
        """Choose the events of a case.

        Args:
            case: What to show.
            everything: All events, not only those that led to the violation.
            most: So many events at most, the last ones and the violation; None = all.
            like: Of a case without a violation: one of another case, to show the same offset.
        """
        self._case = case
        self._subject = case.violation or like
        self._last = position_of(case.events, self._subject, case.rules)
        positions = positions_shown(
            case.events, self._subject, rules=case.rules, everything=everything
        )
        place = positions.index(self._last) if self._last in positions else len(positions) - 1
        chosen = window(len(positions), place, most)
        self.left_out = left_out_in_words(chosen.start, len(positions) - chosen.stop)
        self._positions = [positions[each] for each in chosen]
        self.shown, self.total = len(self._positions), len(case.events)
        self.which = ""
        if len(positions) < self.total:
            about = "led to the violation" if case.violation else "are about the same offset or key"
            self.which = f"those that {about}"
        self._replay = Replay(case.rules or Rules())
        self._words = Words(self._replay, case.labels, versions=case.rules is not None)
        self._cells = Cells(self._replay, self._words)
        self._table: dict[Cell, int] = {NOTHING: 0}
        self._rows = [
            "committed",
            *dict.fromkeys(e.replica for _, e in case.events if isinstance(e, ReplicaAdded)),
        ]
        self._painted: dict[int, tuple[Spot, ...]] = {}
        self._marked: dict[int, list[Any]] = {}
        self._committed = 0
        self.diagram = SpaceTime(
            case.events,
            self._positions,
            violation=case.violation,
            violated_at=None if case.violation is None else self._last,
            sentences=False,
        ).picture()

    def content(self) -> dict[str, Any]:
        """All that the page's script needs, as JSON takes it."""
        about, subject = self._about()
        frames: list[dict[str, Any]] = []
        end, taken = 0 if subject is None else subject + 1, 0
        touched: set[str] = set()
        for position in self._positions:
            for at, event in self._case.events[taken : position + 1]:
                self._replay.take(at, event)
                touched.add(event.replica or "")
                if isinstance(event, LeaderElected):  # another one may be an old leader now
                    touched.update(self._rows)
            taken = position + 1
            at, event = self._case.events[position]
            frames.append({"a": at, "s": sentence_of(event, about), **self._changes(touched)})
            touched.clear()
            end = max([end, *[len(spots) for spots in self._painted.values()]])
        violation = self._case.violation
        replica = violation.replica if violation is not None else None
        return {
            "name": printable(self._case.name),
            "rows": [printable(name) for name in self._rows],
            "columns": end,
            "cells": [list(cell) for cell in self._table],
            "frames": frames,
            "focus": self._focus(),
            "subject": subject,
            "pointed": violation is not None and has_a_place(violation),
            "violated": violation is not None,
            "row": self._rows.index(replica) if replica in self._rows else -1,
            "head": HEAD,
            "step": ROW,
        }

    def _about(self) -> tuple[Any, int | None]:
        """Which records sentences name, and the offset that the violation is about."""
        replay = Replay(self._case.rules or Rules())
        for at, event in self._case.events[: self._last + 1]:
            replay.take(at, event)
        words = Words(replay, self._case.labels)
        frame = replay.frame()
        subject = subject_of(frame, words, self._subject)
        return about_subject(frame, words, self._subject, subject), subject

    def _focus(self) -> int:
        """The place of the violation among the shown events; without one, of the last event."""
        if self._last in self._positions:
            return self._positions.index(self._last)
        return len(self._positions) - 1

    def _changes(self, touched: set[str]) -> dict[str, Any]:
        """What the page has to paint anew: `c` are cells, row, offset, number; `m` are marks."""
        replay, cells, changed = self._replay, list[int](), dict[int, Any]()
        committed = replay.history.committed
        news = range(self._committed, len(committed))
        self._committed = len(committed)
        for offset in news:
            self._paint(COMMITTED, offset, self._cells.committed(committed[offset]), cells)
        for row, name in enumerate(self._rows[1:], start=1):
            if name not in replay.history.replicas:
                if self._marked.pop(row, None) is not None:
                    changed[row] = None
                continue
            known = self._painted.get(row, ())
            if name in touched:
                lane = replay.lane(name)
                self._painted[row] = lane.spots
                mark = _mark(lane)
                if mark != self._marked.get(row):
                    self._marked[row] = changed[row] = mark
            for offset in _differing(known, self._painted.get(row, ()), news):
                spot = self._painted[row][offset] if offset < len(self._painted[row]) else NOT_THERE
                truth = committed[offset] if offset < len(committed) else 0
                self._paint(row, offset, self._cells.of(spot, truth), cells)
        parts: dict[str, Any] = {}
        if cells:
            parts["c"] = cells
        if changed:
            parts["m"] = changed
        return parts

    def _paint(self, row: int, offset: int, cell: Cell, cells: list[int]) -> None:
        cells += [row, offset, self._table.setdefault(cell, len(self._table))]


def _differing(known: Sequence[Spot], now: Sequence[Spot], news: range) -> list[int]:
    """Where a row is to be painted: spots that are other ones, and what was committed just now."""
    found = [offset for offset in news if offset < len(now)]
    if known is now:
        return found
    pairs = zip_longest(known, now)
    return found + [
        offset for offset, (old, new) in enumerate(pairs) if old is not new and offset not in news
    ]


def _mark(lane: Lane) -> list[Any]:
    """Log start, log end, high watermark, last stable offset, clean point; role, snapshots, up."""
    role = ""
    if lane.leads is not None:
        role = f"{'leader' if lane.newest else 'old leader'}, epoch {lane.leads}"
    snapshots = " ".join(f"({end}, {epoch})" for end, epoch in lane.snapshots)
    return [
        lane.log_start_offset,
        lane.log_end_offset,
        lane.high_watermark,
        lane.last_stable_offset,
        lane.clean_point,
        role if lane.up else f"{role} down".strip(),
        f" snapshot {snapshots}" if snapshots else "",
        int(lane.up),
    ]
