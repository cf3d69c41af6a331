"""A run up to a moment, asked backwards: what there was before any event, and what made it so.

The state is that of `sim.check.history`, the one fold of events; this keeps beside it, for a run
that somebody looks at, which events changed each log and what they took from it. A position is the
index of an event in the record; a question is always about the moment before one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum
from heapq import merge
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sim.check.history import ClusterHistory
from sim.check.replica_view import ReplicaView
from sim.protocol.events import (
    Acknowledged,
    Appended,
    Cleaned,
    Copied,
    Event,
    FaultEnded,
    FaultInjected,
    GapLearned,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotDeleted,
    SnapshotInstalled,
    SnapshotTaken,
    Truncated,
)
from sim.protocol.log.record import Batch
from sim.protocol.rules import Rules
from sim.simulate.faults import INSTANT_FAULTS

Recorded = Sequence[tuple[int, Event]]
"""(when, event) as a run or a story records them; when: ms, or the number of a step."""

END: Final = 1 << 60
"""After every position."""


class Became(Enum):
    """What became of an offset on a replica, by the last event that touched it."""

    HELD = "the record is there"
    OTHER = "another record is there"
    CLEANED = "a pass of the cleaner took it"
    NOT_AT_SOURCE = "it was copied from a log that did not have it"
    CUT = "a truncation took it"
    CRASHED = "a crash took it with the tail"
    END_LOWERED = "a pass or a restart set the log end below it"
    SEGMENTS_LOST = "a crash amid a swap of segments took it"
    WIPED = "the disk was lost"
    REPLACED = "the log was thrown away, or a snapshot took its place"
    EXPIRED = "old segments, or a prefix behind a snapshot, were deleted"
    NEVER = "the log never got so far"


class Step(NamedTuple):
    """An event that changed a log.

    Attributes:
        position: Its number among the events.
        at: When: ms, or the step of a story.
        event: What happened.
        before: Log end offset before (exclusive).
        after: Log end offset after (exclusive).
        start: Log start offset before (inclusive).
    """

    position: int
    at: int
    event: Any
    before: int
    after: int
    start: int


class Fate(NamedTuple):
    """What became of an offset on a replica, and by which event; None = by none."""

    became: Became
    replica: str
    step: Step | None


class Horizon(NamedTuple):
    """The delete horizon of a batch in ms, and the position of the event that gave it to a log."""

    at_ms: int
    position: int


class _Kept(NamedTuple):
    """What a log held when an event took something from it: slots, and what was last written."""

    position: int
    slots: list[int]
    lineage: list[int]


class Past:
    """The events of a run up to a moment.

    Attributes:
        events: (when, event), in order.
        history: What was committed and what everybody held after the last of them.
        steps: Replica -> what changed its log, in order; in order of appearance.
        appended_at: uid -> position of the append.
        uids_at: Offset -> the uids that leaders gave it to, in order.
        controls: The uids of control records, in order of appends.
    """

    def __init__(self, events: Recorded, rules: Rules | None = None) -> None:
        """Look at all of `events`; `rules` are those the run is judged by."""
        self.events = events
        self.history = ClusterHistory(rules or Rules())
        self.steps: dict[str, list[Step]] = {}
        self.appended_at: dict[int, int] = {}
        self.uids_at: dict[int, list[int]] = {}
        self.controls: list[int] = []
        self._of_kind: dict[type, list[int]] = {}
        self._kept: dict[str, list[_Kept]] = {}
        self._views: dict[str, ReplicaView] = {}
        self._marks: dict[str, list[tuple[int, int]]] = {}
        self._commits: list[tuple[int, int]] = []
        self._read()
        self._note_appends()

    def _read(self) -> None:
        history, committed = self.history, self.history.committed
        for position, (at, event) in enumerate(self.events):
            history.at, history.position = at, position
            self._of_kind.setdefault(type(event), []).append(position)
            known = len(committed)
            changes = type(event) in _CHANGES
            start, before = self._bounds_before(position, event) if changes else (0, 0)
            history.apply(event)
            if len(committed) > known:
                self._commits.append((len(committed), position))
            view = history.replicas.get(event.replica or "")
            if view is not None:
                if changes:
                    self._views[view.name] = view
                    step = Step(position, at, event, before, view.log_end_offset, start)
                    self.steps.setdefault(view.name, []).append(step)
                marks = self._marks.setdefault(view.name, [])
                if not marks or marks[-1][1] != view.high_watermark:
                    marks.append((position, view.high_watermark))

    def _note_appends(self) -> None:
        for position in self.all(Appended):
            batch = self.event(position).batch
            for record in batch.records:
                self.appended_at.setdefault(record.uid, position)
                self.uids_at.setdefault(record.offset, []).append(record.uid)
                if batch.control is not None:
                    self.controls.append(record.uid)

    def _bounds_before(self, position: int, event: Any) -> tuple[int, int]:
        """Log start and log end before an event; what it may take from the log is kept."""
        view = self._views.get(event.replica)
        if view is None:
            return 0, 0
        end = view.log_end_offset
        adds = all(batch.base_offset >= end for batch in batches_of(event))
        if end and not (adds and isinstance(event, _WRITES)):
            kept = _Kept(position, list(view.slots), list(view.lineage))
            self._kept.setdefault(event.replica, []).append(kept)
        return view.log_start_offset, end

    # Events.

    @property
    def end(self) -> int:
        """The position behind the last event."""
        return len(self.events)

    @property
    def timed(self) -> bool:
        """Whether times are ms: some producer was told something, as in no story."""
        return Acknowledged in self._of_kind

    def event(self, position: int) -> Any:
        """The event at a position."""
        return self.events[position][1]

    def all(self, *kinds: type, after: int = -1, before: int = END, **of: object) -> list[int]:
        """Positions of the events of some classes between two positions (exclusive), in order.

        `of` says what their fields have to be, as in `replica="r1"`.
        """
        found = []
        for kind in kinds:
            known = self._of_kind.get(kind, ())
            inside = known[bisect_left(known, after + 1) : bisect_left(known, before)]
            found += [one for one in inside if self._is(one, of)]
        return sorted(found) if len(kinds) > 1 else found

    def last(self, *kinds: type, before: int = END, **of: object) -> int | None:
        """Position of the last event of some classes before a position; None = there is none."""
        return next(self.latest(*kinds, before=before, **of), None)

    def latest(self, *kinds: type, before: int = END, **of: object) -> Iterator[int]:
        """Positions of the events of some classes before a position, newest first."""
        known = [self._of_kind[kind] for kind in kinds if kind in self._of_kind]
        latest = [reversed(each[: bisect_left(each, before)]) for each in known]
        merged = latest[0] if len(latest) == 1 else merge(*latest, reverse=True)
        return (one for one in merged if self._is(one, of))

    def _is(self, position: int, of: dict[str, object]) -> bool:
        event = self.events[position][1]
        return all(getattr(event, name) == value for name, value in of.items())

    # Logs.

    def steps_before(self, replica: str, before: int) -> list[Step]:
        """What changed a log before a position, newest first."""
        steps = self.steps.get(replica, [])
        index = bisect_left(steps, before, key=attrgetter("position"))
        return steps[index - 1 :: -1] if index else []

    def log_end(self, replica: str, before: int = END) -> int:
        """Where a log ended (exclusive) before a position."""
        steps = self.steps.get(replica, ())
        index = bisect_left(steps, before, key=attrgetter("position"))
        return steps[index - 1].after if index else 0

    def high_watermark(self, replica: str, before: int = END) -> int:
        """The high watermark of a replica (exclusive) before a position."""
        marks = self._marks.get(replica, [])
        index = bisect_left(marks, (before, -1))
        return marks[index - 1][1] if index else 0

    def uid_at(self, replica: str, offset: int, before: int = END) -> int:
        """The record that a log held at an offset before a position; 0 = none."""
        kept = self._state(replica, offset, before)
        return 0 if kept is None else max(kept.slots[offset], 0)

    def last_written(self, replica: str, offset: int, before: int = END) -> int | None:
        """The uid that a log had at an offset last, whether or not a cleaner took it since."""
        kept = self._state(replica, offset, before)
        return None if kept is None else kept.lineage[offset] or None

    def _state(self, replica: str, offset: int, before: int) -> _Kept | ReplicaView | None:
        """What holds the slots of a log as they were before a position; None = it ended below."""
        if not 0 <= offset < self.log_end(replica, before):
            return None
        kept = self._kept.get(replica, [])
        index = bisect_left(kept, before, key=attrgetter("position"))
        return kept[index] if index < len(kept) else self._views[replica]

    def fate(self, replica: str, offset: int, uid: int | None, before: int = END) -> Fate:
        """What became of an offset on a replica before a position.

        `uid` is the record that ought to be there; None = any will do.
        """
        for step in self.steps_before(replica, before):
            became = _touched(step, offset, uid)
            if became is not None:
                return Fate(became, replica, step)
        return Fate(Became.NEVER, replica, None)

    def origin(self, replica: str, offset: int, uid: int | None, before: int = END) -> Fate:
        """The same, of the log that it was copied from, and so on."""
        fate = self.fate(replica, offset, uid, before)
        if fate.became is not Became.NOT_AT_SOURCE or fate.step is None:
            return fate
        return self.origin(fate.step.event.leader, offset, uid, fate.step.position)

    def slot(self, replica: str, offset: int, before: int = END) -> int | None:
        """The last event before a position that changed what a log holds at an offset."""
        for step in self.steps_before(replica, before):
            if _touched(step, offset, None) is not None or _emptied(step.event, offset):
                return None if isinstance(step.event, ReplicaAdded) else step.position
        return None

    def horizon(self, replica: str, base: int, before: int = END) -> Horizon | None:
        """The delete horizon that the batch at a base offset had on a log; None = it had none."""
        return next(reversed(self.horizons(replica, base, before)), None)

    def horizon_given(self, replica: str, base: int, before: int = END) -> Horizon | None:
        """The same, by the event that gave it first, where it was copied with its batch."""
        found = self.horizon(replica, base, before)
        event = None if found is None else self.event(found.position)
        if found is not None and isinstance(event, Copied):
            return self.horizon_given(event.leader, base, found.position) or found
        return found

    def horizons(self, replica: str, base: int, before: int = END) -> list[Horizon]:
        """Every delete horizon that the batch at a base offset was given on a log, in order."""
        steps = self.steps_before(replica, before)[::-1]
        found = [(_horizon_in(step.event, base), step.position) for step in steps]
        return [Horizon(at_ms, position) for at_ms, position in found if at_ms is not None]

    # The cluster.

    def leader_at(self, before: int = END) -> tuple[str, int] | None:
        """Who was elected in the newest epoch before a position, and which epoch that is."""
        elected = [self.event(one) for one in self.all(LeaderElected, before=before)]
        newest = max(reversed(elected), key=attrgetter("epoch"), default=None)
        return None if newest is None else (newest.replica, newest.epoch)

    def first_commit(self, offset: int) -> int | None:
        """The event by which an offset was committed first; None = it was not."""
        index = bisect_left(self._commits, (offset + 1, -1))
        return self._commits[index][1] if index < len(self._commits) else None

    def committed_at(self, offset: int) -> int:
        """The record that was committed first at an offset; 0 = none was."""
        committed = self.history.committed
        return committed[offset] if 0 <= offset < len(committed) else 0

    def believed(self, follower: str, offset: int, before: int = END) -> int | None:
        """Where a leader last recorded a position above an offset that the follower had not."""
        for position in self.latest(PositionRecorded, before=before, follower=follower):
            if self.event(position).position > offset >= self.log_end(follower, position):
                return position
        return None

    def fault_of(self, replica: str, before: int = END) -> int | None:
        """The fault that goes on at a replica; None = it is left in peace."""
        kinds = (FaultInjected, FaultEnded)
        for position in self.latest(*kinds, before=before, replica=replica):
            event = self.event(position)
            if isinstance(event, FaultEnded):
                return None
            if event.fault not in INSTANT_FAULTS:
                return position
        return None

    def newest_snapshot(self, replica: str, before: int = END) -> tuple[int, int] | None:
        """The newest snapshot that a replica had before a position."""
        kept: set[tuple[int, int]] = set()
        kinds = (SnapshotTaken, SnapshotInstalled, SnapshotDeleted)
        for position in self.all(*kinds, before=before, replica=replica):
            event = self.event(position)
            change = kept.discard if isinstance(event, SnapshotDeleted) else kept.add
            change((event.end_offset, event.epoch))
        return max(kept, default=None)


def batches_of(event: Event) -> Sequence[Batch]:
    """The batches that an event wrote."""
    if isinstance(event, Copied):
        return event.batches
    return (event.batch,) if isinstance(event, Appended | Pushed) else ()


def _horizon_in(event: Event, base: int) -> int | None:
    """The delete horizon that an event gave the batch at a base offset; None = none."""
    if isinstance(event, Cleaned):
        return dict(event.horizons).get(base)
    batches = batches_of(event)
    return next((each.delete_horizon_ms for each in batches if each.base_offset == base), None)


def _emptied(event: Event, offset: int) -> bool:
    """Whether a pass kept, or dropped, an empty batch that ended at an offset."""
    return isinstance(event, Cleaned) and offset in (*event.emptied, *event.dropped)


def _tail(step: Step) -> range:
    """The offsets by which an event lowered a log end."""
    return range(step.after, step.before)


def _whole(step: Step) -> range:
    """All offsets of a log, before and after."""
    return range(max(step.before, step.after))


def _cut(step: Step) -> range:
    """The offsets that a truncation took: a batch may lie across its target."""
    target, lowest = step.event.target, step.event.lowest
    return range(target if lowest is None else min(lowest, target), step.before)


def _expired(step: Step) -> range:
    """The offsets below which a log begins now."""
    return range(step.start, step.event.log_start_offset)


_ANEW: Final = (ReplicaWiped, LogEmptied, LogStartedAfresh)
_WRITES: Final = (Appended, Copied, GapLearned, Pushed)
_TOOK: Final[dict[type, tuple[Became, Callable[[Step], Collection[int]]]]] = {
    Cleaned: (Became.END_LOWERED, _tail),
    SegmentsLost: (Became.SEGMENTS_LOST, lambda step: step.event.offsets),
    LogStartMoved: (Became.EXPIRED, _expired),
    PrefixDeleted: (Became.EXPIRED, _expired),
    Truncated: (Became.CUT, _cut),
    ReplicaAdded: (Became.NEVER, lambda _: range(END)),
    ReplicaCrashed: (Became.CRASHED, _tail),
    ReplicaRestarted: (Became.END_LOWERED, _tail),
    ReplicaWiped: (Became.WIPED, _tail),
    LogEmptied: (Became.REPLACED, _tail),
    LogStartedAfresh: (Became.REPLACED, _whole),
    SnapshotInstalled: (Became.REPLACED, _whole),
}
"""Class of an event that takes something from a log -> what became of which offsets."""
_CHANGES: Final = {*_WRITES, *_TOOK}


def _touched(step: Step, offset: int, uid: int | None) -> Became | None:
    """What a step did to an offset; None = nothing."""
    event = step.event
    took = _TOOK.get(type(event))
    if took is None:
        return _written(step, offset, uid)
    became, offsets = took
    if offset in offsets(step):
        return became
    if isinstance(event, Cleaned):
        removed = any(r.offset == offset and uid in (None, r.uid) for r in event.removals)
        return Became.CLEANED if removed else None
    # A log that begins anew says nothing of what it never had.
    return Became.NEVER if isinstance(event, _ANEW) and step.after < step.before else None


def _written(step: Step, offset: int, uid: int | None) -> Became | None:
    """What is written is there; a copied batch may lie across offsets without records."""
    copied = isinstance(step.event, Copied | GapLearned)
    if copied and not step.before <= offset < step.after:
        return None
    for batch in batches_of(step.event):
        for record in batch.records:
            if record.offset == offset:
                return Became.HELD if uid in (None, record.uid) else Became.OTHER
    return Became.NOT_AT_SOURCE if copied else None
