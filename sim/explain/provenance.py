"""Who wrote what: of every fact of a run, the events that made it so, by their positions.

A position is the index of an event in the recorded list. A question is always about the moment
before an event: `slot("r2", 7, before=40)` is the position of the last event before the 40th that
changed what r2 holds at offset 7, or None.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence

from sim.log.record import Batch, Record
from sim.trace import (
    Appended,
    Cleaned,
    ConfigChanged,
    Consumed,
    ConsumerReset,
    CoordinatorLoaded,
    Copied,
    EpochCacheChanged,
    Event,
    FaultEnded,
    FaultInjected,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    ProducersForgotten,
    Pushed,
    RemovalBoundMoved,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotChunkFetched,
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotOffered,
    SnapshotTaken,
    Truncated,
    UncleanElection,
)

Recorded = Sequence[tuple[int, Event]]
"""(when, event) as a run or a story records them; when: ms, or the number of a step."""

END = 1 << 60
"""Above every offset, and after every position."""

Fact = tuple[str, ...]
"""What an event may change beside slots: its kind, and whose it is."""

Cut = tuple[int, int, int]
"""A position, and the offsets [first, last) that changed there all at once."""


class Provenance:
    """The events of a run by what they changed; one pass over them.

    Attributes:
        events: As they were recorded.
        replicas: Who has a log, in order of appearance.
        records: uid -> the record as it was appended.
        batches: uid -> the batch it was appended in.
        appended_at: uid -> position of the append.
        offsets_of_key: Key -> offsets that its records were given, in order of appends.
    """

    def __init__(self, events: Recorded) -> None:
        """Look at all of `events`."""
        self.events = events
        self.replicas: list[str] = []
        self.records: dict[int, Record] = {}
        self.batches: dict[int, Batch] = {}
        self.appended_at: dict[int, int] = {}
        self.offsets_of_key: dict[str, list[int]] = {}
        self._slots: dict[str, dict[int, list[int]]] = {}
        self._cuts: dict[str, list[Cut]] = {}
        self._facts: dict[Fact, list[int]] = {}
        self._ends: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        for position, (_, event) in enumerate(events):
            self._take(position, event)

    # Questions.

    def slot(self, replica: str, offset: int, *, before: int = END) -> int | None:
        """The last event before a position that changed what a replica holds at an offset."""
        found = _last(self._slots.get(replica, {}).get(offset, ()), before)
        for position, first, end in reversed(self._cuts.get(replica, ())):
            if position < before and first <= offset < end:
                return position if found is None or position > found else found
        return found

    def last(self, *fact: str, before: int = END) -> int | None:
        """The last event before a position that changed a fact; None = there was none."""
        return _last(self._facts.get(fact, ()), before)

    def all(self, *fact: str, after: int = -1, before: int = END) -> list[int]:
        """All events between two positions (exclusive) that changed a fact, in order."""
        known = self._facts.get(fact, [])
        return known[bisect_left(known, after + 1) : bisect_left(known, before)]

    def first_commit(self, offset: int) -> int | None:
        """The first event by which a leader's high watermark passed an offset."""
        for position in self._facts.get(("commit",), ()):
            event = self.events[position][1]
            assert isinstance(event, HighWatermarkMoved)
            if event.high_watermark > offset:
                return position
        return None

    # The pass.

    def _take(self, position: int, event: Event) -> None:
        match event:
            case Appended(name, batch):
                self._enter(position, batch)
                self._write(position, name, [batch], batch.last_offset + 1)
            case Copied(name, _, start, batches, end):
                self._touch(position, name, range(start, end))
                self._write(position, name, batches, end)
            case Pushed(name, _, batch):
                self._write(position, name, [batch], batch.last_offset + 1)
            case GapLearned(name, _, start, end, _):
                self._touch(position, name, range(start, end))
                self._grow(position, name, end)
            case Cleaned() | SegmentsLost():
                self._clean(position, event)
            case _:
                self._shrink(position, event)
        for fact in _changed(event):
            self._note(position, *fact)

    def _shrink(self, position: int, event: Event) -> None:
        """What is lost from an end of a log, or of all of it."""
        match event:
            case Truncated(name, target, _, _, _, _, lowest):
                self._cut(position, name, target if lowest is None else lowest, END)
                self._ends[name] = target
            case ReplicaCrashed(name, end, _, _) | ReplicaRestarted(name, end, _, _):
                if end < self._ends.get(name, END):
                    self._cut(position, name, end, END)
                    self._ends[name] = end
            case ReplicaWiped(name, _) | LogEmptied(name, _, _, _, _):
                self._cut(position, name, 0, END)
                self._ends[name] = self._starts[name] = 0
            case LogStartedAfresh(name, start, _, _) | SnapshotInstalled(name, start):
                self._cut(position, name, 0, END)
                self._ends[name] = self._starts[name] = start
            case PrefixDeleted(name, start, _) | LogStartMoved(name, start, _, _):
                self._cut(position, name, self._starts.get(name, 0), start)
                self._starts[name] = start
            case ReplicaAdded(name):
                self._ends[name] = 0
            case _:
                return
        self._note(position, "end", event.replica or "")

    def _enter(self, position: int, batch: Batch) -> None:
        for record in batch.records:
            self.records.setdefault(record.uid, record)
            self.batches.setdefault(record.uid, batch)
            self.appended_at.setdefault(record.uid, position)
            if record.key is not None:
                self.offsets_of_key.setdefault(record.key, []).append(record.offset)
        if batch.control is not None:
            self._note(position, "marker", str(batch.producer_id))

    def _write(self, position: int, name: str, batches: Iterable[Batch], end: int) -> None:
        for batch in batches:
            self._touch(position, name, range(batch.base_offset, batch.last_offset + 1))
            if batch.delete_horizon_ms is not None:
                self._note(position, "horizon", name, str(batch.base_offset))
        self._grow(position, name, end)

    def _grow(self, position: int, name: str, end: int) -> None:
        self._ends[name] = end
        self._note(position, "end", name)

    def _clean(self, position: int, event: Cleaned | SegmentsLost) -> None:
        name = event.replica
        if isinstance(event, SegmentsLost):
            self._touch(position, name, event.offsets)
            return
        gone = [removal.offset for removal in event.removals]
        self._touch(position, name, [*gone, *event.emptied, *event.dropped])
        for base, _ in event.horizons:
            self._note(position, "horizon", name, str(base))
        if event.log_end_offset < self._ends.get(name, 0):
            self._cut(position, name, event.log_end_offset, END)
            self._grow(position, name, event.log_end_offset)

    def _touch(self, position: int, name: str, offsets: Iterable[int]) -> None:
        slots = self._slots.setdefault(name, {})
        for offset in offsets:
            known = slots.setdefault(offset, [])
            if not known or known[-1] != position:
                known.append(position)

    def _cut(self, position: int, name: str, first: int, end: int) -> None:
        if first < end:
            self._cuts.setdefault(name, []).append((position, first, end))

    def _note(self, position: int, *fact: str) -> None:
        known = self._facts.setdefault(fact, [])
        if not known or known[-1] != position:
            known.append(position)
        if fact[0] == "end" and fact[1] not in self.replicas:
            self.replicas.append(fact[1])


