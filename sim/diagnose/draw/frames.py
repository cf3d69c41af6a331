"""The logs of all replicas after each event of a run, for pictures.

`sim.diagnose.explain.past` says which event changed which offset of which log; this adds the state
of each replica after each event, and words for why an offset holds no record.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from typing import NamedTuple

from sim.check.facts import EMPTY, HOLE
from sim.diagnose.draw.cells import (
    NOT_COMMITTED,
    NOT_THERE,
    CellKind,
    CellReason,
    Spot,
    left_by,
    not_copied,
    removal_of,
)
from sim.diagnose.explain.past import Became, LogChange, Past, Recorded
from sim.protocol import events as on
from sim.protocol.events import Event
from sim.protocol.log.record import Control
from sim.protocol.rules import Rules


def replicas_of(events: Recorded) -> list[str]:
    """Names of all replicas of a run, removed ones too, in order of creation."""
    added = [event.replica for _, event in events if isinstance(event, on.ReplicaAdded)]
    return list(dict.fromkeys(added))


class Lane(NamedTuple):
    """The state of one replica after an event.

    Attributes:
        name: Name of the replica.
        up: False while it is down; its disk still counts.
        leads: Epoch in which it leads, as far as events show; None for a follower.
        newest: True if no replica was elected in a newer epoch than the one it leads.
        log_start_offset: Start of the log (inclusive).
        log_end_offset: End of the log (exclusive).
        high_watermark: End of what it knows to be committed (exclusive).
        last_stable_offset: Offset of the first record of a transaction without a marker, or the
            high watermark (exclusive).
        clean_point: First dirty offset: all below it was cleaned (exclusive).
        snapshots: (end offset, epoch) of its snapshots.
        spots: Content by offset, up to the last one that is or was in the log.
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
        """The role, such as `leader e2` or `old leader e1, down`; empty for a live follower."""
        leads = f"{'leader' if self.newest else 'old leader'} e{self.leads}"
        return ", ".join([leads] * (self.leads is not None) + ["down"] * (not self.up))

    @property
    def marks(self) -> str:
        """The offsets of the log in words; a log start of 0 and equal marks are left out."""
        start = f"start {self.log_start_offset} " if self.log_start_offset else ""
        stable = f" stable {self.last_stable_offset}"
        open_ended = self.last_stable_offset != self.high_watermark
        marks = f"{start}hw {self.high_watermark} end {self.log_end_offset}"
        return marks + stable if open_ended else marks


class Frame(NamedTuple):
    """The state of all replicas after an event.

    Attributes:
        lanes: The replicas that exist, in order of creation.
        committed: First committed content by offset.
    """

    lanes: tuple[Lane, ...]
    committed: tuple[Spot, ...]

    def at(self, offset: int) -> list[Spot]:
        """The content of an offset on each replica."""
        return [lane.at(offset) for lane in self.lanes]

    def committed_at(self, offset: int) -> Spot:
        """The first committed content of an offset."""
        return self.committed[offset] if offset < len(self.committed) else NOT_COMMITTED


