"""What led to what: a run as a graph, and the events in it that led to a violation.

`causal_graph` is happens-before, all of it. `Cone` is small: it starts at what the broken invariant
looked at, and follows what it hangs on (`hangs_on`) and what a log held at its offsets: who
appended, copied, removed, cut or lost it there, what stood there before, and on the leader it was
copied from. Of a removal it follows the record that won, who gave the batch its delete horizon, up
to where removal was allowed, and the transaction's markers. A fault whose victim lacks the offset
is followed, too: what did not arrive left no event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

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


class _Latest(NamedTuple):
    """That an event hangs on the latest of some kinds before it.

    Attributes:
        kinds: Classes of events.
        why: In a few words.
        of: Field of the earlier event -> field of this one that has the same value.
    """

    kinds: tuple[type, ...]
    why: str
    of: Mapping[str, str] = MappingProxyType({"replica": "replica"})


_DOWN = (trace.ReplicaCrashed, trace.ReplicaWiped, trace.LeaderResigned)
_STARTS = (trace.PrefixDeleted, trace.LogStartMoved, trace.LogStartedAfresh)
_FAULT = _Latest((trace.FaultInjected,), "the fault there")
_LEADS = _Latest((trace.LeaderElected, trace.LeaderResigned), "leads since it was elected")
_MARK = _Latest((trace.HighWatermarkMoved,), "what was committed")
_READ = _Latest((trace.Consumed, trace.ConsumerReset), "read on", {"consumer": "consumer"})
_SETTINGS = _Latest((trace.ConfigChanged,), "settings in force")
_STATE = _Latest(
    (trace.ReplicaCrashed, trace.ReplicaWiped, trace.ReplicaRestarted), "the state it was in"
)
_TAKEN = _Latest(
    (trace.SnapshotTaken,), "snapshot taken", {"end_offset": "end_offset", "epoch": "epoch"}
)
_SNAPSHOT = _Latest(
    (
        trace.SnapshotTaken,
        trace.SnapshotInstalled,
        trace.SnapshotFetched,
        trace.SnapshotDeleted,
        trace.LogEmptied,
        trace.SnapshotChunkFetched,
        trace.SnapshotFetchDropped,
    ),
    "the snapshot before",
)

_HANGS_ON: Final[dict[type, tuple[_Latest, ...]]] = {
    trace.Appended: (_LEADS,),
    trace.IsrChanged: (
        _Latest((trace.PositionRecorded,), "admitted by its position", {"follower": "joined"}),
    ),
    trace.Truncated: (
        _Latest((trace.LeaderElected,), "follows the leader elected", {}),
        _Latest((trace.EpochCacheChanged,), "the epochs it knew"),
    ),
    **dict.fromkeys((trace.Cleaned, trace.CleanerLooked), (_SETTINGS,)),
    **dict.fromkeys((*_STATE.kinds, trace.SegmentsLost), (_STATE, _FAULT)),
    **dict.fromkeys((trace.LeaderResigned, trace.FaultEnded), (_FAULT,)),
    **dict.fromkeys((*_READ.kinds, trace.ReadingEnded, trace.Understood), (_READ,)),
    trace.CoordinatorLoaded: (_LEADS,),
    trace.CoordinatorAnswered: (_Latest((trace.CoordinatorLoaded,), "answers by what it loaded"),),
    **dict.fromkeys(
        (trace.SnapshotInstalled, trace.SnapshotFetched, trace.SnapshotChunkFetched),
        (_TAKEN, _SNAPSHOT),
    ),
    trace.SnapshotTaken: (_MARK,),
    trace.LogEmptied: (_SNAPSHOT,),
    **dict.fromkeys(_STARTS, (_MARK, _SNAPSHOT)),
}
"""Class of an event -> the latest events that decided about it."""


def hangs_on(past: Past, position: int) -> Iterator[Edge]:
    """The events that decided about an event, beside those that made the logs what they were."""
    event = past.event(position)
    for latest in _HANGS_ON.get(type(event), ()):
        of = {name: getattr(event, field) for name, field in latest.of.items()}
        yield past.last(*latest.kinds, before=position, **of), latest.why
    match event:
        case trace.PositionRecorded(_, follower):
            yield _end(past, follower, position), f"position of {follower} recorded"
        case trace.HighWatermarkMoved(name, _, True):
            yield past.last(*_LEADS.kinds, before=position, replica=name), _LEADS.why
            for other in past.steps:
                by = {"replica": name, "follower": other}
                counted = past.last(trace.PositionRecorded, before=position, **by)
                yield counted, "position counted for the high watermark"
        case trace.HighWatermarkMoved():
            learned = past.last(trace.HighWatermarkMoved, before=position, leading=True)
            yield learned, "high watermark learned"
        case trace.LeaderElected():
            yield from _of_an_election(past, position)
        case trace.RemovalBoundMoved():
            for other in past.steps:
                yield _end(past, other, position), "log end counted for the removal bound"
        case trace.TombstoneProbed() | trace.RoundsEnded():
            for other in past.steps:
                yield past.last(trace.Cleaned, before=position, replica=other), "was cleaned"
        case _:
            return


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
