"""What every replica holds after each event: the history of the checks, made ready to be drawn.

`sim.check.history` says which record is where. What a picture needs beside that is found by looking
at a replica before and after an event: what changed, and so why an offset holds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from sim.check.history import ClusterHistory
from sim.check.replica_view import EMPTY, ReplicaView
from sim.diagnose.draw.spots import (
    NOT_COMMITTED,
    NOT_THERE,
    Kind,
    Reason,
    Spot,
    reason_after,
    removals_of,
)
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.log.record import Control
from sim.protocol.rules import Rules

Events = Sequence[tuple[int, Event]]
"""(when, event) in the order in which things happened: ms, or the step of a story."""


def replicas_of(events: Events) -> list[str]:
    """The names of all replicas that there ever were, in order of creation."""
    added = [event.replica for _, event in events if isinstance(event, on.ReplicaAdded)]
    return list(dict.fromkeys(added))


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
        return _at(self.spots, offset)

    @property
    def role(self) -> str:
        """Beside its name: `leader e2`, `old leader e1, down`; empty = nothing."""
        leads = f"{'leader' if self.newest else 'old leader'} e{self.leads}"
        return ", ".join([leads] * (self.leads is not None) + ["down"] * (not self.up))

    @property
    def marks(self) -> str:
        """The marks of the log in words; those that say nothing new are left out."""
        start = f"start {self.log_start_offset} " if self.log_start_offset else ""
        stable = f" stable {self.last_stable_offset}"
        open_ended = self.last_stable_offset != self.high_watermark
        marks = f"{start}hw {self.high_watermark} end {self.log_end_offset}"
        return marks + stable if open_ended else marks


class Frame(NamedTuple):
    """All replicas after an event.

    Attributes:
        lanes: One per replica that is there, in order of creation.
        committed: Index = offset; what was there when it was first committed.
    """

    lanes: tuple[Lane, ...]
    committed: tuple[Spot, ...]

    def at(self, offset: int) -> list[Spot]:
        """What each replica has at an offset."""
        return [lane.at(offset) for lane in self.lanes]

    def committed_at(self, offset: int) -> Spot:
        """What was first committed at an offset."""
        return self.committed[offset] if offset < len(self.committed) else NOT_COMMITTED


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
        self._leads: dict[str, int] = {}
        self._role: dict[str, tuple[int | None, bool]] = {}
        self._spots: dict[str, list[Spot]] = {}
        self._committed: tuple[Spot, ...] = ()
        self._lanes: dict[str, Lane] = {}

    def take(self, at: int, event: Event) -> None:
        """One more event, the next in order."""
        name = event.replica or ""
        before = self.history.replicas.get(name)
        slots = [] if before is None else before.slots.copy()
        start = 0 if before is None else before.log_start_offset
        self.history.at = at
        self.history.apply(event)
        if len(self.history.committed) > len(self._committed):
            new = self.history.committed[len(self._committed) :]
            self._committed += tuple(self._held(uid) if uid > 0 else NOT_COMMITTED for uid in new)
        view = self.history.replicas.get(name)
        self._follow(event, view)
        if view is None:
            self._spots.pop(name, None)
            return
        offsets: Sequence[int] = range(max(len(slots), len(view.slots)))
        if not isinstance(event, on.Cleaned) and view.log_start_offset == start:
            offsets = _differing(slots, view.slots)
        self._change(event, view, offsets)

    def upto(self, events: Events, position: int) -> None:
        """All events of a run up to a position (inclusive)."""
        for at, event in events[self.taken : position + 1]:
            self.take(at, event)

    def _follow(self, event: Event, view: ReplicaView | None) -> None:
        """Who leads, and who is up."""
        name = event.replica or ""
        self._lanes.pop(name, None)
        if isinstance(event, on.LeaderElected):
            self._leads[name] = event.epoch
            self._lanes.clear()
        elif isinstance(event, _ENDS_LEADERSHIP):
            self._leads.pop(name, None)
        role = (self._leads.get(name), view is not None and view.up)
        if name and role != self._role.get(name, (None, True)):
            self._role[name] = role
            self.roles.append(Role(self.taken, name, *role))
        self.taken += 1

    def _change(self, event: Event, view: ReplicaView, offsets: Sequence[int]) -> None:
        """Bring the spots of some offsets up to date."""
        spots = self._spots.setdefault(view.name, [])
        told = self._told(event, spots)
        for offset in offsets:
            uid, kind = view.uid_at(offset), _missing_at(view, offset)
            if uid > 0:
                spot = self._held(uid, view.horizons)
            else:
                known = _at(spots, offset).reason
                spot = Spot(kind, 0, reason_after(event, view, kind, known, told(offset)))
            spots[offset : offset + 1] = [spot]  # or append it

    def _told(self, event: Event, spots: Sequence[Spot]) -> Callable[[int], Reason | None]:
        """What an event says itself of an offset without a record."""
        if isinstance(event, on.Cleaned):
            known = {offset: _at(spots, offset).reason for offset in event.dropped}
            return removals_of(event, known).get
        if isinstance(event, on.Copied | on.GapLearned):
            source = self._spots.get(event.leader, ())
            return lambda offset: _at(source, offset).reason
        return lambda _: None

    def _held(self, uid: int, horizons: Mapping[int, int] | None = None) -> Spot:
        known = self.history.written.get(uid)
        if known is None:
            return Spot(Kind.MARKER, uid)
        kind = Kind.TOMBSTONE if known.tombstone else Kind.RECORD
        if known.batch.control is not None:
            kind = Kind.MARKER
        return Spot(kind, uid, None, (horizons or {}).get(known.batch.base_offset))

    def spot(self, name: str, offset: int) -> Spot:
        """What a replica has at an offset now."""
        return _at(self._spots.get(name, ()), offset)

    def frame(self) -> Frame:
        """All replicas now."""
        lanes = [self.lane(name) for name in self.history.replicas]
        return Frame(tuple(lanes), self._committed)

    def lane(self, name: str) -> Lane:
        """One replica now."""
        if name not in self._lanes:
            view, leads = self.history.replicas[name], self._leads.get(name)
            self._lanes[name] = Lane(
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
                spots=tuple(self._spots.get(name, ())),
            )
        return self._lanes[name]

    def _last_stable(self, view: ReplicaView) -> int:
        """Where reading committed ends: no transaction that began below is without its marker."""
        mark = view.high_watermark
        opened: dict[int, int] = {}
        held = (
            view.slots[view.log_start_offset : mark]
            if self.history.undecided or self.history.status
            else []
        )
        for offset, uid in enumerate(held, view.log_start_offset):
            known = self.history.written.get(uid)
            if known is None or not known.batch.transactional:
                continue
            if known.batch.control in (Control.COMMIT, Control.ABORT):
                opened.pop(known.batch.producer_id, None)
            else:
                opened.setdefault(known.batch.producer_id, offset)
        return min([mark, *opened.values()])


def _differing(before: list[int], after: list[int]) -> Sequence[int]:
    """The offsets at which a log is another one now."""
    same = len(before)
    if after[:same] == before:
        return range(same, len(after))
    pairs = enumerate(zip_longest(before, after))
    return [offset for offset, (old, new) in pairs if old != new]


def _missing_at(view: ReplicaView, offset: int) -> Kind:
    """What is at an offset without a record."""
    if offset >= view.log_end_offset:
        return Kind.BEYOND
    if offset < view.log_start_offset:
        return Kind.BELOW
    return Kind.EMPTY if view.slots[offset] == EMPTY else Kind.HOLE


def _at(spots: Sequence[Spot], offset: int) -> Spot:
    return spots[offset] if offset < len(spots) else NOT_THERE


_ENDS_LEADERSHIP = (
    on.LeaderResigned,
    on.ReplicaCrashed,
    on.ReplicaRemoved,
    on.ReplicaWiped,
    on.Copied,
    on.GapLearned,
    on.Truncated,
    on.SnapshotInstalled,
)
"""Whoever did one of these leads no more, whether it resigned or not."""
