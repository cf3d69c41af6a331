"""The space-time diagram: a lane for each replica, time downwards, messages from lane to lane."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sim.check import Violation
from sim.draw.frames import Events
from sim.draw.shapes import Path, Picture, Rect, Shape, Text, arrow, fitting
from sim.draw.words import printable
from sim.trace import (
    Acknowledged,
    Appended,
    Cleaned,
    Consumed,
    ConsumerReset,
    CoordinatorAnswered,
    Copied,
    Event,
    FaultEnded,
    FaultInjected,
    GapLearned,
    HighWatermarkMoved,
    LeaderElected,
    LeaderResigned,
    LogEmptied,
    PositionRecorded,
    Pushed,
    Quiesced,
    ReadingEnded,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotChunkFetched,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
    Truncated,
    UncleanElection,
    Understood,
)
from sim.trace.cluster import INSTANT_FAULTS
from sim.trace.sentences import About, describe

ROW = 24.0
"""Height of an event, in pixels: a page finds the one at hand by it."""
HEAD = 30.0
"""Height of the names above the first event."""
_LANE = 74.0
_LANE_NARROWEST = 46.0
_LANES = 420.0
"""About as wide are all lanes together, if there are many."""
_TIME = 54.0
_BAND = 16.0
_SENTENCE_MAX = 96
"""So many characters of a sentence are shown."""
CLIENTS = "clients"
CONTROLLER = "controller"


@dataclass
class _State:
    """What bands and lanes look like from a row on."""

    leads: dict[str, tuple[int, float]] = field(default_factory=dict)
    down: dict[str, float] = field(default_factory=dict)
    faults: dict[tuple[str, str], list[float]] = field(default_factory=dict)


class SpaceTime:
    """Draws chosen events of a run.

    Args:
        events: All of the run.
        positions: Which of them to show, in order.
        violation: The row that shows it is marked; None = none.
        violated_at: Its position.
        sentences: Whether each row ends with what happened, in words.
        unit: What times count: `ms`, `step`.
        about: Which records sentences name; None = all.
    """

    def __init__(
        self,
        events: Events,
        positions: Sequence[int],
        *,
        violation: Violation | None = None,
        violated_at: int | None = None,
        sentences: bool = True,
        unit: str = "",
        about: About | None = None,
    ) -> None:
        self._events = events
        self._positions = positions
        self._violation = violation
        self._violated_at = violated_at
        self._sentences = sentences
        self._unit = unit
        self._about = about
        self._replicas = list(
            dict.fromkeys(event.replica for _, event in events if isinstance(event, ReplicaAdded))
        )
        shown = [events[position][1] for position in positions]
        clients = dict.fromkeys(name for event in shown if (name := self._other(event)))
        self.names = [*self._replicas, *clients]
        self._lane = min(_LANE, max(_LANES / max(len(self.names), 1), _LANE_NARROWEST))
        middles = [_TIME + self._lane * (number + 0.5) for number in range(len(self.names))]
        self._x = dict(zip(self.names, middles, strict=True))
        self.lanes_end = _TIME + len(self.names) * self._lane

    def _other(self, event: Event) -> str | None:
        """Who has a part in an event and is no replica: a client, or the controller."""
        if isinstance(event, Consumed | ConsumerReset | ReadingEnded | Understood):
            return event.consumer
        if isinstance(event, CoordinatorAnswered):
            return event.client
        if isinstance(event, Acknowledged):
            return CLIENTS if event.producer_id < 0 else f"producer {event.producer_id}"
        if isinstance(event, UncleanElection):
            return CONTROLLER
        if event.replica is not None and event.replica not in self._replicas:
            return event.replica
        return None

    def picture(self) -> Picture:
        """The diagram."""
        marks: list[Shape] = []
        texts: list[Shape] = [Text(_TIME - 14, 14, self._unit, "tf", "end")]
        alarm: list[float] = []
        height = HEAD + len(self._positions) * ROW
        for name in self.names:
            x, room = self._x[name], self._lane - 4
            texts.append(Text(x, 14, fitting(printable(name), "tb", room), "tb", "middle"))
        bands, lines = self._states()
        before: int | None = None
        widest = 0.0
        for row, position in enumerate(self._positions):
            at, event = self._events[position]
            y = self.y_of(row)
            if position == self._violated_at and self._violation is not None:
                alarm.append(y - ROW / 2)
            if at != before:
                texts.append(Text(_TIME - 14, y + 4, str(at), "tf", "end"))
            before = at
            marks += self._marks(event, y)
            if self._sentences:
                text = Text(self.lanes_end + 8, y + 4, sentence_of(event, self._about), "t")
                widest = max(widest, text.width)
                texts.append(text)
        width = self.lanes_end + (8 + widest if self._sentences else 0)
        under = [Rect(0, top, width, ROW, "alarmband", 3) for top in alarm]
        return Picture(width, height, (*under, *bands, *lines, *marks, *texts))

    def y_of(self, row: int) -> float:
        """The middle of a row."""
        return HEAD + row * ROW + ROW / 2

    def _states(self) -> tuple[list[Shape], list[Shape]]:
        """The bands of leaders and the lines of lanes; events that are not shown count, too."""
        bands: list[Shape] = []
        lines: list[Shape] = []
        state = _State()
        top, bottom = HEAD - 8, HEAD + len(self._positions) * ROW
        since = dict.fromkeys(self._replicas, top)
        row = 0
        for position, (_, event) in enumerate(self._events):
            while row < len(self._positions) and self._positions[row] < position:
                row += 1
            if row == len(self._positions):
                break
            shown = self._positions[row] == position
            y = self.y_of(row) if shown else max(HEAD + row * ROW - 2, top)
            name = event.replica or ""
            if name in state.leads and _stops_leading(event):
                epoch, start = state.leads.pop(name)
                bands += self._band(name, epoch, start, y)
            if isinstance(event, LeaderElected):
                state.leads[name] = (event.epoch, y)
            elif isinstance(event, FaultInjected) and event.fault not in INSTANT_FAULTS:
                state.faults.setdefault((name, event.fault), []).append(y)
            elif isinstance(event, FaultEnded):
                lines += self._fault(name, state.faults.get((name, event.fault)), y)
            elif isinstance(event, ReplicaCrashed | ReplicaRemoved):
                lines += self._line(name, since.get(name, top), y, "lane")
                state.down[name] = since[name] = y
            elif isinstance(event, ReplicaRestarted | ReplicaAdded) and name in state.down:
                lines += self._line(name, state.down.pop(name), y, "lanedown")
                since[name] = y
        for name, (epoch, start) in state.leads.items():
            bands += self._band(name, epoch, start, bottom)
        for (name, _), going_on in state.faults.items():
            while going_on:
                lines += self._fault(name, going_on, bottom)
        for name in self.names:
            look = "lanedown" if name in state.down else "lane"
            lines += self._line(name, since.get(name, top), bottom, look)
        return bands, lines

    def _band(self, name: str, epoch: int, start: float, end: float) -> Iterable[Shape]:
        if end <= HEAD:  # all of it was before the first event that is shown
            return
        x, height = self._x[name], max(end - start, 4.0)
        title = f"{printable(name)} leads epoch {epoch}"
        yield Rect(x - _BAND / 2, start, _BAND, height, f"band{epoch % 2}", 3, title)
        if height > _BAND / 2:
            yield Text(x + _BAND / 2 + 3, start + 4, f"e{epoch}", "te")

    def _fault(self, name: str, going_on: list[float] | None, end: float) -> Iterable[Shape]:
        """The earliest fault of a kind that goes on at a replica is over."""
        if going_on and name in self._x:
            start, x = going_on.pop(0), self._x[name] - _BAND / 2 - 4
            if end > max(start, HEAD):
                yield Path(((x, max(start, HEAD)), (x, end)), "fault")

    def _line(self, name: str, start: float, end: float, look: str) -> Iterable[Shape]:
        if end > start:
            x = self._x[name]
            yield Path(((x, start), (x, end)), look)

    # What happened, as signs.

    def _marks(self, event: Event, y: float) -> Iterable[Shape]:
        """Messages as arrows, what a replica does by itself as a sign on its lane."""
        name = event.replica or ""
        x = self._x.get(name)
        match event:
            case Copied(_, leader) | GapLearned(_, leader) | Pushed(_, leader):
                yield from self._arrow(leader, name, y, "message")
            case SnapshotChunkFetched(_, leader):
                yield from self._arrow(leader, name, y, "answer")
            case SnapshotOffered(_, follower):
                yield from self._arrow(name, follower, y, "answer")
            case PositionRecorded(_, follower):
                yield from self._arrow(follower, name, y, "answer")
            case Consumed(_, consumer) | ConsumerReset(_, consumer):
                yield from self._arrow(name, consumer, y, "message")
            case CoordinatorAnswered() | Acknowledged():
                yield from self._arrow(name, self._other(event) or "", y, "message")
            case UncleanElection():
                yield from self._arrow(CONTROLLER, name, y, "answer")
            case Quiesced():
                yield Path(((_TIME, y), (self.lanes_end, y)), "rule")
            case _:
                if x is not None:
                    yield from _sign(event, x, y)

    def _arrow(self, source: str, target: str, y: float, look: str) -> Iterable[Shape]:
        start, end = self._x.get(source), self._x.get(target)
        if start is None or end is None:
            if end is not None:
                yield _diamond(end, y, 3, "glyph")
            return
        side = 1 if end > start else -1
        yield _diamond(start, y - ROW / 2 + 4, 3, "glyph")
        begin = (start + side * 2.5, y - ROW / 2 + 4)
        yield from arrow(begin, (end - side * 1, y + 3), look)


def sentence_of(event: Event, about: About | None) -> str:
    """What happened in words, as long as a row may be; `about` tells which records to name."""
    text = printable(describe(event, about=about))
    return text if len(text) <= _SENTENCE_MAX else text[: _SENTENCE_MAX - 1] + "…"


def _stops_leading(event: Event) -> bool:
    return isinstance(
        event,
        LeaderElected
        | LeaderResigned
        | ReplicaCrashed
        | ReplicaRemoved
        | ReplicaWiped
        | Copied
        | GapLearned
        | Truncated
        | SnapshotInstalled,
    )


def _diamond(x: float, y: float, reach: float, look: str) -> Path:
    points = ((x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y))
    return Path(points, look, closed=True)


def _sign(event: Event, x: float, y: float) -> Iterable[Shape]:
    """A sign on a lane."""
    match event:
        case Appended():
            corners = ((x - 5, y - 5), (x + 5, y - 5), (x + 5, y + 5), (x - 5, y + 5))
            yield Path(corners, "glyph", closed=True)
        case LeaderElected():
            yield _diamond(x, y, 7, "open")
        case Cleaned():
            yield Path(((x - 7, y + 5), (x + 7, y + 5), (x, y - 7)), "open", closed=True)
        case FaultInjected(_, fault) if fault in INSTANT_FAULTS:
            yield Rect(x - 4, y - 4, 8, 8, "open", 4)
        case ReplicaCrashed() | ReplicaRemoved() | ReplicaWiped() | FaultInjected():
            yield Path(((x - 5, y - 5), (x + 5, y + 5)), "cross")
            yield Path(((x - 5, y + 5), (x + 5, y - 5)), "cross")
        case Truncated() | LogEmptied():
            yield Path(((x - 9, y), (x + 9, y)), "cross")
        case SnapshotTaken() | SnapshotInstalled():
            yield Rect(x - 6, y - 5, 12, 10, "open", 1)
            yield Path(((x - 6, y), (x + 6, y)), "end")
        case HighWatermarkMoved():
            yield Path(((x - 7, y), (x + 7, y)), "hw")
        case _:
            yield Rect(x - 4, y - 4, 8, 8, "open", 4)
