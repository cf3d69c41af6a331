"""What every replica holds after each event: the history of the checks, made ready to be drawn.

`sim.check.history` says which record is where. What a picture needs beside that is found by looking
at a replica before and after an event: what changed, and so why an offset holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from itertools import zip_longest
from typing import NamedTuple

from sim import trace
from sim.check.history import ClusterHistory, Written
from sim.check.history_keeper import HistoryKeeper
from sim.check.replica_view import EMPTY, ReplicaView
from sim.draw.reasons import Reason, reason_after, told_by
from sim.log.record import Control
from sim.rules import Rules

Events = Sequence[tuple[int, trace.Event]]
"""(when, event) in the order in which things happened: ms, or the step of a story."""


def replicas_of(events: Events) -> list[str]:
    """The names of all replicas that there ever were, in order of creation."""
    added = [event.replica for _, event in events if isinstance(event, trace.ReplicaAdded)]
    return list(dict.fromkeys(added))


class Kind(StrEnum):
    """What is at one offset of one log."""

    RECORD = "a record"
    TOMBSTONE = "a tombstone"
    MARKER = "a marker"
    EMPTY = "an empty batch"
    """A batch whose records are gone: its offsets and epoch are kept."""
    HOLE = "a hole"
    """Neither a record nor a batch."""
    BELOW = "below the log start"
    BEYOND = "beyond the log end"


class Spot(NamedTuple):
    """One offset of one log.

    Attributes:
        kind: What is there.
        uid: The append that made the record; 0 where there is none.
        reason: Why there is no record; None = there is one, or there never was.
        horizon_ms: The delete horizon of its batch, where that has one.
    """

    kind: Kind
    uid: int = 0
    reason: Reason | None = None
    horizon_ms: int | None = None


NOT_THERE = Spot(Kind.BEYOND)
_NEVER_HAD = Reason("never had a record here")


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


class Frame(NamedTuple):
    """All replicas after an event.

    Attributes:
        lanes: One per replica that is there, in order of creation.
        committed: Index = offset; the uid that was there when it was first committed, 0 = nothing.
    """

    lanes: tuple[Lane, ...]
    committed: tuple[int, ...]

    def committed_at(self, offset: int) -> int:
        """The uid that was first committed at an offset; 0 = nothing is."""
        return self.committed[offset] if offset < len(self.committed) else 0


class Role(NamedTuple):
    """From an event on, which epoch a replica leads (None = it does not), and whether it is up."""

    position: int
    name: str
    leads: int | None
    up: bool


class Replay:
    """Takes events one by one, and says how every log looks then.

    Attributes:
        rules: Of the run: they say what marks a tombstone, and which version wins.
        history: What was written, committed and is held.
        roles: Each change of them so far; at first a replica is up and does not lead.
        taken: How many events there were.
    """

    def __init__(self, rules: Rules | None = None) -> None:
        """Nothing has happened."""
        self.rules = rules or Rules()
        self.history = ClusterHistory(self.rules)
        self.roles: list[Role] = []
        self.taken = 0
        self._keeper = HistoryKeeper(self.history)
        self._leads: dict[str, int] = {}
        self._role: dict[str, tuple[int | None, bool]] = {}
        self._spots: dict[str, list[Spot]] = {}
        self._reasons: dict[str, dict[int, Reason]] = {}

    def take(self, at: int, event: trace.Event) -> Mapping[int, Spot]:
        """One more event, the next in order.

        Returns: Of its replica's log each offset that it changed, with what was there before.
        """
        name = event.replica or ""
        before = self.history.replicas.get(name)
        slots = [] if before is None else before.slots.copy()
        start = 0 if before is None else before.log_start_offset
        told = told_by(event, self._reasons)
        self.history.at = at
        self._keeper.apply(event)
        view = self.history.replicas.get(name)
        self._follow(event, view)
        if view is None:
            self._spots.pop(name, None)
            self._reasons.pop(name, None)
            return {}
        offsets: Sequence[int] = range(max(len(slots), len(view.slots)))
        if not isinstance(event, trace.Cleaned) and view.log_start_offset == start:
            offsets = _differing(slots, view.slots)
        return self._changed(event, view, offsets, told)

    def upto(self, events: Events, position: int) -> Mapping[int, Spot]:
        """All events of a run up to a position (inclusive); what the last one changed."""
        changed: Mapping[int, Spot] = {}
        for at, event in events[self.taken : position + 1]:
            changed = self.take(at, event)
        return changed

    def _follow(self, event: trace.Event, view: ReplicaView | None) -> None:
        """Who leads, and who is up."""
        name = event.replica or ""
        if isinstance(event, trace.LeaderElected):
            self._leads[name] = event.epoch
        elif isinstance(event, _ENDS_LEADERSHIP):
            self._leads.pop(name, None)
        role = (self._leads.get(name), view is not None and view.up)
        if name and role != self._role.get(name, (None, True)):
            self._role[name] = role
            self.roles.append(Role(self.taken, name, *role))
        self.taken += 1

    def _changed(
        self,
        event: trace.Event,
        view: ReplicaView,
        offsets: Sequence[int],
        told: Mapping[int, Reason],
    ) -> dict[int, Spot]:
        """Bring the spots of some offsets up to date; those that are other ones now, as before."""
        spots = self._spots.setdefault(view.name, [])
        reasons = self._reasons.setdefault(view.name, {})
        changed = {}
        for offset in offsets:
            slot = view.uid_at(offset)
            known = reasons.pop(offset, None)
            if slot > 0:
                spot = self._held(view, slot)
            else:
                reason = reason_after(event, view, offset, known, told.get(offset))
                if reason is not None:
                    reasons[offset] = reason
                spot = _without_a_record(view, offset, reason)
            if offset == len(spots):
                spots.append(NOT_THERE)
            if spots[offset] != spot:
                changed[offset], spots[offset] = spots[offset], spot
        return changed

    def _held(self, view: ReplicaView, uid: int) -> Spot:
        known = self.history.written.get(uid)
        if known is None:
            return Spot(Kind.MARKER, uid)
        return Spot(kind_of(known), uid, None, view.horizons.get(known.batch.base_offset))

    def spots_of(self, name: str) -> Sequence[Spot]:
        """What is at the offsets of a replica; empty where it is not there."""
        return self._spots.get(name, ())

    def frame(self) -> Frame:
        """All replicas now."""
        lanes = [self.lane(name) for name in self.history.replicas]
        return Frame(tuple(lanes), tuple(self.history.committed))

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
            spots=tuple(self.spots_of(name)),
        )

    def _last_stable(self, view: ReplicaView) -> int:
        """Where reading committed ends: no transaction that began below is without its marker."""
        mark = view.high_watermark
        opened: dict[int, int] = {}
        held = view.slots[view.log_start_offset : mark] if self._transactions else []
        for offset, uid in enumerate(held, view.log_start_offset):
            known = self.history.written.get(uid)
            if known is None or not known.batch.transactional:
                continue
            if known.batch.control in (Control.COMMIT, Control.ABORT):
                opened.pop(known.batch.producer_id, None)
            else:
                opened.setdefault(known.batch.producer_id, offset)
        return min([mark, *opened.values()])

    @property
    def _transactions(self) -> bool:
        """Whether a transaction was ever open."""
        return bool(self.history.undecided or self.history.status)


def kind_of(known: Written) -> Kind:
    """What a record is."""
    if known.batch.control is not None:
        return Kind.MARKER
    return Kind.TOMBSTONE if known.tombstone else Kind.RECORD


def _differing(before: list[int], after: list[int]) -> Sequence[int]:
    """The offsets at which a log is another one now."""
    same = len(before)
    if after[:same] == before:
        return range(same, len(after))
    pairs = enumerate(zip_longest(before, after))
    return [offset for offset, (old, new) in pairs if old != new]


def _without_a_record(view: ReplicaView, offset: int, reason: Reason | None) -> Spot:
    if offset >= view.log_end_offset:
        return Spot(Kind.BEYOND, 0, reason)
    if offset < view.log_start_offset:
        return Spot(Kind.BELOW, 0, reason)
    if view.slots[offset] == EMPTY:
        return Spot(Kind.EMPTY, 0, reason)
    return Spot(Kind.HOLE, 0, reason or _NEVER_HAD)


_ENDS_LEADERSHIP = (
    trace.LeaderResigned,
    trace.ReplicaCrashed,
    trace.ReplicaRemoved,
    trace.ReplicaWiped,
    trace.Copied,
    trace.GapLearned,
    trace.Truncated,
    trace.SnapshotInstalled,
)
"""Whoever did one of these leads no more, whether it resigned or not."""
