"""What led to what: a run as a graph, and the events in it that led to a violation.

`causal_graph` is happens-before, all of it. `causal_cone` is small: it starts at what the broken
law looked at, and follows only edges that carried it (the record of an offset, the state of a key,
a replica's end, position or lead), and the decisions about these:

* what a replica holds at an offset: who appended, copied, removed, cut or lost it there, what stood
  there before, and on the leader it was copied from;
* a removal: the record that won, who gave the batch its delete horizon, up to where removal was
  allowed, the transaction's marker;
* an append: the election that made its replica the leader;
* an election: who led before and why no more, who was admitted to the in-sync set and by which
  position, an unclean election;
* a position a leader believes in: the copy or the gap that brought the follower there;
* a commit: the positions it counted;
* a truncation: the election it obeys, the epoch cache; a crash or a cut: the fault;
* a snapshot: the fetch of it, the replica that took it; a log start: the snapshot before it;
* a read: the reads before it at and above the offset, and what moved the reader's position.

A fault whose victim lacks the offset is followed, too: what did not arrive left no event.
"""

from __future__ import annotations

from sim.check import Violation
from sim.explain.happens_before import causal_graph
from sim.explain.judged import judged_at
from sim.explain.provenance import Provenance, Recorded
from sim.trace import (
    Acknowledged,
    Appended,
    Cleaned,
    CleanerLooked,
    Consumed,
    ConsumerReset,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Copied,
    Event,
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
    Pushed,
    ReadingEnded,
    Removal,
    RemovalBoundMoved,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    RoundsEnded,
    SegmentsLost,
    SnapshotChunkFetched,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotTaken,
    TombstoneProbed,
    Truncated,
    Understood,
)

__all__ = ["BEATEN", "Cone", "causal_cone", "causal_graph"]

BEATEN = 2
"""So many of the records that the one in question beat belong to its story: the last ones."""


def causal_cone(events: Recorded, violation: Violation) -> list[int]:
    """The positions of the events that led to a violation, ascending; the last one shows it.

    See the top of this module for what is followed. Nothing is left out for the sake of length.
    """
    return Cone(Provenance(events), violation).positions


