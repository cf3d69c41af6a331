"""The space-time diagram: a lane for each replica, time downwards, messages from lane to lane."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from sim.diagnose.draw.cells import printable
from sim.diagnose.draw.frames import replicas_of
from sim.diagnose.draw.scene import Scene
from sim.diagnose.draw.shapes import Path, Picture, Rect, Shape, Text, arrow, fitting, sign
from sim.diagnose.explain.causality import MESSAGES
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.events.sentences import About, describe
from sim.simulate.faults import INSTANT_FAULTS

ROW = 24.0
"""Height of an event's row in pixels; the page's script uses it to find the current event."""
HEAD = 30.0
"""Height of the names above the first event."""
_TOP = HEAD - 8
_LANE = 74.0
_LANE_NARROWEST = 46.0
_LANES = 420.0
"""Approximate width of all lanes together, if there are many."""
_TIME = 54.0
_BAND = 16.0
_BESIDE = 14.0
_SENTENCE_MAX = 96
"""How many characters of a sentence are shown."""
CLIENTS = "clients"
CONTROLLER = "controller"

_SIGNS: Final[dict[type[Event], str]] = {
    on.Appended: "append",
    on.LeaderElected: "election",
    on.Cleaned: "cleaning",
    on.FaultInjected: "crash",
    on.ReplicaCrashed: "crash",
    on.ReplicaRemoved: "crash",
    on.ReplicaWiped: "crash",
    on.Truncated: "cut",
    on.LogEmptied: "cut",
    on.SnapshotTaken: "snapshot",
    on.SnapshotInstalled: "snapshot",
    on.HighWatermarkMoved: "advance",
    on.Quiesced: "rest",
}
"""Class of an event of one replica -> the sign on its lane."""

_ENDS: Final[dict[type, tuple[str, str]]] = {
    **MESSAGES,
    on.Acknowledged: ("replica", "other"),
    on.UncleanElection: ("other", "replica"),
}
"""Class of an event drawn as an arrow -> its fields with the sender and the receiver; `other` is a
client or the controller."""
_ANSWERS: Final = (
    *(on.SnapshotChunkFetched, on.SnapshotOffered, on.PositionRecorded, on.UncleanElection),
)
"""Classes of events whose arrow is dashed; that of others in `_ENDS` is solid."""


@dataclass(frozen=True)
class SpaceTime:
    """Draws chosen events of a run.

    Attributes:
        scene: Scene of the run.
        positions: Positions of the events to show, in order.
        violated: Positions of the events whose rows are marked.
        sentences: True to end each row with the event in words, below the unit of times.
    """

    scene: Scene
    positions: Sequence[int]
    violated: Collection[int]
    sentences: bool = True

    @cached_property
    def _shown(self) -> list[tuple[int, Event]]:
        return [self.scene.case.events[position] for position in self.positions]

    @cached_property
    def _replicas(self) -> list[str]:
        return replicas_of(self.scene.case.events)

    @cached_property
    def _names(self) -> list[str]:
        """Names of the lanes: the replicas, then clients and other participants."""
        others = [self._other(event) for _, event in self._shown]
        return list(dict.fromkeys([*self._replicas, *[name for name in others if name]]))

    @cached_property
    def _lane(self) -> float:
        """Width of a lane in pixels."""
        return min(_LANE, max(_LANES / max(len(self._names), 1), _LANE_NARROWEST))

    @cached_property
    def _x(self) -> dict[str, float]:
        return {name: _TIME + self._lane * (n + 0.5) for n, name in enumerate(self._names)}

    def _other(self, event: Event) -> str | None:
        """The client or the controller that takes part in an event; None without one."""
        if isinstance(event, on.Acknowledged):
            return CLIENTS if event.producer_id < 0 else f"producer {event.producer_id}"
        if isinstance(event, on.UncleanElection):
            return CONTROLLER
        client = getattr(event, "consumer", None) or getattr(event, "client", None)
        name = client or event.replica
        return None if name in self._replicas else name

    def picture(self) -> Picture:
        """Draws the whole diagram as a picture."""
        unit = self.scene.case.run.unit
        texts = [Text(_TIME - 14, 14, unit, "tf", "end")] if self.sentences else []
        for name, x in self._x.items():
            shown = fitting(printable(name), "tb", self._lane - 4)
            texts.append(Text(x, 14, shown, "tb", "middle"))
        right = _TIME + len(self._names) * self._lane
        about = self.scene.about if self.sentences else None
        marks: list[Shape] = []
        before: int | None = None
        for row, (at, event) in enumerate(self._shown):
            y = HEAD + (row + 0.5) * ROW
            if at != before:
                texts.append(Text(_TIME - 14, y + 4, str(at), "tf", "end"))
            before = at
            marks += self._marks(event, y)
            if self.sentences:
                texts.append(Text(right + _BESIDE, y + 4, sentence_of(event, about), "t"))
        width = max([right, *[text.x + text.width for text in texts if text.anchor == "start"]])
        rows = [n for n, position in enumerate(self.positions) if position in self.violated]
        under = [Rect(0, HEAD + row * ROW, width, ROW, "alarmband", 3) for row in rows]
        shapes = (*under, *self._bands_and_lines(), *marks, *texts)
        return Picture(width, self._y(len(self._shown)), shapes)

    # Leaderships, crashes and faults last for a time.

    def _y(self, row: float) -> float:
        return HEAD + row * ROW

    def _changes(self) -> Iterable[tuple[int, str, str, Any]]:
        """The changes of lasting states: position, replica, state, value.

        The states are `leads` (an epoch), `lane` (`lane` or `down`) and `fault`; None ends one.
        """
        logs, last = self.scene.case.logs, max(self.positions, default=-1)
        for position, name, leads, up in logs.roles(last):
            yield position, name, "leads", leads
            yield position, name, "lane", "lane" if up else "down"
        for position in logs.all(on.FaultInjected, on.FaultEnded, before=last + 1):
            name = logs.event(position).replica
            lasts = logs.lasting_fault(name, position + 1) is not None
            yield position, name, "fault", "fault" if lasts else None

    def _lasting(self) -> Iterable[tuple[str, str, Any, float, float]]:
        """The lasting states: replica, state, value, and where it begins and ends in pixels."""
        since: dict[tuple[str, str], tuple[float, Any]] = {
            (name, "lane"): (_TOP, "lane") for name in self._names
        }
        for position, name, what, value in self._changes():
            row = bisect_left(self.positions, position)
            shown = self.positions[row] == position
            y = self._y(row + 0.5) if shown else max(self._y(row) - 2, _TOP)
            start, before = since.get((name, what), (y, None))
            if before != value:
                yield name, what, before, start, y
                since[(name, what)] = (y, value)
        for (name, what), (start, value) in since.items():
            yield name, what, value, start, self._y(len(self._shown))

    def _bands_and_lines(self) -> Iterable[Shape]:
        """Draws lanes, dotted while a replica is down, bands of leaders, and lines of faults."""
        bands = list[Shape]()
        for name, what, value, start, end in self._lasting():
            x = self._x.get(name)
            if x is None or value is None or end <= start:
                continue
            if what == "lane":
                yield Path(((x, start), (x, end)), value)
            elif end > HEAD and what == "leads":
                title = f"{printable(name)} leads epoch {value}"
                height, look = end - start, f"band{value % 2}"
                bands.append(Rect(x - _BAND / 2, start, _BAND, height, look, 3, title))
                bands.append(Text(x + _BAND / 2 + 3, start + 4, f"e{value}", "te"))
            elif end > HEAD:
                beside = x - _BAND / 2 - 4
                bands.append(Path(((beside, max(start, HEAD)), (beside, end)), "fault"))
        yield from bands

    # Single events.

    def _marks(self, event: Event, y: float) -> Iterable[Shape]:
        """Draws a message as an arrow, and any other event as a sign on its lane."""
        if type(event) in _ENDS:
            look = "answer" if isinstance(event, _ANSWERS) else "message"
            names = [getattr(event, each, self._other(event)) or "" for each in _ENDS[type(event)]]
            return _arrow(self._x.get(names[0]), self._x.get(names[1]), y, look)
        name = _SIGNS.get(type(event), "other")
        if isinstance(event, on.FaultInjected) and event.fault in INSTANT_FAULTS:
            name = "other"
        own = event.replica if event.replica in self._x else self._other(event)
        return [sign(name, self._x[lane], y) for lane in (self._replicas if own is None else [own])]


def _arrow(start: float | None, end: float | None, y: float, look: str) -> Sequence[Shape]:
    """Draws a message as an arrow between lanes.

    A point without a lane of its sender, or from a lane to itself; nothing without a receiver.
    """
    if end is None:
        return []
    if start is None or start == end:
        return [sign("sent", end, y)]
    side, top = 1 if end > start else -1, y - ROW / 2 + 4
    return [sign("sent", start, top), *arrow((start + side * 2.5, top), (end - side, y + 3), look)]


def sentence_of(event: Event, about: About | None, *, longest: int = _SENTENCE_MAX) -> str:
    """Describes an event within the length of a row; `about` selects the records to name."""
    return printable(describe(event, about=about), longest=longest)
