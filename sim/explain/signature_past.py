"""What happened before a violation, asked backwards: what became of an offset, and when.

One pass over the events notes who wrote what and where each log ended; every question is then
answered by walking back over the few events of one replica. Nothing here knows rules or versions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import Enum
from operator import itemgetter
from typing import Any, Final, NamedTuple

from sim.log.record import Batch, Record
from sim.trace import (
    Acknowledged,
    Appended,
    Cleaned,
    ConfigChanged,
    Copied,
    Event,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    RemovalBoundMoved,
    ReplicaAdded,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
    UncleanElection,
)


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
    """

    position: int
    at: int
    event: Any
    before: int
    after: int


class Fate(NamedTuple):
    """What became of an offset on a replica, and by which event; None = by none."""

    became: Became
    replica: str
    step: Step | None


class Written(NamedTuple):
    """An append: who gave the record its offset, when (its number among the events), and how."""

    replica: str
    position: int
    record: Record
    batch: Batch


_END_AFTER: Final[dict[type, Callable[[Any, int], int]]] = {
    Appended: lambda event, _: event.batch.last_offset + 1,
    Pushed: lambda event, _: event.batch.last_offset + 1,
    Copied: lambda event, _: event.log_end_offset,
    GapLearned: lambda event, _: event.log_end_offset,
    Cleaned: lambda event, end: min(end, event.log_end_offset),
    SegmentsLost: lambda _, end: end,
    Truncated: lambda event, end: min(end, event.target),
    ReplicaCrashed: lambda event, end: min(end, event.log_end_offset),
    ReplicaRestarted: lambda event, end: min(end, event.log_end_offset),
    ReplicaWiped: lambda *_: 0,
    ReplicaAdded: lambda *_: 0,
    LogEmptied: lambda *_: 0,
    LogStartedAfresh: lambda event, _: event.log_start_offset,
    LogStartMoved: lambda event, end: max(end, event.log_start_offset),
    PrefixDeleted: lambda event, end: max(end, event.log_start_offset),
    SnapshotInstalled: lambda event, _: event.end_offset,
}
"""Where a log ends (exclusive) after an event that changed it, given where it ended before."""


