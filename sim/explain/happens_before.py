"""Happens-before: what every event of a run can have known of, as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.explain.provenance import Provenance, Recorded
from sim.trace import (
    Acknowledged,
    Appended,
    Cleaned,
    Consumed,
    ConsumerReset,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Copied,
    Event,
    FaultEnded,
    GapLearned,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    PositionRecorded,
    Pushed,
    Quiesced,
    ReadingEnded,
    RemovalBoundMoved,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    RoundsEnded,
    SnapshotChunkFetched,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotOffered,
    TombstoneProbed,
    Truncated,
    Understood,
)

if TYPE_CHECKING:
    import networkx as nx

Edges = list[tuple[int | None, str]]
"""Positions of earlier events, None = there was none, and why they come before."""


def causal_graph(events: Recorded) -> nx.DiGraph:
    """Happens-before of a run.

    Nodes are positions in `events`, with `at` (when: ms, or a step), `event`, `kind` (the name of
    its class) and `replica`. Every edge goes to a later position and has `why`: program order on a
    replica, or what carried knowledge from one to another.
    """
    import networkx as nx

    graph = nx.DiGraph()
    known = Provenance(events)
    latest: dict[str, int] = {}
    for position, (at, event) in enumerate(events):
        graph.add_node(
            position, at=at, event=event, kind=type(event).__name__, replica=event.replica
        )
        edges: Edges = []
        for carried in (_of_logs, _of_leaders, _of_snapshots, _of_readers, _of_all):
            edges += carried(known, latest, position, event)
        name = event.replica
        if name is not None:
            edges.append((latest.get(name), f"program order on {name}"))
            latest[name] = position
        for cause, why in edges:
            if cause is not None and cause < position and not graph.has_edge(cause, position):
                graph.add_edge(cause, position, why=why)
    return graph


def _of_logs(known: Provenance, latest: dict[str, int], position: int, event: Event) -> Edges:
    name = event.replica or ""
    match event:
        case Appended():
            return [(known.last("lead", name, before=position), "leads since it was elected")]
        case Copied(_, leader) | GapLearned(_, leader) | Pushed(_, leader):
            return [(latest.get(leader), f"copied from the log of {leader}")]
        case Acknowledged(_, _, _, first):
            return [(known.slot(name, first, before=position), "acknowledged what was written")]
        case Cleaned():
            offsets = [
                offset for one in event.removals for offset in (one.offset, one.winner_offset)
            ]
            written = {known.slot(name, o, before=position): None for o in offsets if o is not None}
            return [(one, "cleaned what was written") for one in written]
        case Truncated():
            return [(known.last("leader", before=position), "follows the leader elected")]
        case RemovalBoundMoved():
            ends = [known.last("end", other, before=position) for other in known.replicas]
            return [(one, "log end counted for the removal bound") for one in ends]
        case _:
            return []


def _of_leaders(known: Provenance, _: dict[str, int], position: int, event: Event) -> Edges:
    name = event.replica or ""
    match event:
        case PositionRecorded(_, follower, _):
            moved = known.last("end", follower, before=position)
            return [(moved, f"position of {follower} recorded")]
        case HighWatermarkMoved(_, _, True):
            counted = [
                known.last("position", name, other, before=position) for other in known.replicas
            ]
            return [(found, "position counted for the high watermark") for found in counted]
        case HighWatermarkMoved():
            return [(known.last("commit", before=position), "high watermark learned")]
        case LeaderElected():
            return _of_an_election(known, position)
        case IsrChanged(_, _, joined) if joined is not None:
            return [(known.last("position", joined, before=position), "admitted by its position")]
        case ReplicaCrashed() | ReplicaWiped():
            return [(known.last("fault", name, before=position), "fault injected")]
        case ReplicaRestarted():
            return [(known.last("down", name, before=position), "restarted after the crash")]
        case FaultEnded():
            return [(known.last("fault", name, before=position), "the fault is over")]
        case _:
            return []


def _of_an_election(known: Provenance, position: int) -> Edges:
    name = known.events[position][1].replica or ""
    previous = known.last("leader", before=position)
    found: Edges = [
        (known.last("unclean", name, before=position), "made leader whatever it has"),
        (previous, "the epoch before"),
        (known.last("isr", before=position), "elected by the in-sync set"),
    ]
    if previous is not None:
        leader = known.events[previous][1].replica or ""
        ends = known.all("down", leader, after=previous, before=position)
        found += [(one, f"{leader} leads no more") for one in ends]
        found += [
            (one, f"{leader} leads no more")
            for one in known.all("fault", leader, after=previous, before=position)
        ]
    return found


def _of_snapshots(known: Provenance, latest: dict[str, int], position: int, event: Event) -> Edges:
    match event:
        case SnapshotOffered(_, follower):
            return [(latest.get(follower), "asked for what is below the log start")]
        case SnapshotChunkFetched(_, leader, end, epoch):
            taken = known.last("taken", str(end), str(epoch), before=position)
            return [(taken, "snapshot taken"), (latest.get(leader), f"fetched from {leader}")]
        case SnapshotInstalled(_, end, epoch) | SnapshotFetched(_, end, epoch):
            return [(known.last("taken", str(end), str(epoch), before=position), "snapshot taken")]
        case _:
            return []


def _of_readers(known: Provenance, _: dict[str, int], position: int, event: Event) -> Edges:
    name = event.replica or ""
    match event:
        case Consumed(_, consumer) | ConsumerReset(_, consumer) | ReadingEnded(_, consumer):
            return [(known.last("read", consumer, before=position), f"{consumer} read on")]
        case Understood(_, consumer):
            return [(known.last("read", consumer, before=position), f"{consumer} read it")]
        case CoordinatorLoaded():
            return [(known.last("lead", name, before=position), "coordinates since it leads")]
        case CoordinatorAnswered():
            return [(known.last("loaded", name, before=position), "answers by what it loaded")]
        case _:
            return []


def _of_all(_: Provenance, latest: dict[str, int], __: int, event: Event) -> Edges:
    if isinstance(event, Quiesced):
        return [(one, "the cluster came to rest") for one in latest.values()]
    if isinstance(event, RoundsEnded | TombstoneProbed):
        return [(one, "all logs were looked at") for one in latest.values()]
    return []
