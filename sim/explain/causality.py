"""What led to what: a run as a graph, and the events in it that led to a violation.

`causal_graph` is happens-before, all of it. `Cone` is small: it starts at what the broken invariant
looked at, and follows what it hangs on (`hangs_on`) and what a log held at its offsets: who
appended, copied, removed, cut or lost it there, what stood there before, and on the leader it was
copied from. Of a removal it follows the record that won, who gave the batch its delete horizon, up
to where removal was allowed, and the transaction's markers. A fault whose victim lacks the offset
is followed, too: what did not arrive left no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sim import trace
from sim.check import Violation
from sim.explain.case import judged_at
from sim.explain.past import Became, Past, Recorded

if TYPE_CHECKING:
    import networkx as nx

BEATEN = 2
"""So many of the records that the one in question beat belong to its story: the last ones."""

Edge = tuple[int | None, str]
"""Position of an earlier event, None = there was none, and why it comes before."""

_DOWN = (trace.ReplicaCrashed, trace.ReplicaWiped, trace.LeaderResigned)
_STARTS = (trace.PrefixDeleted, trace.LogStartMoved, trace.LogStartedAfresh)
_SNAPSHOTS = (
    trace.SnapshotTaken,
    trace.SnapshotInstalled,
    trace.SnapshotFetched,
    trace.SnapshotDeleted,
    trace.LogEmptied,
    trace.SnapshotChunkFetched,
    trace.SnapshotFetchDropped,
)


def hangs_on(past: Past, position: int) -> Iterator[Edge]:
    """The events that decided about an event, beside those that made the logs what they were."""
    event = past.event(position)
    name = event.replica or ""

    def last(*kinds: type, **fields: object) -> int | None:
        return past.last(*kinds, before=position, **fields)

    match event:
        case trace.Appended():
            yield (
                last(trace.LeaderElected, trace.LeaderResigned, replica=name),
                "leads since it was elected",
            )
        case trace.PositionRecorded(_, follower):
            yield _end(past, follower, position), f"position of {follower} recorded"
        case trace.HighWatermarkMoved(_, _, True):
            yield (
                last(trace.LeaderElected, trace.LeaderResigned, replica=name),
                "leads since it was elected",
            )
            for other in past.steps:
                counted = last(trace.PositionRecorded, replica=name, follower=other)
                yield counted, "position counted for the high watermark"
        case trace.HighWatermarkMoved():
            yield last(trace.HighWatermarkMoved, leading=True), "high watermark learned"
        case trace.IsrChanged(_, _, joined) if joined is not None:
            yield last(trace.PositionRecorded, follower=joined), "admitted by its position"
        case trace.LeaderElected():
            yield from _of_an_election(past, position)
        case trace.Truncated():
            yield last(trace.LeaderElected), "follows the leader elected"
            yield last(trace.EpochCacheChanged, replica=name), "the epochs it knew"
        case trace.Cleaned() | trace.CleanerLooked():
            yield last(trace.ConfigChanged, replica=name), "settings in force"
        case (
            trace.ReplicaCrashed()
            | trace.ReplicaWiped()
            | trace.ReplicaRestarted()
            | trace.SegmentsLost()
        ):
            kinds = (trace.ReplicaCrashed, trace.ReplicaWiped, trace.ReplicaRestarted)
            yield last(*kinds, replica=name), "the state it was in"
            yield _fault_at(past, name, position), "fault injected"
        case trace.LeaderResigned() | trace.FaultEnded():
            yield _fault_at(past, name, position), "the fault there"
        case trace.RemovalBoundMoved():
            for other in past.steps:
                yield _end(past, other, position), "log end counted for the removal bound"
        case trace.TombstoneProbed() | trace.RoundsEnded():
            for other in past.steps:
                yield last(trace.Cleaned, replica=other), "all logs were cleaned"
        case _:
            yield from _of_readers(past, position)
            yield from _of_snapshots(past, position)


def _of_readers(past: Past, position: int) -> Iterator[Edge]:
    event, name = past.event(position), past.event(position).replica or ""
    match event:
        case trace.Consumed(_, consumer) | trace.ConsumerReset(_, consumer):
            found = past.last(
                trace.Consumed, trace.ConsumerReset, before=position, consumer=consumer
            )
            yield found, f"{consumer} read on"
        case trace.ReadingEnded(_, consumer) | trace.Understood(_, consumer):
            found = past.last(
                trace.Consumed, trace.ConsumerReset, before=position, consumer=consumer
            )
            yield found, f"{consumer} read it"
        case trace.CoordinatorLoaded():
            found = past.last(
                trace.LeaderElected, trace.LeaderResigned, before=position, replica=name
            )
            yield found, "coordinates since it leads"
        case trace.CoordinatorAnswered():
            found = past.last(trace.CoordinatorLoaded, before=position, replica=name)
            yield found, "answers by what it loaded"
        case _:
            return


def _of_snapshots(past: Past, position: int) -> Iterator[Edge]:
    event, name = past.event(position), past.event(position).replica or ""
    match event:
        case trace.SnapshotInstalled(_, end, epoch) | trace.SnapshotFetched(_, end, epoch):
            yield _taken(past, end, epoch, position), "snapshot taken"
        case trace.SnapshotChunkFetched(_, _, end, epoch):
            yield _taken(past, end, epoch, position), "snapshot taken"
        case trace.SnapshotTaken():
            yield past.last(trace.HighWatermarkMoved, before=position, replica=name), "committed"
            return
        case (
            trace.LogEmptied()
            | trace.PrefixDeleted()
            | trace.LogStartMoved()
            | trace.LogStartedAfresh()
        ):
            if not isinstance(event, trace.LogEmptied):
                yield (
                    past.last(trace.HighWatermarkMoved, before=position, replica=name),
                    "committed",
                )
        case _:
            return
    yield past.last(*_SNAPSHOTS, before=position, replica=name), "the snapshot before"


def _of_an_election(past: Past, position: int) -> Iterator[Edge]:
    """Who led before and why no more; who got into the in-sync set, and how."""
    name = past.event(position).replica
    yield past.last(trace.ReplicaRestarted, before=position, replica=name), "came back before"
    previous = past.last(trace.LeaderElected, before=position)
    after = -1 if previous is None else previous
    for one in past.all(trace.UncleanElection, after=after, before=position, replica=name):
        yield one, "made leader whatever it has"
    for one in past.all(trace.IsrChanged, after=after, before=position, joined=name):
        yield one, "admitted to the in-sync set"
    if previous is None:
        return
    leader = past.event(previous).replica
    if leader != name:
        for one in past.all(*_DOWN, after=previous, before=position, replica=leader):
            yield one, f"{leader} leads no more"
        fault = _fault_at(past, leader, position)
        if fault is not None and fault > previous:
            yield fault, f"{leader} leads no more"


def _taken(past: Past, end: int, epoch: int, before: int) -> int | None:
    return past.last(trace.SnapshotTaken, before=before, end_offset=end, epoch=epoch)


def _end(past: Past, replica: str, before: int) -> int | None:
    """The event that moved a log end last."""
    steps = past.steps_before(replica, before)
    moved = (step.position for step in steps if step.before != step.after)
    return next(moved, None)


def _fault_at(past: Past, replica: str, before: int) -> int | None:
    return past.last(trace.FaultInjected, before=before, replica=replica)


def causal_graph(events: Recorded) -> nx.DiGraph:
    """Happens-before of a run.

    Nodes are positions in `events`, with `at` (when: ms, or a step), `event`, `kind` (the name of
    its class) and `replica`. Every edge goes to a later position and has `why`: program order on a
    replica, or what carried knowledge from one to another.
    """
    import networkx as nx

    graph, past = nx.DiGraph(), Past(events)
    latest: dict[str, int] = {}
    for position, (at, event) in enumerate(events):
        kind = type(event).__name__
        graph.add_node(position, at=at, event=event, kind=kind, replica=event.replica)
        edges = [*_carried(past, latest, position), *hangs_on(past, position)]
        if event.replica is not None:
            edges.append((latest.get(event.replica), f"program order on {event.replica}"))
            latest[event.replica] = position
        for cause, why in edges:
            if cause is not None and cause < position and not graph.has_edge(cause, position):
                graph.add_edge(cause, position, why=why)
    return graph


def _carried(past: Past, latest: dict[str, int], position: int) -> Iterator[Edge]:
    """What came from another replica, from a log, or from all of them."""
    event = past.event(position)
    match event:
        case trace.Copied(_, leader) | trace.GapLearned(_, leader) | trace.Pushed(_, leader):
            yield latest.get(leader), f"copied from the log of {leader}"
        case trace.SnapshotChunkFetched(_, leader):
            yield latest.get(leader), f"fetched from {leader}"
        case trace.SnapshotOffered(_, follower):
            yield latest.get(follower), "asked for what is below the log start"
        case trace.Acknowledged(name, _, _, first):
            yield past.slot(name, first, position), "acknowledged what was written"
        case trace.LeaderElected():
            yield past.last(trace.LeaderElected, before=position), "the epoch before"
            yield (
                past.last(trace.LeaderElected, trace.IsrChanged, before=position),
                "the in-sync set",
            )
        case trace.Cleaned(name):
            for removal in event.removals:
                for offset in (removal.offset, removal.winner_offset):
                    if offset is not None:
                        yield past.slot(name, offset, position), "cleaned what was written"
        case trace.Quiesced() | trace.RoundsEnded() | trace.TombstoneProbed():
            for one in latest.values():
                yield one, "all logs were looked at"
        case _:
            return


def causal_cone(events: Recorded, violation: Violation) -> list[int]:
    """The positions of the events that led to a violation, ascending; the last one shows it.

    See the top of this module for what is followed. Nothing is left out for the sake of length.
    """
    return Cone(Past(events[: judged_at(events, violation) + 1]), violation).positions


class Cone:
    """What led to a violation.

    Attributes:
        positions: Of all events in it, ascending.
        evidence: Positions of those that the invariant looked at: the ends that were walked back
            from.
    """

    def __init__(self, past: Past, violation: Violation) -> None:
        """Walk back from the last event of `past`, which shows the violation."""
        self._past = past
        self._found: set[int] = set()
        self._asked: set[tuple[object, ...]] = set()
        self.evidence: set[int] = set()
        self._start(violation)
        self.positions = sorted(self._found)

    def _start(self, violation: Violation) -> None:
        past, end = self._past, self._past.end
        self._look(end - 1)
        offsets = set() if violation.offset is None else {violation.offset}
        if violation.key is not None:
            offsets |= self._offsets_of(violation.key, violation.replica)
        for offset in sorted(offsets):
            for replica in past.steps:
                held = past.slot(replica, offset)
                if held is not None:
                    self.evidence.add(held)
                    self._slot(replica, offset, end)
            commit = past.first_commit(offset)
            if commit is not None:
                self._look(commit)
                self._look_at_absent(offset, commit)
            self._look_at_absent(offset, end)
        if violation.replica is not None:
            self._look(past.last(*_STARTS, replica=violation.replica))
            self._look(past.last(trace.HighWatermarkMoved, replica=violation.replica))

    def _look(self, position: int | None) -> None:
        if position is not None:
            self.evidence.add(position)
            self._follow(position)

    def _look_at_absent(self, offset: int, before: int) -> None:
        """What keeps from an offset those who never had it: a fault that goes on."""
        past = self._past
        for replica in past.steps:
            if past.slot(replica, offset, before) is None:
                last = past.last(
                    trace.FaultInjected, trace.FaultEnded, before=before, replica=replica
                )
                if last is not None and isinstance(past.event(last), trace.FaultInjected):
                    self._look(last)

    def _offsets_of(self, key: str, replica: str | None) -> set[int]:
        """The records of a key that its state hangs on.

        Where they are many: the last two appended, what any replica removed otherwise than because
        a newer one won, and those that beat them.
        """
        past, written = self._past, self._past.history.written
        uids = past.history.uids_of_key.get(key, [])
        found = {written[uid].offset for uid in uids[-BEATEN:]}
        for position in past.all(trace.Cleaned):
            for removal in past.event(position).removals:
                if removal.key == key and removal.reason != "superseded":
                    found.add(removal.offset)
        for name in past.steps if replica is None else (replica,):
            held = [
                written[uid].offset
                for uid in uids
                if past.fate(name, written[uid].offset, None).became is Became.HELD
            ]
            found |= set(held[-BEATEN:])
        return found

    def _slot(self, replica: str, offset: int, before: int) -> None:
        """Who made what a replica holds at an offset."""
        past = self._past
        position = past.slot(replica, offset, before)
        if position is None or (position, replica, offset) in self._asked:
            return
        self._asked.add((position, replica, offset))
        event = past.event(position)
        self._slot(replica, offset, position)
        match event:
            case trace.Copied(_, leader) | trace.GapLearned(_, leader) | trace.Pushed(_, leader):
                self._slot(leader, offset, position)
            case trace.Cleaned():
                for removal in event.removals:
                    if removal.offset == offset:
                        self._removed(position, removal)
            case _:
                pass
        self._follow(position)

    def _removed(self, position: int, removal: trace.Removal) -> None:
        past, name = self._past, self._past.event(position).replica
        if removal.winner_offset is not None:
            self._slot(name, removal.winner_offset, position)
        known = past.history.written.get(removal.uid)
        if known is None:
            return
        if removal.reason in ("tombstone", "marker"):
            horizon = past.horizon(name, known.batch.base_offset, position + 1)
            self._visit(None if horizon is None else horizon.position)
            self._visit(past.last(trace.RemovalBoundMoved, before=position, replica=name))
            self._look_at_absent(removal.offset, position)
        if removal.reason == "aborted":
            for one in past.all(trace.Appended, before=position):
                batch = past.event(one).batch
                if batch.control is not None and batch.producer_id == known.batch.producer_id:
                    self._slot(name, batch.last_offset, position)

    def _visit(self, position: int | None) -> None:
        if position is not None:
            self._follow(position)

    def _follow(self, position: int) -> None:
        """An event belongs to the cone, and so does what decided it."""
        if position in self._found:
            return
        self._found.add(position)
        event = self._past.event(position)
        for one, _ in hangs_on(self._past, position):
            self._visit(one)
        if isinstance(event, trace.Appended):
            self._slot(event.replica, event.batch.base_offset, position)
        elif isinstance(event, trace.Acknowledged):
            self._slot(event.replica, event.first_offset, position)
        elif isinstance(event, trace.TombstoneProbed | trace.RoundsEnded):
            for other in self._past.steps:
                self._look(self._past.last(trace.Cleaned, before=position, replica=other))
