"""The space-time diagram: a lane for each replica, time downwards, messages from lane to lane."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from sim import trace
from sim.draw.frames import replicas_of
from sim.draw.scene import Scene
from sim.draw.shapes import Path, Picture, Rect, Shape, Text, arrow, fitting
from sim.draw.signs import sign
from sim.draw.words import printable
from sim.trace.cluster import INSTANT_FAULTS
from sim.trace.sentences import About, describe

ROW = 24.0
"""Height of an event, in pixels: a page finds the one at hand by it."""
HEAD = 30.0
"""Height of the names above the first event."""
_TOP = HEAD - 8
_LANE = 74.0
_LANE_NARROWEST = 46.0
_LANES = 420.0
"""About as wide are all lanes together, if there are many."""
_TIME = 54.0
_BAND = 16.0
_BESIDE = 14.0
_SENTENCE_MAX = 96
"""So many characters of a sentence are shown."""
CLIENTS = "clients"
CONTROLLER = "controller"

_SIGNS: Final[dict[type[trace.Event], str]] = {
    trace.Appended: "append",
    trace.LeaderElected: "election",
    trace.Cleaned: "cleaning",
    trace.FaultInjected: "crash",
    trace.ReplicaCrashed: "crash",
    trace.ReplicaRemoved: "crash",
    trace.ReplicaWiped: "crash",
    trace.Truncated: "cut",
    trace.LogEmptied: "cut",
    trace.SnapshotTaken: "snapshot",
    trace.SnapshotInstalled: "snapshot",
    trace.HighWatermarkMoved: "advance",
    trace.Quiesced: "rest",
}
"""What a replica does by itself, as a sign on its lane."""

_MESSAGES: Final[dict[type[trace.Event], tuple[str, str, str]]] = {
    trace.Copied: ("leader", "replica", "message"),
    trace.GapLearned: ("leader", "replica", "message"),
    trace.Pushed: ("leader", "replica", "message"),
    trace.SnapshotChunkFetched: ("leader", "replica", "answer"),
    trace.SnapshotOffered: ("replica", "follower", "answer"),
    trace.PositionRecorded: ("follower", "replica", "answer"),
    trace.Consumed: ("replica", "consumer", "message"),
    trace.ConsumerReset: ("replica", "consumer", "message"),
    trace.CoordinatorAnswered: ("replica", "client", "message"),
    trace.Acknowledged: ("replica", "other", "message"),
    trace.UncleanElection: ("other", "replica", "answer"),
}
"""Who tells whom something, by the names of an event's fields, and how the arrow looks."""


