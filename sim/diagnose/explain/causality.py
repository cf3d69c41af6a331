"""The causal graph of a violation: the events of a run that led to it, and why each is in it.

It starts at what the broken invariant looked at. It follows the events that decided about an event
(`_DECIDED_BY`), and what a log held at its offsets: who appended, copied, removed, cut or lost it
there, what stood there before, and on the leader it was copied from. Of a removal it follows the
record that won, the event that gave the batch its delete horizon, the bound below which removal was
allowed, and the transaction's markers. A fault at a replica that lacks the offset is followed, too:
a message that did not arrive left no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from sim.check import Violation
from sim.diagnose.explain.case import STARTS, judged_at
from sim.diagnose.explain.past import Became, Past
from sim.protocol import events as on
from sim.protocol.events import NAMES, Removal
from sim.protocol.events.sentences import describe

if TYPE_CHECKING:
    import networkx as nx

LAST_OF_KEY: Final = 2
"""How many of the last records of a key are followed."""

MESSAGES: Final[dict[type, tuple[str, str]]] = {
    **dict.fromkeys((on.Copied, on.GapLearned, on.Pushed), ("leader", "replica")),
    on.SnapshotChunkFetched: ("leader", "replica"),
    on.SnapshotOffered: ("replica", "follower"),
    on.PositionRecorded: ("follower", "replica"),
    **dict.fromkeys((on.Consumed, on.ConsumerReset), ("replica", "consumer")),
}
"""Class of an event by which a message arrived -> its fields with the sender and the receiver."""


class CausalNode(NamedTuple):
    """An event that led to a violation, by itself or as the last one that changed an offset.

    Attributes:
        position: Position of the event.
        offset: Offset of its replica's log at which it is followed; None for the event itself.
        copied: True for an event whose effect was copied from this replica's log.
    """

    position: int
    offset: int | None = None
    copied: bool = False


_STATES: Final = (on.ReplicaCrashed, on.ReplicaWiped, on.ReplicaRestarted)
_READS: Final = (on.Consumed, on.ConsumerReset)
_FETCHES: Final = (on.SnapshotInstalled, on.SnapshotFetched, on.SnapshotChunkFetched)
_FAULT: Final = (on.FaultInjected,)
_LEADS: Final = (on.LeaderElected, on.LeaderResigned)
_MARK: Final = (on.HighWatermarkMoved,)
_SNAPSHOT: Final = (
    *(*_FETCHES, on.SnapshotTaken, on.SnapshotDeleted, on.LogEmptied, on.SnapshotFetchDropped),
)
_DECIDED_BY: Final[dict[type, tuple[tuple[type, ...], ...]]] = {
    on.Appended: (_LEADS,),
    on.Truncated: ((on.EpochCacheChanged,),),
    **dict.fromkeys((on.Cleaned, on.CleanerLooked), ((on.ConfigChanged,),)),
    **dict.fromkeys((*_STATES, on.SegmentsLost), (_STATES, _FAULT)),
    **dict.fromkeys((on.LeaderResigned, on.FaultEnded), (_FAULT,)),
    **dict.fromkeys((*_FETCHES, on.LogEmptied), (_SNAPSHOT,)),
    **dict.fromkeys(STARTS, (_MARK, _SNAPSHOT)),
    on.SnapshotTaken: (_MARK,),
    on.LeaderElected: ((on.ReplicaRestarted,),),
}
"""Class of an event -> groups of classes; of each the latest event of the same replica decided."""


def _decided(past: Past, at: int) -> Iterator[int | None]:
    """Positions of the events that decided an event, apart from what a log held at an offset."""
    event = past.event(at)
    for kinds in _DECIDED_BY.get(type(event), ()):
        yield past.last(*kinds, before=at, replica=event.replica)
    match event:
        case on.IsrChanged(_, _, joined):
            yield past.last(on.PositionRecorded, before=at, follower=joined)
        case on.Truncated():
            yield past.last(on.LeaderElected, before=at)
        case on.Consumed() | on.ConsumerReset() | on.ReadingEnded() | on.Understood():
            yield past.last(*_READS, before=at, consumer=event.consumer)
        case on.SnapshotInstalled() | on.SnapshotFetched() | on.SnapshotChunkFetched():
            which = {"end_offset": event.end_offset, "epoch": event.epoch}
            yield past.last(on.SnapshotTaken, before=at, **which)
        case on.PositionRecorded(_, follower):
            yield _end_moved(past, follower, at)
        case on.RemovalBoundMoved():
            yield from (_end_moved(past, name, at) for name in past.replicas)
        case on.TombstoneProbed() | on.RoundsEnded():
            for name in past.replicas:
                yield past.last(on.Cleaned, before=at, replica=name)
        case on.HighWatermarkMoved(_, _, False):  # a follower learned the mark of a leader
            yield past.last(on.HighWatermarkMoved, before=at, leading=True)
        case on.HighWatermarkMoved(name):  # a leader counted positions
            yield past.last(*_LEADS, before=at, replica=name)
            for other in past.replicas:
                by = {"replica": name, "follower": other}
                yield past.last(on.PositionRecorded, before=at, **by)
        case on.LeaderElected(name):
            yield from _elected(past, name, at)


def _end_moved(past: Past, replica: str, before: int) -> int | None:
    """Position of the last event before another that moved a log end; None without one."""
    steps = past.steps_before(replica, before)
    return next((step.position for step in steps if step.before != step.after), None)


def _elected(past: Past, name: str, at: int) -> Iterator[int]:
    """Positions of the events since the previous election that led to this one.

    The elected replica was chosen uncleanly, or joined the in-sync set; the previous leader went
    down, resigned or was hit by a fault.
    """
    previous = past.last(on.LeaderElected, before=at)
    since = {"after": -1 if previous is None else previous, "before": at}
    yield from past.all(on.UncleanElection, **since, replica=name)
    yield from past.all(on.IsrChanged, **since, joined=name)
    leader = name if previous is None else past.event(previous).replica
    if leader != name:
        down = (on.ReplicaCrashed, on.ReplicaWiped, on.LeaderResigned)
        yield from past.all(*down, **since, replica=leader)
        yield from past.all(on.FaultInjected, **since, replica=leader)[-1:]


def causal_cone(past: Past, violation: Violation) -> list[int]:
    """The nodes of the causal graph: positions of the events that led to a violation, ascending.

    Args:
        past: The run up to the event that shows the violation, and with it.
        violation: The violation.
    """
    return sorted({node.position for node in _causes(past, violation)})


def causality(past: Past, violation: Violation) -> nx.DiGraph:
    """The causal graph, for networkx to search, reduce, draw, and write as GraphML.

    A node is the position of an event, with `time`, `replica`, `kind`, `sentence`, `message`
    (`r1 to r2` if the event is the arrival of one, else empty) and, if it is followed at one,
    `offset`, the lowest. An edge leads from cause to effect; its `why` is `copy` of a log,
    `message` of another participant, `decided by` an earlier event of the same one, or `program
    order`: the event of the same replica before it in the graph.

    Args:
        past: The run; later events than the one that shows the violation do not count.
        violation: The violation; the last node is the event that shows it.

    Raises:
        BadInput: networkx is not installed.
    """
    from sim.files.shipped import check_extra

    check_extra("a graph needs", "report", "networkx")
    import networkx as nx

    past = past.until(judged_at(past.events, violation) + 1)
    graph, causes, latest = nx.DiGraph(), _causes(past, violation), dict[str | None, int]()
    for node in sorted(causes, key=lambda node: (node.position, node.offset or 0)):
        at, event = past.events[node.position]
        ends = [str(getattr(event, field)) for field in MESSAGES.get(type(event), ())]
        graph.add_node(
            node.position,
            time=at,
            replica=event.replica or "",
            kind=NAMES[type(event)],
            sentence=describe(event),
            message=" to ".join(ends),
        )
        if node.offset is not None:
            graph.nodes[node.position].setdefault("offset", node.offset)
    for effect in sorted(graph):
        name = past.event(effect).replica
        if name in latest:
            graph.add_edge(latest[name], effect, why="program order")
        latest[name] = effect
    for node, behind in causes.items():
        for cause in behind:
            same = past.event(cause.position).replica == past.event(node.position).replica
            why = "copy" if cause.copied else "decided by" if same else "message"
            if cause.position != node.position:
                graph.add_edge(cause.position, node.position, why=why)
    return graph


def _causes(past: Past, violation: Violation) -> dict[CausalNode, list[CausalNode]]:
    """Each event of the graph, and each offset it is followed at, with the nodes behind it."""
    shown = CausalNode(past.end - 1)
    found = {shown: [*_looked_at(past, violation), *_behind(past, shown)]}
    to_do = [*found[shown]]
    while to_do:
        node = to_do.pop()
        if node not in found:
            found[node] = [*_behind(past, node)]
            to_do += found[node]
    return found


def _events(*positions: int | None) -> Iterator[CausalNode]:
    """Yields the nodes of positions that are not None."""
    return (CausalNode(position) for position in positions if position is not None)


def _held(
    past: Past, replica: str, offset: int, before: int, *, copied: bool = False
) -> Iterator[CausalNode]:
    """Yields the node of the last event that changed an offset of a log before a position."""
    position = past.slot(replica, offset, before)
    if position is not None:
        yield CausalNode(position, offset, copied)


def _looked_at(past: Past, violation: Violation) -> Iterator[CausalNode]:
    """Yields the nodes of the log contents and the commits that the invariant judged.

    Of the violation's replica also the last moves of log start and high watermark.
    """
    for offset in _offsets(past, violation):
        for replica in past.replicas:
            yield from _held(past, replica, offset, past.end)
        yield from _kept_away(past, offset, past.end)
        commit = past.first_commit(offset)
        if commit is not None:
            yield from (CausalNode(commit), *_kept_away(past, offset, commit))
    if violation.replica is not None:
        yield from _events(
            past.last(*STARTS, replica=violation.replica),
            past.last(on.HighWatermarkMoved, replica=violation.replica),
        )


def _offsets(past: Past, violation: Violation) -> set[int]:
    """The offset of a violation, and those of the records that decide the state of its key.

    These are the last two appended, those that a pass removed for another reason than a record that
    won, and the last two that the violation's replica holds; without one, that each replica holds.
    """
    found, key = set() if violation.offset is None else {violation.offset}, violation.key
    if key is None:
        return found
    written = [past.written[uid].offset for uid in past.uids_of(key)]
    found |= {*written[-LAST_OF_KEY:]}
    for position in past.all(on.Cleaned):
        removals = past.event(position).removals
        found |= {r.offset for r in removals if r.key == key and r.reason != "superseded"}
    for name in past.replicas if violation.replica is None else (violation.replica,):
        held = [one for one in written if past.fate(name, one, None).became is Became.HELD]
        found |= {*held[-LAST_OF_KEY:]}
    return found


def _behind(past: Past, node: CausalNode) -> Iterator[CausalNode]:
    """Yields the causes of an event, or of its change of an offset."""
    position, offset, _ = node
    event = past.event(position)
    if offset is None:
        yield from _events(*_decided(past, position))
        if isinstance(event, on.Appended):
            yield from _held(past, event.replica, event.batch.base_offset, position)
        elif isinstance(event, on.Acknowledged):
            yield from _held(past, event.replica, event.first_offset, position)
        return
    yield CausalNode(position)
    yield from _held(past, event.replica, offset, position)
    if isinstance(event, on.Copied | on.GapLearned | on.Pushed):
        yield from _held(past, event.leader, offset, position, copied=True)
    for removal in event.removals if isinstance(event, on.Cleaned) else ():
        if removal.offset == offset:
            yield from _behind_removal(past, position, removal)


def _behind_removal(past: Past, position: int, removal: Removal) -> Iterator[CausalNode]:
    """Yields the causes of a removal: the winner, the horizon and bound, or the markers."""
    replica, known = past.event(position).replica, past.written.get(removal.uid)
    if removal.winner_offset is not None:
        yield from _held(past, replica, removal.winner_offset, position)
    if known is not None and removal.reason in ("tombstone", "marker"):
        horizons = past.horizons(replica, known.batch.base_offset, position + 1)
        bound = past.last(on.RemovalBoundMoved, before=position, replica=replica)
        yield from _events(*(horizon.position for horizon in horizons[-1:]), bound)
        yield from _kept_away(past, removal.offset, position)
    if known is not None and removal.reason == "aborted":
        for control in past.controls():
            same_producer = control.batch.producer_id == known.batch.producer_id
            if same_producer and past.appended_at[control.record.uid] < position:
                yield from _held(past, replica, control.offset, position)


def _kept_away(past: Past, offset: int, before: int) -> Iterator[CausalNode]:
    """Yields the latest fault that lasts at each replica that never had an offset."""
    for replica in past.replicas:
        if past.slot(replica, offset, before) is None:
            yield from _events(past.lasting_fault(replica, before))