class Past:
    """The events up to a violation.

    Attributes:
        events: (when, event), in order.
        steps: Replica -> what changed its log, in order.
        written: uid -> its append.
        uids_at: Offset -> the uids that leaders gave it to, in order.
        elections: (position, election), in order.
        unclean: (replica, epoch) of unclean elections.
        memberships: (position, the in-sync set from then on, who was let in for its position).
        settings: (position, change) of every change of settings.
        bounds: (position, replica, offset, marker offset) of bounds of coordinated removal.
        timed: Whether times are ms: some producer was told something, as in no story.
    """

    def __init__(self, events: Sequence[tuple[int, Event]]) -> None:
        """Nothing is asked of them yet."""
        self.events = events
        self.steps: dict[str, list[Step]] = {}
        self.written: dict[int, Written] = {}
        self.uids_at: dict[int, list[int]] = {}
        self.elections: list[tuple[int, LeaderElected]] = []
        self.unclean: set[tuple[str, int]] = set()
        self.memberships: list[tuple[int, tuple[str, ...], str | None]] = []
        self.settings: list[tuple[int, ConfigChanged]] = []
        self.bounds: list[tuple[int, str, int, int]] = []
        self.timed = False
        self._commits: list[tuple[int, str, int]] = []
        self._beliefs: dict[str, list[tuple[int, str, int]]] = {}
        self._read()

    def _read(self) -> None:
        ends: dict[str, int] = {}
        leader, epoch, committed = "", 0, 0
        for position, (at, event) in enumerate(self.events):
            kind = type(event)
            after_of = _END_AFTER.get(kind)
            if after_of is not None:
                replica = event.replica or ""
                before = ends.get(replica, 0)
                after = ends[replica] = after_of(event, before)
                self.steps.setdefault(replica, []).append(Step(position, at, event, before, after))
                if isinstance(event, Appended):
                    self._note(event, position)
            elif isinstance(event, HighWatermarkMoved):
                if event.leading and event.high_watermark > committed and event.replica == leader:
                    committed = event.high_watermark
                    self._commits.append((position, leader, committed))
            elif isinstance(event, PositionRecorded):
                if event.position > ends.get(event.follower, 0):
                    belief = (position, event.replica, event.position)
                    self._beliefs.setdefault(event.follower, []).append(belief)
            elif kind is Acknowledged:
                self.timed = True
            elif isinstance(event, LeaderElected):
                self.elections.append((position, event))
                self.memberships.append((position, event.isr, None))
                if event.epoch >= epoch:
                    leader, epoch = event.replica, event.epoch
            elif isinstance(event, IsrChanged):
                self.memberships.append((position, event.isr, event.joined))
            elif isinstance(event, UncleanElection):
                self.unclean.add((event.replica, event.epoch))
            elif isinstance(event, ConfigChanged):
                self.settings.append((position, event))
            elif isinstance(event, RemovalBoundMoved):
                bound = (position, event.replica, event.offset, event.marker_offset)
                self.bounds.append(bound)

    def _note(self, event: Appended, position: int) -> None:
        for record in event.batch.records:
            self.written[record.uid] = Written(event.replica, position, record, event.batch)
            self.uids_at.setdefault(record.offset, []).append(record.uid)

    @property
    def end(self) -> int:
        """The position behind the last event."""
        return len(self.events)

    def last_of(self, kind: type, replica: str | None) -> int | None:
        """The position of the last event of a class, of a replica if one is named."""
        for position in range(self.end - 1, -1, -1):
            event = self.events[position][1]
            if isinstance(event, kind) and (replica is None or event.replica == replica):
                return position
        return None

    def log_end(self, replica: str, before: int) -> int:
        """Where a log ended (exclusive) before a position."""
        last = self._last_step(replica, before)
        return 0 if last is None else last.after

    def _last_step(self, replica: str, before: int) -> Step | None:
        steps = self.steps.get(replica, ())
        index = bisect_right(steps, before - 1, key=itemgetter(0)) if steps else 0
        return steps[index - 1] if index else None

    def steps_before(self, replica: str, before: int) -> list[Step]:
        """What changed a log before a position, newest first."""
        steps = self.steps.get(replica, [])
        index = bisect_right(steps, before - 1, key=itemgetter(0))
        return steps[index - 1 :: -1] if index else []

    def leader_at(self, before: int) -> str | None:
        """Who was elected in the newest epoch before a position."""
        newest, leader = -1, None
        for position, event in self.elections:
            if position < before and event.epoch >= newest:
                newest, leader = event.epoch, event.replica
        return leader

    def committed_from(self, offset: int) -> tuple[int, str] | None:
        """From which position on an offset was committed, and by which leader; None = never."""
        for position, leader, end in self._commits:
            if end > offset:
                return position, leader
        return None

    def committed_uid(self, offset: int) -> int | None:
        """The record that was committed at an offset first; None = none, or nobody knows."""
        found = self.committed_from(offset)
        return None if found is None else self.last_written(found[1], offset, found[0])

    def last_written(self, replica: str, offset: int, before: int) -> int | None:
        """The uid that a log had at an offset last, whether or not a cleaner took it since."""
        for step in self.steps_before(replica, before):
            event = step.event
            if isinstance(event, Appended | Pushed | Copied):
                for record in records_of(event):
                    if record.offset == offset:
                        return record.uid
                if isinstance(event, Copied) and step.before <= offset < step.after:
                    return self.last_written(event.leader, offset, step.position)
            elif isinstance(event, GapLearned) and step.before <= offset < step.after:
                return self.last_written(event.leader, offset, step.position)
            elif step.after <= offset:
                return None
        return None

    def believed_in(self, replica: str, offset: int, before: int) -> tuple[int, str] | None:
        """Who last believed that a log had an offset which it did not have, and when."""
        for position, leader, believed in reversed(self._beliefs.get(replica, [])):
            if position < before and believed > offset:
                return position, leader
        return None

    def fate(self, replica: str, offset: int, uid: int | None, before: int) -> Fate:
        """What became of an offset on a replica before a position.

        Args:
            replica: Whose log.
            offset: The offset.
            uid: The record that ought to be there; None = any will do.
            before: The position; events from there on do not count.
        """
        for step in self.steps_before(replica, before):
            became = _touched(step, offset, uid)
            if became is not None:
                return Fate(became, replica, step)
        return Fate(Became.NEVER, replica, None)

    def is_down(self, replica: str, before: int) -> bool:
        """Whether a replica was down at a position."""
        for step in self.steps_before(replica, before):
            if isinstance(step.event, ReplicaCrashed):
                return True
            if isinstance(step.event, ReplicaRestarted | ReplicaAdded):
                return False
        return False


