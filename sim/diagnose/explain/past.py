"""The past of a run: what every log held before each event, and which event changed it.

The state is that of `sim.check.history`, the one fold of events; this adds which event changed
which offset of which log. One past serves all violations and pictures of a run, and folds no more
events than they ask about. A position is the index of an event in the record; every question is
about the moment before a position.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from copy import copy
from enum import Enum
from heapq import merge
from itertools import chain, takewhile
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, Self

from sim.check.facts import Written
from sim.check.history import ClusterHistory
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.log.record import Batch
from sim.protocol.rules import Rules
from sim.simulate.faults import INSTANT_FAULTS

Recorded = Sequence[tuple[int, Event]]
"""(time, event) as a run or a story records them; time: ms, or the number of a step."""

END: Final = 1 << 60
"""A position after all others."""


class Became(Enum):
    """Fates of an offset on a replica, by the last event that touched it."""

    HELD = "the record is there"
    OTHER = "another record is there"
    CLEANED = "a cleaning pass removed it"
    EMPTIED = "a cleaning pass kept, or dropped, an empty batch there"
    NOT_AT_SOURCE = "the log it was copied from did not have it"
    CUT = "a truncation removed it"
    CRASHED = "a crash lost it with the tail of the log"
    END_LOWERED = "a pass or a restart set the log end below it"
    SEGMENTS_LOST = "a crash during a swap of segments lost it"
    WIPED = "the disk was lost"
    REPLACED = "the log was discarded, or replaced by a snapshot"
    EXPIRED = "old segments, or a prefix covered by a snapshot, were deleted"
    NEVER = "the log never reached it"


class LogStep(NamedTuple):
    """An event that changed a log.

    Attributes:
        position: Position of the event.
        event: The event.
        before: Log end offset before (exclusive).
        after: Log end offset after (exclusive).
        start: Log start offset before (inclusive).
    """

    position: int
    event: Any
    before: int
    after: int
    start: int


class LogChange(NamedTuple):
    """A change of one offset of a log.

    Attributes:
        position: Position of the event that changed it.
        became: Fate of what was there.
        slot: What the log holds there now: the uid of a record, `EMPTY` or `HOLE`.
        step: The change of the whole log.
    """

    position: int
    became: Became
    slot: int
    step: LogStep


class OffsetFate(NamedTuple):
    """The fate of an offset on a replica, with the change that decided it; None without one."""

    became: Became
    replica: str
    step: LogStep | None


class Horizon(NamedTuple):
    """The delete horizon of a batch in ms, and the position of the event that gave it to a log."""

    at_ms: int
    position: int


class Past:
    """The events of a run up to a position; no answer considers later ones.

    Attributes:
        events: (time, event) of the whole run, in order.
        end: Position after the last event that counts; of a past that `until` did not make, after
            the last event folded.
        rules: Rules that the run is judged by.
        written: uid -> the append of the record.
        steps: Replica, in order of appearance -> the changes of its log, in order.
        appended_at: uid -> position of the append.
        folded: History of the events folded so far: up to the last question, or later.
    """

    def __init__(self, events: Recorded, rules: Rules | None = None) -> None:
        """Folds no event yet; `rules` are those the run is judged by, None for the defaults."""
        self.events = events
        self.end = 0
        self.rules = rules or Rules()
        self.steps: dict[str, list[LogStep]] = {}
        self.appended_at: dict[int, int] = {}
        self.folded = ClusterHistory(self.rules)
        self._histories: dict[int, ClusterHistory] = {}
        self._of_kind: dict[type, list[int]] = defaultdict(list)
        self._changes: dict[str, dict[int, list[LogChange]]] = defaultdict(
            lambda: defaultdict(list)
        )
        self._horizons: dict[str, dict[int, list[Horizon]]] = defaultdict(lambda: defaultdict(list))
        self._marks: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._commits: list[tuple[int, int]] = []
        self._uids_at: dict[int, list[int]] = defaultdict(list)
        self._controls: list[int] = []
        self.written = self.folded.written

    def until(self, end: int) -> Self:
        """The past of the same run before a position; folds the events up to there."""
        self._take_in(end)
        found = copy(self)
        found.end = end
        return found

    def _take_in(self, end: int) -> None:
        """Folds the events before a position, as far as they are not folded yet."""
        history = self.folded
        for position in range(history.position + 1, min(end, len(self.events))):
            history.at, event = self.events[position]
            history.position = position
            self._of_kind[type(event)].append(position)
            self._take(position, event)
            self.end = position + 1

    @property
    def history(self) -> ClusterHistory:
        """Committed history and logs of all replicas before `end`."""
        if self.folded.position + 1 == self.end:
            return self.folded
        found = self._histories.get(self.end)
        if found is None:
            found = self._histories[self.end] = ClusterHistory(self.rules)
            for _, event in self.events[: self.end]:
                found.apply(event)
        return found

    def _take(self, position: int, event: Event) -> None:
        """Folds one more event, the next in order."""
        history, name = self.folded, event.replica or ""
        if type(event) not in _NOTED:
            history.apply(event)
            return
        old, known = history.replicas.get(name), len(history.committed)
        start, before = (0, 0) if old is None else (old.log_start_offset, len(old.slots))
        history.apply(event)
        view = history.replicas[name]
        if len(history.committed) > known:
            self._commits.append((len(history.committed), position))
        marks = self._marks[name]
        if not marks or marks[-1][1] != view.high_watermark:
            marks.append((position, view.high_watermark))
        if isinstance(event, on.Appended):
            for record in event.batch.records:
                self.appended_at.setdefault(record.uid, position)
                self._uids_at[record.offset].append(record.uid)
                if event.batch.control is not None:
                    self._controls.append(record.uid)
        if type(event) in _CHANGES:
            step = LogStep(position, event, before, len(view.slots), start)
            self.steps.setdefault(name, []).append(step)
            changes, horizons = self._changes[name], self._horizons[name]
            for offset, became in self._changed(step):
                changes[offset].append(LogChange(position, became, view.uid_at(offset), step))
            given = event.horizons if isinstance(event, on.Cleaned) else ()
            copied = [(each.base_offset, each.delete_horizon_ms) for each in batches_of(event)]
            for base, at_ms in (*given, *copied):
                if at_ms is not None:
                    horizons[base].append(Horizon(at_ms, position))

    def _changed(self, step: LogStep) -> Iterator[tuple[int, Became]]:
        """Changes of offsets by an event; of one offset the last counts."""
        event = step.event
        if isinstance(event, _WRITES):
            records = (record for batch in batches_of(event) for record in batch.records)
            written = {record.offset for record in records}
            yield from ((offset, Became.HELD) for offset in sorted(written))
            # A copied batch may lie across offsets without records.
            if isinstance(event, _COPIES) and len(written) < step.after - step.before:
                for offset in {*range(step.before, step.after)} - written:
                    yield offset, Became.NOT_AT_SOURCE
            return
        became, offsets = _TOOK[type(event)]
        if isinstance(event, on.Cleaned):
            yield from ((removal.offset, Became.CLEANED) for removal in event.removals)
            yield from ((offset, Became.EMPTIED) for offset in (*event.emptied, *event.dropped))
        elif isinstance(event, _ANEW):  # a new log reached no offset of the others
            ends = (view.log_end_offset for view in self.folded.replicas.values())
            yield from ((offset, Became.NEVER) for offset in range(max(ends)))
        yield from ((offset, became) for offset in offsets(step))

    # Events.

    def event(self, position: int) -> Any:
        """The event at a position."""
        return self.events[position][1]

    def all(self, *kinds: type, after: int = -1, before: int = END, **of: object) -> list[int]:
        """Positions of the events of some classes between two positions (exclusive), in order.

        `of` gives values that their fields must have, as in `replica="r1"`.
        """
        latest = self.latest(*kinds, before=before, **of)
        return [*takewhile(lambda one: one > after, latest)][::-1]

    def last(self, *kinds: type, before: int = END, **of: object) -> int | None:
        """Position of the last event of some classes before a position; None without one."""
        return next(self.latest(*kinds, before=before, **of), None)

    def latest(self, *kinds: type, before: int = END, **of: object) -> Iterator[int]:
        """Positions of the events of some classes before a position, newest first."""
        before = min(before, self.end)
        known = [self._of_kind[kind] for kind in kinds if kind in self._of_kind]
        latest = [reversed(each[: bisect_left(each, before)]) for each in known]
        wanted = of.items()
        for one in latest[0] if len(latest) == 1 else merge(*latest, reverse=True):
            event = self.events[one][1]
            if all(getattr(event, name) == value for name, value in wanted):
                yield one

    # Records.

    def uids_at(self, offset: int) -> list[int]:
        """The uids of the records that leaders gave an offset to, in order."""
        return self._known(self._uids_at.get(offset, []))

    def uids_of(self, key: str | None) -> list[int]:
        """The uids of the records of a key, in order of appends; none without a key."""
        return [] if key is None else self._known(self.folded.uids_of_key.get(key, []))

    def controls(self) -> list[Written]:
        """The control records, in order of appends."""
        return [self.written[uid] for uid in self._known(self._controls)]

    def _known(self, uids: list[int]) -> list[int]:
        return [uid for uid in uids if self.appended_at[uid] < self.end]

    # Logs.

    @property
    def replicas(self) -> list[str]:
        """Names of replicas, in order of appearance."""
        return [name for name, steps in self.steps.items() if steps[0].position < self.end]

    def steps_before(self, replica: str, before: int) -> list[LogStep]:
        """Changes of a log before a position, newest first."""
        steps = self.steps.get(replica, [])
        index = bisect_left(steps, min(before, self.end), key=attrgetter("position"))
        return steps[index - 1 :: -1] if index else []

    def log_end(self, replica: str, before: int = END) -> int:
        """Where a log ended (exclusive) before a position."""
        steps = self.steps.get(replica, ())
        index = bisect_left(steps, min(before, self.end), key=attrgetter("position"))
        return steps[index - 1].after if index else 0

    def high_watermark(self, replica: str, before: int = END) -> int:
        """The high watermark of a replica (exclusive) before a position."""
        marks = self._marks.get(replica, [])
        index = bisect_left(marks, (min(before, self.end), -1))
        return marks[index - 1][1] if index else 0

    def _changes_of(self, replica: str, offset: int, before: int) -> list[LogChange]:
        """Changes of an offset of a log before a position, newest first."""
        changes = self._changes[replica].get(offset, [])
        index = bisect_left(changes, min(before, self.end), key=itemgetter(0))
        return changes[index - 1 :: -1] if index else []

    def uid_at(self, replica: str, offset: int, before: int = END) -> int:
        """The uid of the record that a log held at an offset before a position; 0 without one."""
        changes = self._changes_of(replica, offset, before)
        return max(changes[0].slot, 0) if changes else 0

    def last_written(self, replica: str, offset: int, before: int = END) -> int | None:
        """The uid of the record last written to a log at an offset, even if only a hole is left.

        None if it was never written, or went otherwise: by a truncation, a crash or a new log.
        """
        for position, became, uid, step in self._changes_of(replica, offset, before):
            if became is Became.NOT_AT_SOURCE:
                return self.last_written(step.event.leader, offset, position)
            if became not in _LEFT_HOLES:
                return max(uid, 0) or None
        return None

    def fate(self, replica: str, offset: int, uid: int | None, before: int = END) -> OffsetFate:
        """The fate of an offset on a replica before a position.

        `uid` is the record that belongs there; None if any record will do.
        """
        for _, became, held, step in self._changes_of(replica, offset, before):
            if became is Became.CLEANED:
                gone = (each.uid for each in step.event.removals if each.offset == offset)
                if uid is not None and uid not in gone:
                    continue
            if became is not Became.EMPTIED:
                other = became is Became.HELD and uid not in (None, held)
                return OffsetFate(Became.OTHER if other else became, replica, step)
        return OffsetFate(Became.NEVER, replica, None)

    def origin(self, replica: str, offset: int, uid: int | None, before: int = END) -> OffsetFate:
        """The fate of an offset in the log that it was copied from, and so on."""
        fate = self.fate(replica, offset, uid, before)
        if fate.became is not Became.NOT_AT_SOURCE or fate.step is None:
            return fate
        return self.origin(fate.step.event.leader, offset, uid, fate.step.position)

    def slot(self, replica: str, offset: int, before: int = END) -> int | None:
        """Position of the last event that changed an offset since its replica came; else None."""
        for position, _, _, step in self._changes_of(replica, offset, before):
            return None if isinstance(step.event, on.ReplicaAdded) else position
        return None

    def horizons(self, replica: str, base: int, before: int = END) -> list[Horizon]:
        """Every delete horizon that the batch at a base offset was given on a log, in order."""
        found, before = self._horizons[replica].get(base, []), min(before, self.end)
        return [horizon for horizon in found if horizon.position < before]

    def horizon_given(self, replica: str, base: int, before: int = END) -> Horizon | None:
        """The last delete horizon of a batch, with the event that set it, not a copy; or None."""
        found = self.horizons(replica, base, before)[-1:]
        event = self.event(found[0].position) if found else None
        if isinstance(event, on.Copied):
            return self.horizon_given(event.leader, base, found[0].position) or found[0]
        return found[0] if found else None

    # The cluster.

    def leader_at(self, before: int = END) -> tuple[str, int] | None:
        """Leader of the newest epoch before a position, with that epoch; None without one."""
        elected = [self.event(one) for one in self.latest(on.LeaderElected, before=before)]
        newest = max(elected, key=attrgetter("epoch"), default=None)
        return None if newest is None else (newest.replica, newest.epoch)

    def first_commit(self, offset: int) -> int | None:
        """Position of the event that first committed an offset; None if it was not committed."""
        index = bisect_left(self._commits, (offset + 1, -1))
        position = self._commits[index][1] if index < len(self._commits) else self.end
        return position if position < self.end else None

    def led_after(self, replica: str, offset: int, before: int) -> int | None:
        """Position of a replica's newest election, if `offset` was committed by then; else None."""
        led = self.last(on.LeaderElected, replica=replica, before=before)
        since = self.first_commit(offset)
        return led if led is not None and since is not None and since < led else None

    def committed_at(self, offset: int) -> int:
        """The uid of the record first committed at an offset; 0 if none was."""
        known = offset >= 0 and self.first_commit(offset) is not None
        return self.folded.committed[offset] if known else 0

    def believed(self, follower: str, offset: int, before: int = END) -> int | None:
        """Position of the last event that recorded a follower above an offset it had not reached.

        None if no leader recorded more than the follower had there.
        """
        for position in self.latest(on.PositionRecorded, before=before, follower=follower):
            if self.event(position).position > offset >= self.log_end(follower, position):
                return position
        return None

    def lasting_fault(self, replica: str, before: int = END) -> int | None:
        """Position of the latest fault that lasts at a replica before a position; else None."""
        lasting: dict[str, list[int]] = defaultdict(list)
        for at in self.all(on.FaultInjected, on.FaultEnded, before=before, replica=replica):
            event = self.event(at)
            if isinstance(event, on.FaultEnded):
                del lasting[event.fault][:1]
            elif event.fault not in INSTANT_FAULTS:
                lasting[event.fault].append(at)
        return max(chain.from_iterable(lasting.values()), default=None)

    def newest_snapshot(self, replica: str, before: int = END) -> tuple[int, int] | None:
        """(end offset, epoch) of a replica's newest snapshot before a position; else None."""
        kept: set[tuple[int, int]] = set()
        begun = self.last(*_ANEW, on.SnapshotInstalled, before=before, replica=replica) or 0
        for position in self.all(*_KEPT, after=begun - 1, before=before, replica=replica):
            event = self.event(position)
            change = kept.discard if isinstance(event, on.SnapshotDeleted) else kept.add
            change((event.end_offset, event.epoch))
        return max(kept, default=None)