class Logs(Past):
    """The past of a run with the state of every replica after each event, for pictures."""

    def __init__(self, events: Recorded, rules: Rules | None = None) -> None:
        """Folds no event yet; `rules` define tombstones and which version wins."""
        super().__init__(events, rules)
        # Replica -> after each of its events: the position, and the replica without its spots;
        # None after it was removed.
        self._states: dict[str, list[tuple[int, Lane | None]]] = defaultdict(list)
        # Replica -> its last event and the newest epoch, and the lane that was made for them.
        self._drawn: dict[str, tuple[tuple[int, int], Lane]] = {}

    # Questions; events up to a position (inclusive) count.

    def frame(self, position: int) -> Frame:
        """All replicas after an event."""
        self._take_in(position + 1)
        newest = (self.leader_at(position + 1) or ("", -1))[1]
        added = [self.event(at).replica for at in self.latest(on.ReplicaAdded, before=position + 1)]
        lanes = (self._lane(name, position, newest) for name in reversed(dict.fromkeys(added)))
        place = bisect_right(self._commits, position, key=itemgetter(1))
        count = self._commits[place - 1][0] if place else 0
        known = self.folded.committed[:count]
        committed = [Spot(self._kind(uid), uid) if uid > 0 else NOT_COMMITTED for uid in known]
        return Frame(tuple(lane for lane in lanes if lane is not None), tuple(committed))

    def roles(self, position: int) -> list[tuple[int, str, int | None, bool]]:
        """The changes of roles: position, replica, the epoch it leads, and if it is up.

        At first a replica is up and follows.
        """
        self._take_in(position + 1)
        found = []
        for name, states in self._states.items():
            role: tuple[int | None, bool] = (None, True)
            for at, lane in states[: bisect_right(states, position, key=itemgetter(0))]:
                was, role = role, (None, False) if lane is None else (lane.leads, lane.up)
                found += [(at, name, *role)] * (role != was)
        return sorted(found)

    def _state(self, name: str, position: int) -> tuple[int, Lane | None]:
        """Position of a replica's last event up to a position (inclusive), and its state then.

        The state is None if the replica did not exist.
        """
        states = self._states[name]
        place = bisect_right(states, position, key=itemgetter(0))
        return states[place - 1] if place else (position, None)

    def _lane(self, name: str, position: int, newest: int) -> Lane | None:
        """The state of a replica after an event; None if it does not exist."""
        since, lane = self._state(name, position)
        if lane is None:
            return None
        key, known = (since, newest), self._drawn.get(name)
        if known is None or known[0] != key:
            log = self._changes[name]
            end = max([lane.log_end_offset, *(offset + 1 for offset in log)])
            spots = [self._spot(lane, offset, position) for offset in range(end)]
            while spots and spots[-1] is NOT_THERE:
                spots.pop()
            leads = lane.leads is not None and lane.leads >= newest
            stable = self._last_stable(lane, spots)
            drawn = lane._replace(newest=leads, last_stable_offset=stable, spots=tuple(spots))
            known = self._drawn[name] = (key, drawn)
        return known[1]

    def _last_stable(self, lane: Lane, spots: Sequence[Spot]) -> int:
        """The last stable offset: no transaction that began below it lacks its marker."""
        opened: dict[int, int] = {}
        if self.folded.undecided or self.folded.status:
            start = lane.log_start_offset
            for offset, spot in enumerate(spots[start : lane.high_watermark], start):
                known = self.folded.written.get(spot.uid)
                if known is None or not known.batch.transactional:
                    continue
                if known.batch.control in (Control.COMMIT, Control.ABORT):
                    opened.pop(known.batch.producer_id, None)
                else:
                    opened.setdefault(known.batch.producer_id, offset)
        return min([lane.high_watermark, *opened.values()])

    def _spot(self, lane: Lane, offset: int, position: int) -> Spot:
        """The content of an offset of a replica after an event."""
        changes = self._changes_of(lane.name, offset, position + 1)
        slot = changes[0].slot if changes else HOLE
        if slot > 0:
            known = self.folded.written.get(slot)
            base = known.batch.base_offset if known is not None else offset
            given = self.horizons(lane.name, base, position + 1)
            since = [each.at_ms for each in given if each.position >= changes[0].position]
            return Spot(self._kind(slot), slot, None, since[-1] if since else None)
        if offset >= lane.log_end_offset:
            kind = CellKind.BEYOND
        elif offset < lane.log_start_offset:
            kind = CellKind.BELOW
        else:
            kind = CellKind.EMPTY if slot == EMPTY else CellKind.HOLE
        reason = self._reason(lane.name, offset, kind, changes)
        return NOT_THERE if kind is CellKind.BEYOND and reason is None else Spot(kind, 0, reason)

    def _kind(self, uid: int) -> CellKind:
        """The kind of the content of an offset with a record."""
        known = self.folded.written.get(uid)
        if known is None or known.batch.control is not None:
            return CellKind.MARKER
        return CellKind.TOMBSTONE if known.tombstone else CellKind.RECORD

    def _reason(
        self, name: str, offset: int, kind: CellKind, changes: Sequence[LogChange]
    ) -> CellReason | None:
        """The reason why an offset holds no record, by its changes, the newest first; else None.

        A copy has the reason of the log that it was copied from.
        """
        if not changes or (kind is CellKind.BEYOND and changes[0].became is Became.NEVER):
            return None
        position, _, _, step = changes[0]
        event, before = step.event, [each for each in changes if each.position < position]
        left = left_by(event, kind, self.newest_snapshot(name, position))
        if left is not None or kind is CellKind.BEYOND:
            return left or CellReason("gone")
        if kind is not CellKind.BELOW and isinstance(event, on.Copied | on.GapLearned):
            _, lane = self._state(event.leader, position)
            reason = self._spot(lane, offset, position).reason if lane is not None else None
            return reason if kind is CellKind.EMPTY else not_copied(event.leader, reason)
        known = self._reason(name, offset, kind, before)
        if kind is not CellKind.BELOW and isinstance(event, on.Cleaned):
            return removal_of(event, offset, known) or known
        return known

    # The fold.

    def _take(self, position: int, event: Event) -> None:
        """Folds one more event and notes the state of its replica."""
        super()._take(position, event)
        name = event.replica or ""
        states, view = self._states[name], self.folded.replicas.get(name)
        last, lane = states[-1][1] if states else None, None
        if view is not None:
            leads = _leads_by(event)
            ends = isinstance(event, _ENDS_LEADERSHIP) and not getattr(event, "leading", False)
            if last is not None and leads is None and not ends:
                leads = last.leads
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
        states.append((position, lane))
        self._resign(position, event)

    def _resign(self, position: int, event: Event) -> None:
        """Notes which other replicas an event shows to follow a newer leader."""
        told: Sequence[str] = ()
        if isinstance(event, on.PositionRecorded):
            told = [event.follower]
        elif isinstance(event, on.Quiesced) and event.synced:  # all that are up have fetched
            told = [name for name in self._states if name != event.replica]
        own = self._states[event.replica or ""][-1][1]
        for name in told:
            lane = self._states[name][-1][1] if self._states[name] else None
            if lane and own and lane.up and 0 < (lane.leads or 0) < (own.leads or 0):
                self._states[name].append((position, lane._replace(leads=None)))


def _leads_by(event: Event) -> int | None:
    """The epoch in which an event shows its replica to lead; None if it shows none.

    A leader that resumes its epoch after a restart is elected by no event: it appends.
    """
    if isinstance(event, on.Appended):
        return event.batch.epoch
    return event.epoch if isinstance(event, on.LeaderElected) else None


_ENDS_LEADERSHIP = (
    on.LeaderResigned,
    on.ReplicaCrashed,
    on.ReplicaWiped,
    on.Copied,
    on.GapLearned,
    on.Truncated,
    on.LogEmptied,
    on.LogStartedAfresh,
    on.SnapshotInstalled,
)
"""Classes of events after which a replica does not lead any more."""