class Cone:
    """What led to a violation.

    Attributes:
        positions: Of all events in it, ascending.
        evidence: Positions of those that the law looked at: the ends that were walked back from.
        judged: Position of the event that showed the violation.
    """

    def __init__(
        self, known: Provenance, violation: Violation, *, judged: int | None = None
    ) -> None:
        """Walk back from a violation; `judged` is found when it is not known."""
        self._known = known
        self.judged = judged_at(known.events, violation) if judged is None else judged
        self._found: set[int] = set()
        self._asked: set[tuple[object, ...]] = set()
        self.evidence: set[int] = {self.judged}
        self._start(violation)
        self.positions = sorted(self._found)

    # Where the walk begins.

    def _start(self, violation: Violation) -> None:
        known, end = self._known, self.judged + 1
        self._follow(self.judged)
        offsets = set() if violation.offset is None else {violation.offset}
        if violation.key is not None:
            offsets |= self._offsets_of(violation.key, violation.replica, end)
        for offset in sorted(offsets):
            for replica in known.replicas:
                held = known.slot(replica, offset, before=end)
                if held is not None:
                    self.evidence.add(held)
                    self._slot(replica, offset, end)
            commit = known.first_commit(offset)
            if commit is not None and commit < end:
                self._look(commit)
                self._look_at_absent(offset, commit)
            self._look_at_absent(offset, end)
        if violation.replica is not None:
            self._look(known.last("start", violation.replica, before=end))
            self._look(known.last("mark", violation.replica, before=end))

    def _look(self, position: int | None) -> None:
        if position is not None:
            self.evidence.add(position)
            self._follow(position)

    def _look_at_absent(self, offset: int, before: int) -> None:
        """What keeps from an offset those who never had it: a fault that goes on."""
        for replica in self._known.replicas:
            if self._known.slot(replica, offset, before=before) is None:
                found = self._known.all("fault", replica, before=before)
                event = self._known.events[found[-1]][1] if found else None
                if isinstance(event, FaultInjected):
                    self._look(found[-1])

    def _offsets_of(self, key: str, replica: str | None, end: int) -> set[int]:
        """The records of a key that its state hangs on.

        Where they are many: the last two appended, what any replica removed otherwise than because
        a newer one won, and those that beat them.
        """
        known = self._known
        given = [
            record.offset
            for uid, record in known.records.items()
            if record.key == key and known.appended_at[uid] < end
        ]
        found = set(given[-BEATEN:])
        for _, event in known.events[:end]:
            for removal in event.removals if isinstance(event, Cleaned) else ():
                if removal.key == key and removal.reason != "superseded":
                    found.add(removal.offset)
        for name in known.replicas if replica is None else (replica,):
            held = [offset for offset in given if self._held(name, offset, end)]
            found |= set(held[-BEATEN:])
        return found

    def _held(self, replica: str, offset: int, end: int) -> bool:
        position = self._known.slot(replica, offset, before=end)
        event = None if position is None else self._known.events[position][1]
        return isinstance(event, Appended | Copied | Pushed)

    def _fault_at(self, replica: str, before: int) -> int | None:
        found = self._known.all("fault", replica, before=before)
        faults = [one for one in found if isinstance(self._known.events[one][1], FaultInjected)]
        return faults[-1] if faults else None

    # The walk.

    def _slot(self, replica: str, offset: int, before: int) -> None:
        """Who made what a replica holds at an offset."""
        position = self._known.slot(replica, offset, before=before)
        if position is None or (position, replica, offset) in self._asked:
            return
        self._asked.add((position, replica, offset))
        event = self._known.events[position][1]
        self._slot(replica, offset, position)
        match event:
            case Copied(_, leader) | GapLearned(_, leader) | Pushed(_, leader):
                self._slot(leader, offset, position)
            case Cleaned():
                for removal in event.removals:
                    if removal.offset == offset:
                        self._removed(position, event, removal)
            case _:
                pass
        self._follow(position)

    def _removed(self, position: int, event: Cleaned, removal: Removal) -> None:
        known, name = self._known, event.replica
        if removal.winner_offset is not None:
            self._slot(name, removal.winner_offset, position)
        batch = known.batches.get(removal.uid)
        if batch is None:
            return
        if removal.reason in ("tombstone", "marker"):
            horizon = known.last("horizon", name, str(batch.base_offset), before=position + 1)
            self._visit(horizon)
            self._visit(known.last("bound", name, before=position))
            self._look_at_absent(removal.offset, position)
        if removal.reason == "aborted":
            for marker in known.all("marker", str(batch.producer_id), before=position):
                written = known.events[marker][1]
                if isinstance(written, Appended):
                    self._slot(name, written.batch.last_offset, position)

    def _visit(self, position: int | None) -> None:
        if position is not None:
            self._follow(position)

    def _follow(self, position: int) -> None:
        """An event belongs to the cone, and so does what decided it."""
        if position in self._found:
            return
        self._found.add(position)
        known, event = self._known, self._known.events[position][1]
        name = event.replica or ""
        match event:
            case Appended(_, batch):
                self._visit(known.last("lead", name, before=position))
                self._slot(name, batch.base_offset, position)
            case HighWatermarkMoved(_, _, leading):
                self._watermark(position, name, leading=leading)
            case PositionRecorded(_, follower, _):
                self._visit(known.last("end", follower, before=position))
            case IsrChanged(_, _, joined) if joined is not None:
                self._visit(known.last("position", joined, before=position))
            case LeaderElected():
                self._elected(position)
            case Truncated():
                self._visit(known.last("leader", before=position))
                self._visit(known.last("epochs", name, before=position))
            case ReplicaCrashed() | ReplicaWiped() | ReplicaRestarted() | SegmentsLost():
                self._visit(known.last("state", name, before=position))
                self._visit(self._fault_at(name, position))
            case LeaderResigned():
                self._visit(self._fault_at(name, position))
            case Cleaned():
                self._visit(known.last("config", name, before=position))
            case Acknowledged(_, _, _, first, _, _, _):
                self._slot(name, first, position)
            case _:
                self._follow_a_reader(position, event)

    def _follow_a_reader(self, position: int, event: Event) -> None:
        known, name = self._known, event.replica or ""
        match event:
            case Consumed(_, consumer) | ConsumerReset(_, consumer):
                self._visit(known.last("read", consumer, before=position))
            case ReadingEnded(_, consumer) | Understood(_, consumer):
                self._visit(known.last("read", consumer, before=position))
            case CoordinatorAnswered():
                self._visit(known.last("loaded", name, before=position))
            case CoordinatorLoaded():
                self._visit(known.last("lead", name, before=position))
            case SnapshotInstalled(_, end, epoch) | SnapshotFetched(_, end, epoch):
                self._visit(known.last("taken", str(end), str(epoch), before=position))
                self._visit(known.last("snapshot", name, before=position))
            case SnapshotTaken():
                self._visit(known.last("mark", name, before=position))
            case SnapshotChunkFetched() | LogEmptied():
                self._visit(known.last("snapshot", name, before=position))
            case PrefixDeleted() | LogStartMoved() | LogStartedAfresh():
                self._visit(known.last("snapshot", name, before=position))
                self._visit(known.last("mark", name, before=position))
            case RemovalBoundMoved():
                for other in known.replicas:
                    self._visit(known.last("end", other, before=position))
            case TombstoneProbed() | RoundsEnded():
                for other in known.replicas:
                    self._look(known.last("cleaned", other, before=position))
            case CleanerLooked():
                self._visit(known.last("config", name, before=position))
            case _:
                pass

    def _watermark(self, position: int, name: str, *, leading: bool) -> None:
        known = self._known
        if not leading:
            self._visit(known.last("commit", before=position))
            return
        self._visit(known.last("lead", name, before=position))
        for other in known.replicas:
            self._visit(known.last("position", name, other, before=position))

    def _elected(self, position: int) -> None:
        """Who led before and why no more; who got into the in-sync set, and how."""
        known = self._known
        name = known.events[position][1].replica or ""
        self._visit(known.last("restart", name, before=position))
        previous = known.last("leader", before=position)
        after = -1 if previous is None else previous
        for one in known.all("unclean", name, after=after, before=position):
            self._visit(one)
        for one in known.all("joined", name, after=after, before=position):
            self._visit(one)
        if previous is None:
            return
        leader = known.events[previous][1].replica or ""
        if leader != name:
            for one in known.all("down", leader, after=previous, before=position):
                self._visit(one)
            fault = self._fault_at(leader, position)
            if fault is not None and fault > previous:
                self._visit(fault)