class SpaceTime:
    """Draws chosen events of a run.

    Args:
        scene: The run.
        positions: Which of its events to show, in order.
        violated: Positions of events whose rows are marked; None = the one that the scene is at.
        sentences: Whether each row ends with what happened, in words.
        unit: What times count: `ms`, `step`.
    """

    def __init__(
        self,
        scene: Scene,
        positions: Sequence[int],
        *,
        violated: Collection[int] | None = None,
        sentences: bool = True,
        unit: str = "",
    ) -> None:
        self._scene = scene
        self._events = scene.case.events
        self._positions = positions
        if violated is None:
            violated = [] if scene.case.violation is None else [scene.position]
        self._violated = violated
        self._sentences = sentences
        self._unit = unit
        self._replicas = replicas_of(self._events)
        others = [self._other(self._events[position][1]) for position in positions]
        self.names = list(dict.fromkeys([*self._replicas, *[name for name in others if name]]))
        lane = min(_LANE, max(_LANES / max(len(self.names), 1), _LANE_NARROWEST))
        self._x = {name: _TIME + lane * (n + 0.5) for n, name in enumerate(self.names)}
        self._lane = lane
        self._lanes_end = _TIME + len(self.names) * lane
        self._bottom = HEAD + len(positions) * ROW

    def _other(self, event: trace.Event) -> str | None:
        """Who has a part in an event and is no replica: a client, or the controller."""
        if isinstance(event, trace.Acknowledged):
            return CLIENTS if event.producer_id < 0 else f"producer {event.producer_id}"
        if isinstance(event, trace.UncleanElection):
            return CONTROLLER
        client = getattr(event, "consumer", None) or getattr(event, "client", None)
        name = client or event.replica
        return None if name in self._replicas else name

    def picture(self) -> Picture:
        """The diagram."""
        texts = [Text(_TIME - 14, 14, self._unit, "tf", "end")] if self._unit else []
        for name, x in self._x.items():
            shown = fitting(printable(name), "tb", self._lane - 4)
            texts.append(Text(x, 14, shown, "tb", "middle"))
        about = self._scene.about if self._sentences else None
        marks: list[Shape] = []
        before: int | None = None
        for row, position in enumerate(self._positions):
            at, event = self._events[position]
            y = HEAD + (row + 0.5) * ROW
            if at != before:
                texts.append(Text(_TIME - 14, y + 4, str(at), "tf", "end"))
            before = at
            marks += self._marks(event, y)
            if self._sentences:
                x = self._lanes_end + _BESIDE
                texts.append(Text(x, y + 4, sentence_of(event, about), "t"))
        width = max([self._lanes_end, *[t.x + t.width for t in texts if t.anchor == "start"]])
        rows = [n for n, position in enumerate(self._positions) if position in self._violated]
        under = [Rect(0, HEAD + row * ROW, width, ROW, "alarmband", 3) for row in rows]
        shapes = (*under, *self._bands_and_lines(), *marks, *texts)
        return Picture(width, self._bottom, shapes)

    # What lasts for a time.

    def _changes(self) -> Iterable[tuple[int, str, str, Any]]:
        """When what lasts changes: position, replica, what, and its value, None = it is over."""
        replay, last = self._scene.replay, self._positions[-1] if self._positions else -1
        replay.upto(self._events, last)
        for role in replay.roles:
            yield role.position, role.name, "leads", role.leads
            yield role.position, role.name, "lane", "lane" if role.up else "down"
        faults = Counter[str]()
        for position, (_, event) in enumerate(self._events[: last + 1]):
            if isinstance(event, trace.FaultInjected) and event.fault not in INSTANT_FAULTS:
                faults[event.replica] += 1
            elif isinstance(event, trace.FaultEnded):
                faults[event.replica] = max(faults[event.replica] - 1, 0)
            else:
                continue
            yield position, event.replica, "fault", "fault" if faults[event.replica] else None

    def _lasting(self) -> Iterable[tuple[str, str, Any, float, float]]:
        """Replica, what lasts, its value, from where and to where."""
        since: dict[tuple[str, str], tuple[float, Any]] = {
            (name, "lane"): (_TOP, "lane") for name in self.names
        }
        for position, name, what, value in self._changes():
            row = bisect_left(self._positions, position)
            if row == len(self._positions):
                continue
            shown = self._positions[row] == position
            y = HEAD + (row + 0.5) * ROW if shown else max(HEAD + row * ROW - 2, _TOP)
            start, before = since.get((name, what), (y, None))
            if before != value:
                yield name, what, before, start, y
                since[(name, what)] = (y, value)
        for (name, what), (start, value) in since.items():
            yield name, what, value, start, self._bottom

    def _bands_and_lines(self) -> Iterable[Shape]:
        """Lanes, dotted where a replica is down; bands of leaders on them; faults beside them."""
        lines, bands = list[Shape](), list[Shape]()
        for name, what, value, start, end in self._lasting():
            x = self._x.get(name)
            if x is None or value is None or end <= start:
                continue
            if what == "leads" and end > HEAD:
                bands += self._band(name, value, start, end)
            elif what == "lane":
                lines.append(Path(((x, start), (x, end)), value))
            elif what == "fault" and end > HEAD:
                beside = x - _BAND / 2 - 4
                bands.append(Path(((beside, max(start, HEAD)), (beside, end)), "fault"))
        return [*lines, *bands]

    def _band(self, name: str, epoch: int, start: float, end: float) -> Iterable[Shape]:
        x, title = self._x[name], f"{printable(name)} leads epoch {epoch}"
        yield Rect(x - _BAND / 2, start, _BAND, end - start, f"band{epoch % 2}", 3, title)
        yield Text(x + _BAND / 2 + 3, start + 4, f"e{epoch}", "te")

    # What happens at once.

    def _marks(self, event: trace.Event, y: float) -> Iterable[Shape]:
        """A message as an arrow, what a replica does by itself as a sign on its lane."""
        if type(event) in _MESSAGES:
            source, target, look = _MESSAGES[type(event)]
            ends = [getattr(event, each, self._other(event)) or "" for each in (source, target)]
            yield from self._arrow(self._x.get(ends[0]), self._x.get(ends[1]), y, look)
            return
        name = _SIGNS.get(type(event), "other")
        if isinstance(event, trace.FaultInjected) and event.fault in INSTANT_FAULTS:
            name = "other"
        own = event.replica if event.replica in self._x else self._other(event)
        for lane in self._replicas if own is None else [own]:
            yield sign(name, self._x[lane], y)

    def _arrow(
        self, start: float | None, end: float | None, y: float, look: str
    ) -> Iterable[Shape]:
        if end is None or start is None or start == end:
            if end is not None:
                yield sign("sent", end, y)
            return
        side, top = 1 if end > start else -1, y - ROW / 2 + 4
        yield sign("sent", start, top)
        yield from arrow((start + side * 2.5, top), (end - side, y + 3), look)


def sentence_of(event: trace.Event, about: About | None) -> str:
    """What happened in words, as long as a row may be; `about` tells which records to name."""
    text = printable(describe(event, about=about))
    return text if len(text) <= _SENTENCE_MAX else text[: _SENTENCE_MAX - 1] + "…"
