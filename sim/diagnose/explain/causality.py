"""The causal cone of a violation: the events of a run that led to it.

The cone starts at what the broken invariant looked at. It follows the events that decided about an
event (`_DECIDED_BY`), and what a log held at its offsets: who appended, copied, removed, cut or
lost it there, what stood there before, and on the leader it was copied from. Of a removal it
follows the record that won, who gave the batch its delete horizon, up to where removal was allowed,
and the transaction's markers. A fault whose victim lacks the offset is followed, too: what did not
arrive left no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sim.check import Violation
from sim.diagnose.explain.past import Became, Past
from sim.protocol import events as on
from sim.protocol.events import Removal

BEATEN: Final = 2
"""So many of the records that the one in question beat belong to its story: the last ones."""

Node = int | tuple[str, int, int]
"""The position of an event, or what a replica held at an offset before a position."""

_STARTS: Final = (on.PrefixDeleted, on.LogStartMoved, on.LogStartedAfresh)
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
    **dict.fromkeys(_STARTS, (_MARK, _SNAPSHOT)),
    on.SnapshotTaken: (_MARK,),
    on.LeaderElected: ((on.ReplicaRestarted,),),
}
"""Class of an event -> groups of classes of which the latest event of the same replica decided,
beside those that made the logs what they were."""


def _decided(past: Past, at: int) -> Iterator[int | None]:
    """The events that decided an event, where these are not of the same replica alone."""
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
    """The event that moved a log end last."""
    steps = past.steps_before(replica, before)
    return next((step.position for step in steps if step.before != step.after), None)


def _elected(past: Past, name: str, at: int) -> Iterator[int]:
    """Events behind an election: the end of the previous leader, members that joined."""
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
    """The positions of the events that led to a violation, ascending.

    See the top of this module for what is followed. Nothing is left out for the sake of length.

    Args:
        past: The run up to the event that shows the violation, and with it.
        violation: What was found.
    """
    met: set[Node] = set()
    to_do = [*_looked_at(past, violation)]
    while to_do:
        node = to_do.pop()
        if node is not None and node not in met:
            met.add(node)
            to_do += _behind(past, node) if isinstance(node, int) else _behind_slot(past, *node)
    return sorted(node for node in met if isinstance(node, int))


def _looked_at(past: Past, violation: Violation) -> Iterator[Node | None]:
    """Nodes that the invariant looked at."""
    yield past.end - 1
    for offset in _offsets(past, violation):
        yield from ((replica, offset, past.end) for replica in past.replicas)
        yield from _kept_away(past, offset, past.end)
        commit = past.first_commit(offset)
        if commit is not None:
            yield commit
            yield from _kept_away(past, offset, commit)
    if violation.replica is not None:
        yield past.last(*_STARTS, replica=violation.replica)
        yield past.last(on.HighWatermarkMoved, replica=violation.replica)


def _offsets(past: Past, violation: Violation) -> set[int]:
    """The offset of a violation, and those of the records that the state of its key hangs on.

    Where these are many: the last two appended, what any replica removed otherwise than because a
    newer one won, and those that beat them.
    """
    found, key = set() if violation.offset is None else {violation.offset}, violation.key
    if key is None:
        return found
    written = [past.written[uid].offset for uid in past.uids_of(key)]
    found |= {*written[-BEATEN:]}
    for position in past.all(on.Cleaned):
        removals = past.event(position).removals
        found |= {r.offset for r in removals if r.key == key and r.reason != "superseded"}
    for name in past.replicas if violation.replica is None else (violation.replica,):
        held = [one for one in written if past.fate(name, one, None).became is Became.HELD]
        found |= {*held[-BEATEN:]}
    return found


def _behind(past: Past, position: int) -> Iterator[Node | None]:
    """Nodes behind an event."""
    event = past.event(position)
    yield from _decided(past, position)
    if isinstance(event, on.Appended):
        yield event.replica, event.batch.base_offset, position
    elif isinstance(event, on.Acknowledged):
        yield event.replica, event.first_offset, position


def _behind_slot(past: Past, replica: str, offset: int, before: int) -> Iterator[Node | None]:
    """Nodes behind an offset of a log: who wrote it, and its content before."""
    position = past.slot(replica, offset, before)
    if position is None:
        return
    yield position
    yield replica, offset, position
    event = past.event(position)
    if isinstance(event, on.Copied | on.GapLearned | on.Pushed):
        yield event.leader, offset, position
    for removal in event.removals if isinstance(event, on.Cleaned) else ():
        if removal.offset == offset:
            yield from _behind_removal(past, position, removal)


def _behind_removal(past: Past, position: int, removal: Removal) -> Iterator[Node | None]:
    replica, known = past.event(position).replica, past.written.get(removal.uid)
    if removal.winner_offset is not None:
        yield replica, removal.winner_offset, position
    if known is not None and removal.reason in ("tombstone", "marker"):
        horizons = past.horizons(replica, known.batch.base_offset, position + 1)
        yield from (horizon.position for horizon in horizons[-1:])
        yield past.last(on.RemovalBoundMoved, before=position, replica=replica)
        yield from _kept_away(past, removal.offset, position)
    if known is not None and removal.reason == "aborted":
        for control in past.controls():
            same_producer = control.batch.producer_id == known.batch.producer_id
            if same_producer and past.appended_at[control.record.uid] < position:
                yield replica, control.offset, position


def _kept_away(past: Past, offset: int, before: int) -> Iterator[int]:
    """Faults that keep replicas from an offset that they never had."""
    for replica in past.replicas:
        if past.slot(replica, offset, before) is None:
            kinds = (on.FaultInjected, on.FaultEnded)
            last = past.last(*kinds, before=before, replica=replica)
            if last is not None and isinstance(past.event(last), on.FaultInjected):
                yield last
