"""What every replica holds after each event, rebuilt out of events alone.

The history that the checks keep (`sim.check.history`) says which record is where; what it does not
say, and a picture needs, is kept here: why an offset holds nothing, who leads, where reading of
committed data ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sim.check import Violation
from sim.check.history import ClusterHistory, Written
from sim.check.history_keeper import HistoryKeeper
from sim.check.replica_view import EMPTY, HOLE, ReplicaView
from sim.draw.reasons import Reasons
from sim.explain.case import judged_at
from sim.log.record import Control
from sim.rules import Rules
from sim.trace import (
    Acknowledged,
    Appended,
    Consumed,
    Copied,
    Event,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
    PositionRecorded,
    Pushed,
    ReplicaCrashed,
    ReplicaRemoved,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
)

Events = Sequence[tuple[int, Event]]
"""(when, event) in the order in which things happened: ms, or the step of a story."""


class Kind(StrEnum):
    """What is at one offset of one log."""

    RECORD = "record"
    TOMBSTONE = "tombstone"
    MARKER = "marker"
    EMPTY = "empty"
    """A batch whose records are gone: its offsets and epoch are kept."""
    HOLE = "hole"
    """Neither a record nor a batch."""
    BELOW = "below"
    """Below the log start offset."""
    BEYOND = "beyond"
    """At or above the log end offset."""


class Spot(NamedTuple):
    """One offset of one log.

    Attributes:
        kind: What is there.
        uid: The append that made the record; 0 where there is none.
        reason: Why there is no record, in words; empty = there is one, or there never was.
        horizon_ms: The delete horizon of its batch, where that has one.
    """

    kind: Kind
    uid: int = 0
    reason: str = ""
    horizon_ms: int | None = None


class Lane(NamedTuple):
    """One replica after an event.

    Attributes:
        name: The replica.
        up: False while it is down; what is on its disk still counts.
        leads: The epoch that it was last told to lead, until events show it follow; else None.
        newest: Whether nobody was elected in a newer epoch than the one it leads.
        log_start_offset: Inclusive.
        log_end_offset: Exclusive.
        high_watermark: As far as it knows what is committed (exclusive).
        last_stable_offset: The first record of a transaction without a marker, or the high
            watermark (exclusive).
        clean_point: Everything below was cleaned (exclusive).
        snapshots: (end offset, epoch) of those beside the log.
        spots: Index = offset, up to the log end and beyond it as far as there is something to say.
    """

    name: str
    up: bool
    leads: int | None
    newest: bool
    log_start_offset: int
    log_end_offset: int
    high_watermark: int
    last_stable_offset: int
    clean_point: int
    snapshots: tuple[tuple[int, int], ...]
    spots: tuple[Spot, ...]

    def at(self, offset: int) -> Spot:
        """What is at an offset."""
        return self.spots[offset] if offset < len(self.spots) else NOT_THERE


NOT_THERE = Spot(Kind.BEYOND)


class Frame(NamedTuple):
    """All replicas after an event.

    Attributes:
        at: When: ms, or the step of a story.
        lanes: One per replica that is there, in order of creation.
        committed: Index = offset; the uid that was there when it was first committed, 0 = nothing.
    """

    at: int
    lanes: tuple[Lane, ...]
    committed: tuple[int, ...]


@dataclass
class Replay:
    """Takes events one by one, and says how every log looks then.

    Attributes:
        rules: Of the run: they say what marks a tombstone, and which version wins.
        history: What was written, committed and is held.
    """

    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        self.history = ClusterHistory(self.rules)
        self._keeper = HistoryKeeper(self.history)
        self._reasons = Reasons(self.history.replicas)
        self._leads: dict[str, int] = {}
        self._spots: dict[str, tuple[Spot, ...]] = {}
        self._stale: dict[str, int] = {}
        self._transactions = False

    def take(self, at: int, event: Event) -> None:
        """One more event, the next in order."""
        self.history.at = at
        log_end_before = self._reasons.log_end(event)
        self._keeper.apply(event)
        if isinstance(event, Appended) and event.batch.transactional:
            self._transactions = True
        self._reasons.note(event, log_end_before)
        if not isinstance(event, _LEAVES_LOGS_ALONE):
            name, start = event.replica or "", _first_changed(event, log_end_before)
            self._stale[name] = min(start, self._stale.get(name, start))
        self._follow(event)

    def _follow(self, event: Event) -> None:
        """Who leads."""
        if isinstance(event, LeaderElected):
            self._leads[event.replica] = event.epoch
        elif isinstance(
            event,
            LeaderResigned
            | ReplicaCrashed
            | ReplicaRemoved
            | ReplicaWiped
            | Copied
            | GapLearned
            | Truncated
            | SnapshotInstalled,
        ):
            self._leads.pop(event.replica, None)

    def frame(self) -> Frame:
        """All replicas now."""
        lanes = tuple([self.lane(name) for name in self.history.replicas])
        return Frame(self.history.at, lanes, tuple(self.history.committed))

    def lane(self, name: str) -> Lane:
        """One replica now."""
        view = self.history.replicas[name]
        leads = self._leads.get(name)
        return Lane(
            name=name,
            up=view.up,
            leads=leads,
            newest=leads is not None and leads >= self.history.newest_epoch,
            log_start_offset=view.log_start_offset,
            log_end_offset=view.log_end_offset,
            high_watermark=view.high_watermark,
            last_stable_offset=self._last_stable(view),
            clean_point=view.first_dirty_offset,
            snapshots=tuple(sorted(view.snapshots)),
            spots=self._spots_of(view),
        )

    def _spots_of(self, view: ReplicaView) -> tuple[Spot, ...]:
        """Its offsets; those that nothing has happened to are the very ones of last time."""
        start = self._stale.pop(view.name, None)
        known = self._spots.get(view.name, ())
        if start is None and view.name in self._spots:
            return known
        start = min(start or 0, len(known), view.log_end_offset)
        spots = [*known[:start], *self._spots_from(view, start)]
        self._spots[view.name] = tuple(spots)
        return self._spots[view.name]

    def _spots_from(self, view: ReplicaView, start: int) -> list[Spot]:
        reasons = self._reasons.of(view.name)
        spots = []
        for offset, slot in enumerate(view.slots[start:], start):
            if slot > 0:
                spots.append(self._held(view, slot))
            elif offset < view.log_start_offset:
                spots.append(Spot(Kind.BELOW, 0, reasons.get(offset, "")))
            elif slot == EMPTY:
                spots.append(Spot(Kind.EMPTY, 0, reasons.get(offset, "")))
            else:
                assert slot == HOLE
                spots.append(Spot(Kind.HOLE, 0, reasons.get(offset, "never had a record here")))
        beyond = range(view.log_end_offset, max(reasons, default=-1) + 1)
        return [*spots, *[Spot(Kind.BEYOND, 0, reasons.get(offset, "")) for offset in beyond]]

    def _held(self, view: ReplicaView, uid: int) -> Spot:
        known = self.history.written.get(uid)
        if known is None:
            return Spot(Kind.MARKER, uid)
        horizon = view.horizons.get(known.batch.base_offset)
        if known.batch.control is not None:
            return Spot(Kind.MARKER, uid, "", horizon)
        return Spot(Kind.TOMBSTONE if known.tombstone else Kind.RECORD, uid, "", horizon)

    def _last_stable(self, view: ReplicaView) -> int:
        """Where reading committed ends: no transaction that began below is without its marker."""
        mark, written = view.high_watermark, self.history.written
        if not self._transactions:
            return mark
        opened: dict[int, int] = {}
        for offset in range(view.log_start_offset, min(mark, len(view.slots))):
            known: Written | None = written.get(view.slots[offset])
            if known is None or not known.batch.transactional:
                continue
            if known.batch.control in (Control.COMMIT, Control.ABORT):
                opened.pop(known.batch.producer_id, None)
            else:
                opened.setdefault(known.batch.producer_id, offset)
        return min([mark, *opened.values()])


def _first_changed(event: Event, log_end_before: int) -> int:
    """The first offset of its replica's log that an event can have changed."""
    match event:
        case Appended(_, batch) | Pushed(_, _, batch):
            return min(log_end_before, batch.base_offset)
        case Copied() | GapLearned():
            return min(log_end_before, event.fetch_offset)
        case _:
            return 0


_LEAVES_LOGS_ALONE = (
    HighWatermarkMoved,
    PositionRecorded,
    Consumed,
    Acknowledged,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
)
"""The most frequent events that change no offset of a log."""


def replayed(events: Events, *, until: int | None = None, rules: Rules | None = None) -> Replay:
    """The replicas after the events up to position `until` (inclusive; None = all)."""
    replay = Replay(rules or Rules())
    for at, event in events if until is None else events[: until + 1]:
        replay.take(at, event)
    return replay


def position_of(events: Events, violation: Violation | None, rules: Rules | None) -> int:
    """The position of the event that showed a violation; without one, of the last event."""
    if violation is None:
        return len(events) - 1
    return judged_at(events, violation)


Labels = Mapping[int, str]
"""The label of each record of a story, by its uid."""