def records_of(event: Appended | Pushed | Copied) -> list[Record]:
    """The records that an event wrote."""
    batches = event.batches if isinstance(event, Copied) else (event.batch,)
    return [record for batch in batches for record in batch.records]


def _touched(step: Step, offset: int, uid: int | None) -> Became | None:
    """What a step did to an offset; None = nothing."""
    event = step.event
    if isinstance(event, Appended | Pushed | Copied | GapLearned):
        return _written(step, offset, uid)
    if isinstance(event, Cleaned):
        if step.after <= offset < step.before:
            return Became.END_LOWERED
        removed = any(r.offset == offset and uid in (None, r.uid) for r in event.removals)
        return Became.CLEANED if removed else None
    if isinstance(event, SegmentsLost):
        return Became.SEGMENTS_LOST if offset in event.offsets else None
    if isinstance(event, LogStartMoved | PrefixDeleted):
        return Became.EXPIRED if offset < event.log_start_offset else None
    if isinstance(event, Truncated):
        low = event.target if event.lowest is None else min(event.lowest, event.target)
        return Became.CUT if low <= offset < step.before else None
    return _begun_anew(step, offset)


def _written(step: Step, offset: int, uid: int | None) -> Became | None:
    """What an append or a copy did to an offset: a batch may lie across offsets without records."""
    event = step.event
    if isinstance(event, Appended | Pushed) or step.before <= offset < step.after:
        for record in () if isinstance(event, GapLearned) else records_of(event):
            if record.offset == offset:
                return Became.HELD if uid in (None, record.uid) else Became.OTHER
    copied = isinstance(event, Copied | GapLearned)
    return Became.NOT_AT_SOURCE if copied and step.before <= offset < step.after else None


def _begun_anew(step: Step, offset: int) -> Became | None:
    """What a crash, a restart, or a log that begins anew did to an offset."""
    event = step.event
    if isinstance(event, ReplicaAdded):
        return Became.NEVER
    if isinstance(event, SnapshotInstalled | LogStartedAfresh) and offset < step.after:
        return Became.REPLACED
    if step.after <= offset < step.before:
        return _LOST_BY[type(event)]
    # A log that begins anew says nothing of what it never had.
    anew = isinstance(event, ReplicaWiped | LogEmptied | LogStartedAfresh)
    return Became.NEVER if anew and step.after < step.before else None


_LOST_BY: Final[dict[type, Became]] = {
    ReplicaCrashed: Became.CRASHED,
    ReplicaRestarted: Became.END_LOWERED,
    ReplicaWiped: Became.WIPED,
    LogEmptied: Became.REPLACED,
    LogStartedAfresh: Became.REPLACED,
    SnapshotInstalled: Became.REPLACED,
}