def _last(positions: Sequence[int], before: int) -> int | None:
    index = bisect_left(positions, before)
    return positions[index - 1] if index else None


def _changed(event: Event) -> list[Fact]:
    """The facts that an event changes beside the slots and the end of a log."""
    return [*_of_leaders(event), *_of_a_replica(event), *_of_snapshots(event), *_of_readers(event)]


def _of_leaders(event: Event) -> list[Fact]:
    name = event.replica or ""
    match event:
        case LeaderElected():
            return [("leader",), ("lead", name), ("isr",)]
        case LeaderResigned():
            return [("lead", name), ("down", name)]
        case UncleanElection():
            return [("unclean", name)]
        case PositionRecorded(_, follower, _):
            return [("position", name, follower), ("position", follower)]
        case IsrChanged(_, _, joined):
            return [("isr",), *([("joined", joined)] if joined else [])]
        case HighWatermarkMoved(_, _, leading):
            return [("mark", name), *([("commit",)] if leading else [])]
        case EpochCacheChanged():
            return [("epochs", name)]
        case _:
            return []


def _of_a_replica(event: Event) -> list[Fact]:
    name = event.replica or ""
    match event:
        case ReplicaCrashed() | ReplicaWiped():
            return [("down", name), ("state", name)]
        case ReplicaRestarted():
            return [("state", name), ("restart", name)]
        case FaultInjected() | FaultEnded():
            return [("fault", name)]
        case ConfigChanged():
            return [("config", name)]
        case RemovalBoundMoved():
            return [("bound", name)]
        case Cleaned():
            return [("cleaned", name)]
        case ProducersForgotten():
            return [("forgotten", name)]
        case _:
            return []


def _of_readers(event: Event) -> list[Fact]:
    match event:
        case Consumed(_, consumer) | ConsumerReset(_, consumer):
            return [("read", consumer)]
        case CoordinatorLoaded(name):
            return [("loaded", name)]
        case _:
            return []


def _of_snapshots(event: Event) -> list[Fact]:
    name = event.replica or ""
    match event:
        case SnapshotTaken(_, end, epoch, _):
            return [("taken", str(end), str(epoch)), ("snapshot", name)]
        case SnapshotInstalled() | SnapshotFetched() | SnapshotDeleted() | LogEmptied():
            return [("snapshot", name)]
        case SnapshotChunkFetched() | SnapshotFetchDropped():
            return [("snapshot", name)]
        case SnapshotOffered(_, follower):
            return [("offered", follower)]
        case PrefixDeleted() | LogStartMoved() | LogStartedAfresh():
            return [("start", name)]
        case _:
            return []
