"""The logs of all replicas after each event of a run, for pictures.

`sim.check.history` says which record is where. What a picture needs beside that is found by looking
at a replica before and after an event: what changed, and so why an offset holds nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from operator import itemgetter
from typing import NamedTuple

from sim.check.facts import EMPTY, ReplicaView
from sim.diagnose.draw.cells import (
    NOT_COMMITTED,
    NOT_THERE,
    Kind,
    Reason,
    Spot,
    reason_after,
    removals_of,
)
from sim.diagnose.explain.past import Past
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
    """The state of one replica after an event.

    Attributes:
        name: The replica.
        up: False while it is down; what is on its disk still counts.
        leads: The epoch of its last election as a leader, until events show it follow; else None.
        newest: Whether no replica was elected in a newer epoch than the one it leads.
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
        """The content of an offset."""
        return self.spots[offset] if offset < len(self.spots) else NOT_THERE

    @property
    def role(self) -> str:
        """Role beside its name: `leader e2`, `old leader e1, down`; empty = nothing."""
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
    """The state of all replicas after an event.

    Attributes:
        lanes: One per replica that is there, in order of creation.
        committed: Index = offset; what was there when it was first committed.
    """

    lanes: tuple[Lane, ...]
    committed: tuple[Spot, ...]

    def at(self, offset: int) -> list[Spot]:
        """The content of an offset on each replica."""
        return [lane.at(offset) for lane in self.lanes]

    def committed_at(self, offset: int) -> Spot:
        """The first committed content of an offset."""
        return self.committed[offset] if offset < len(self.committed) else NOT_COMMITTED


class Role(NamedTuple):
    """From an event on, which epoch a replica leads (None = it does not), and whether it is up."""

    position: int
    name: str
    leads: int | None
    up: bool


_Spots = list[tuple[int, Spot]]
"""Position -> what was at an offset of a log from that event on, each time it changed."""
_Log = list[_Spots]


class _State(NamedTuple):
    """A replica after an event, and the position of its creation; no lane = it has left."""

    position: int
    created: int
    lane: Lane | None