def batches_of(event: Event) -> Sequence[Batch]:
    """The batches that an event wrote."""
    if isinstance(event, on.Copied):
        return event.batches
    return (event.batch,) if isinstance(event, (on.Appended, on.Pushed)) else ()


def _tail(step: LogStep) -> range:
    """Offsets above a log end that an event lowered."""
    return range(step.after, step.before)


def _all(step: LogStep) -> range:
    """All offsets of a log, before and after."""
    return range(max(step.before, step.after))


def _cut(step: LogStep) -> range:
    """Offsets that a truncation removed: a batch may lie across its target."""
    target, lowest = step.event.target, step.event.lowest
    return range(target if lowest is None else min(lowest, target), step.before)


def _expired(step: LogStep) -> range:
    """Offsets below a log start that an event raised."""
    return range(step.start, step.event.log_start_offset)


_ANEW: Final = (on.ReplicaAdded, on.ReplicaWiped, on.LogEmptied, on.LogStartedAfresh)
_COPIES: Final = (on.Copied, on.GapLearned)
_KEPT: Final = (on.SnapshotTaken, on.SnapshotFetched, on.SnapshotInstalled, on.SnapshotDeleted)
_WRITES: Final = (on.Appended, on.Pushed, *_COPIES)
_LEFT_HOLES: Final = (Became.CLEANED, Became.EMPTIED, Became.SEGMENTS_LOST, Became.EXPIRED)
_TOOK: Final[dict[type, tuple[Became, Callable[[LogStep], Collection[int]]]]] = {
    on.Cleaned: (Became.END_LOWERED, _tail),
    on.SegmentsLost: (Became.SEGMENTS_LOST, lambda step: step.event.offsets),
    on.LogStartMoved: (Became.EXPIRED, _expired),
    on.PrefixDeleted: (Became.EXPIRED, _expired),
    on.Truncated: (Became.CUT, _cut),
    on.ReplicaAdded: (Became.NEVER, lambda _: ()),
    on.ReplicaCrashed: (Became.CRASHED, _tail),
    on.ReplicaRestarted: (Became.END_LOWERED, _tail),
    on.ReplicaWiped: (Became.WIPED, _tail),
    on.LogEmptied: (Became.REPLACED, _tail),
    on.LogStartedAfresh: (Became.REPLACED, _all),
    on.SnapshotInstalled: (Became.REPLACED, _all),
}
"""Class of an event that removes records from a log -> their fate, and their offsets."""
_CHANGES: Final = {*_WRITES, *_TOOK}
_NOTED: Final = {*_CHANGES, on.HighWatermarkMoved, on.LeaderElected}
"""Classes of events that change a log or what is committed."""