class Logs(Past):
    """The past of a run with what a picture needs: the content of each offset after each event."""

    def __init__(self, events: Events, rules: Rules | None = None) -> None:
        """Takes in no event yet; `rules` say what marks a tombstone, and which version wins."""
        super().__init__(events, rules)
        self._states: dict[str, list[_State]] = defaultdict(list)
        self._spots: dict[str, _Log] = defaultdict(list)
        self._committed: list[Spot] = []
        self._after: list[tuple[int, int]] = []  # committed offsets and newest epoch
        self._lanes: dict[str, tuple[tuple[int, int], Lane]] = {}

    # Questions; what happened up to a position (inclusive) counts.

    def frame(self, position: int) -> Frame:
        """All replicas after an event."""
        self._take_in(position + 1)
        committed, newest = self._after[position] if position >= 0 else (0, -1)
        lanes = [self._lane(name, position, newest) for name in self._states]
        there = sorted((lane for lane in lanes if lane is not None), key=itemgetter(0))
        return Frame(tuple(lane for _, lane in there), tuple(self._committed[:committed]))

    def changes(self, offset: int) -> set[int]:
        """The positions of all events that changed what some replica has at an offset."""
        self._take_in(len(self.events))
        logs = [log[offset] for log in self._spots.values() if offset < len(log)]
        return {position for spots in logs for position, _ in spots}

    def roles(self, position: int) -> list[Role]:
        """Each change of who leads and who is up; at first a replica is up and does not lead."""
        self._take_in(position + 1)
        found = []
        for name, marks in self._states.items():
            leads, up = None, True
            for at, _, lane in marks[: bisect_right(marks, position, key=itemgetter(0))]:
                was = leads, up
                leads, up = (None, False) if lane is None else (lane.leads, lane.up)
                found += [Role(at, name, leads, up)] * ((leads, up) != was)
        return sorted(found)

    def _lane(self, name: str, position: int, newest: int) -> tuple[int, Lane] | None:
        """The position of a replica's creation, and the replica; None = it is not there."""
        marks = self._states[name]
        place = bisect_right(marks, position, key=itemgetter(0)) - 1
        _, created, lane = marks[max(place, 0)]
        if place < 0 or lane is None:
            return None
        known = self._lanes.get(name)
        if known is None or known[0] != (place, newest):
            spots = [_at(each, position) for each in self._spots[name]]
            while spots and spots[-1] is NOT_THERE:
                spots.pop()
            known = self._lanes[name] = (
                (place, newest),
                lane._replace(
                    newest=lane.leads is not None and lane.leads >= newest,
                    last_stable_offset=self._last_stable(lane, spots),
                    spots=tuple(spots),
                ),
            )
        return created, known[1]

    def _last_stable(self, lane: Lane, spots: Sequence[Spot]) -> int:
        """Where reading committed ends: no transaction that began below is without its marker."""
        opened: dict[int, int] = {}
        if self.folded.undecided or self.folded.status:
            held = enumerate(spots[lane.log_start_offset : lane.high_watermark])
            for place, spot in held:
                known = self.folded.written.get(spot.uid)
                if known is None or not known.batch.transactional:
                    continue
                if known.batch.control in (Control.COMMIT, Control.ABORT):
                    opened.pop(known.batch.producer_id, None)
                else:
                    opened.setdefault(known.batch.producer_id, place + lane.log_start_offset)
        return min([lane.high_watermark, *opened.values()])

    # The fold.

    def _take(self, position: int, event: Event) -> None:
        """Folds one more event, the next in order."""
        history, name = self.folded, event.replica or ""
        before = history.replicas.get(name)
        slots = [] if before is None else before.slots.copy()
        start = 0 if before is None else before.log_start_offset
        super()._take(position, event)
        new = history.committed[len(self._committed) :]
        self._committed += [self._held(uid) if uid > 0 else NOT_COMMITTED for uid in new]
        self._after.append((len(self._committed), history.newest_epoch))
        view = history.replicas.get(name)
        self._note(position, event, view)
        if view is None:
            for spots in self._spots[name]:
                spots.append((position, NOT_THERE))
            return
        offsets: Sequence[int] = range(max(len(slots), len(view.slots)))
        if not isinstance(event, on.Cleaned) and view.log_start_offset == start:
            pairs = enumerate(zip_longest(slots, view.slots))
            offsets = [offset for offset, (old, now) in pairs if old != now]
        self._change(position, event, view, offsets)

    def _note(self, position: int, event: Event, view: ReplicaView | None) -> None:
        """Note how a replica is now, who leads, and who is up."""
        name = event.replica or ""
        marks = self._states[name]
        last = marks[-1] if marks else _State(position, position, None)
        created, lane = (position if last.lane is None else last.created), None
        if view is not None:
            leads = event.epoch if isinstance(event, on.LeaderElected) else None
            if last.lane is not None and leads is None and not isinstance(event, _ENDS_LEADERSHIP):
                leads = last.lane.leads
            lane = Lane(
                name=name,
                up=view.up,
                leads=leads,
                newest=False,
                log_start_offset=view.log_start_offset,
                log_end_offset=view.log_end_offset,
                high_watermark=view.high_watermark,
                last_stable_offset=0,
                clean_point=view.first_dirty_offset,
                snapshots=tuple(sorted(view.snapshots)),
                spots=(),
            )
        marks.append(_State(position, created, lane))

    def _change(
        self, position: int, event: Event, view: ReplicaView, offsets: Sequence[int]
    ) -> None:
        """Bring the spots of some offsets up to date."""
        log = self._spots[view.name]
        said = self._said(event, log)
        for offset in offsets:
            uid, known = view.uid_at(offset), _last(log, offset)
            if uid > 0:
                spot = self._held(uid, view.horizons)
            else:
                kind = _missing_at(view, offset)
                reason = reason_after(event, view, kind, known.reason, said(offset))
                spot = Spot(kind, 0, reason)
            if offset == len(log):
                log.append([(position, spot)])
            elif spot != known:
                log[offset].append((position, spot))

    def _said(self, event: Event, log: _Log) -> Callable[[int], Reason | None]:
        """Makes a function of an offset: the reason that the event itself gives for no record."""
        if isinstance(event, on.Cleaned):
            known = {offset: _last(log, offset).reason for offset in event.dropped}
            return removals_of(event, known).get
        if isinstance(event, on.Copied | on.GapLearned):
            source = self._spots[event.leader]
            return lambda offset: _last(source, offset).reason
        return lambda _: None

    def _held(self, uid: int, horizons: Mapping[int, int] | None = None) -> Spot:
        known = self.folded.written.get(uid)
        if known is None:
            return Spot(Kind.MARKER, uid)
        kind = Kind.TOMBSTONE if known.tombstone else Kind.RECORD
        if known.batch.control is not None:
            kind = Kind.MARKER
        return Spot(kind, uid, None, (horizons or {}).get(known.batch.base_offset))


def _at(spots: _Spots, position: int) -> Spot:
    """The content of an offset after an event."""
    place = bisect_right(spots, position, key=itemgetter(0))
    return spots[place - 1][1] if place else NOT_THERE


def _last(log: _Log, offset: int) -> Spot:
    """The content of an offset of a log after the events folded so far."""
    return log[offset][-1][1] if offset < len(log) else NOT_THERE


def _missing_at(view: ReplicaView, offset: int) -> Kind:
    """The kind of content of an offset without a record."""
    if offset >= view.log_end_offset:
        return Kind.BEYOND
    if offset < view.log_start_offset:
        return Kind.BELOW
    return Kind.EMPTY if view.slots[offset] == EMPTY else Kind.HOLE


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
