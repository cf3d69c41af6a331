"""What led to what: the events of a run that led to a violation.

The cone starts at what the broken invariant looked at. It follows the events that decided about an
event (`_DECIDED_BY`), and what a log held at its offsets: who appended, copied, removed, cut or
lost it there, what stood there before, and on the leader it was copied from. Of a removal it
follows the record that won, who gave the batch its delete horizon, up to where removal was allowed,
and the transaction's markers. A fault whose victim lacks the offset is followed, too: what did not
arrive left no event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from sim.check import Violation
from sim.diagnose.explain.past import Became, Past
from sim.protocol.events import (
    Acknowledged,
    Appended,
    Cleaned,
    CleanerLooked,
    ConfigChanged,
    Consumed,
    ConsumerReset,
    Copied,
    EpochCacheChanged,
    FaultEnded,
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
    SnapshotDeleted,
    SnapshotFetchDropped,
    SnapshotFetched,
    SnapshotInstalled,
    SnapshotTaken,
    TombstoneProbed,
    Truncated,
    UncleanElection,
    Understood,
)

BEATEN: Final = 2
"""So many of the records that the one in question beat belong to its story: the last ones."""

Earlier = Callable[[Past, int], Iterable[int | None]]
"""Takes the position of an event: those of events before it, None = there was none."""


Node = int | tuple[str, int, int]
"""The position of an event, or what a replica held at an offset before a position."""

_SAME_REPLICA: Final = MappingProxyType({"replica": "replica"})


def _latest(*kinds: type, of: Mapping[str, str] = _SAME_REPLICA) -> Earlier:
    """The latest event of some classes; `of`: a field of it -> one of this with the same value."""

    def found(past: Past, position: int) -> list[int | None]:
        event = past.event(position)
        same = {name: getattr(event, field) for name, field in of.items()}
        return [past.last(*kinds, before=position, **same)]

    return found


_DOWN: Final = (ReplicaCrashed, ReplicaWiped, LeaderResigned)
_STARTS: Final = (PrefixDeleted, LogStartMoved, LogStartedAfresh)
_STATES: Final = (ReplicaCrashed, ReplicaWiped, ReplicaRestarted)
_READS: Final = (Consumed, ConsumerReset)
_FETCHES: Final = (SnapshotInstalled, SnapshotFetched, SnapshotChunkFetched)

_FAULT: Final = _latest(FaultInjected)
_LEADS: Final = _latest(LeaderElected, LeaderResigned)
_MARK: Final = _latest(HighWatermarkMoved)
_READ: Final = _latest(*_READS, of={"consumer": "consumer"})
_STATE: Final = _latest(*_STATES)
_TAKEN: Final = _latest(SnapshotTaken, of={"end_offset": "end_offset", "epoch": "epoch"})
_SNAPSHOT: Final = _latest(
    *_FETCHES,
    SnapshotTaken,
    SnapshotDeleted,
    LogEmptied,
    SnapshotFetchDropped,
)


def _position_reached(past: Past, position: int) -> Iterator[int | None]:
    yield _end_moved(past, past.event(position).follower, position)


def _ends_moved(past: Past, position: int) -> Iterator[int | None]:
    for replica in past.steps:
        yield _end_moved(past, replica, position)


def _end_moved(past: Past, replica: str, before: int) -> int | None:
    """The event that moved a log end last."""
    steps = past.steps_before(replica, before)
    return next((step.position for step in steps if step.before != step.after), None)


def _passes(past: Past, position: int) -> Iterator[int | None]:
    for replica in past.steps:
        yield past.last(Cleaned, before=position, replica=replica)


def _committed(past: Past, position: int) -> Iterator[int | None]:
    """A leader counted positions; a follower learned the mark of a leader."""
    name, _, leading = past.event(position)
    if not leading:
        yield past.last(HighWatermarkMoved, before=position, leading=True)
        return
    yield from _LEADS(past, position)
    for other in past.steps:
        by = {"replica": name, "follower": other}
        yield past.last(PositionRecorded, before=position, **by)


def _elected(past: Past, position: int) -> Iterator[int | None]:
    """Who led before and why no more; who got into the in-sync set, and how."""
    name = past.event(position).replica
    yield past.last(ReplicaRestarted, before=position, replica=name)
    previous = past.last(LeaderElected, before=position)
    since = {"after": -1 if previous is None else previous, "before": position}
    yield from past.all(UncleanElection, **since, replica=name)
    yield from past.all(IsrChanged, **since, joined=name)
    leader = name if previous is None else past.event(previous).replica
    if leader != name:
        yield from past.all(*_DOWN, **since, replica=leader)
        yield from past.all(FaultInjected, **since, replica=leader)[-1:]


_DECIDED_BY: Final[dict[type, tuple[Earlier, ...]]] = {
    Appended: (_LEADS,),
    IsrChanged: (_latest(PositionRecorded, of={"follower": "joined"}),),
    Truncated: (_latest(LeaderElected, of={}), _latest(EpochCacheChanged)),
    **dict.fromkeys((Cleaned, CleanerLooked), (_latest(ConfigChanged),)),
    **dict.fromkeys((*_STATES, SegmentsLost), (_STATE, _FAULT)),
    **dict.fromkeys((LeaderResigned, FaultEnded), (_FAULT,)),
    **dict.fromkeys((*_READS, ReadingEnded, Understood), (_READ,)),
    **dict.fromkeys(_FETCHES, (_TAKEN, _SNAPSHOT)),
    SnapshotTaken: (_MARK,),
    LogEmptied: (_SNAPSHOT,),
    **dict.fromkeys(_STARTS, (_MARK, _SNAPSHOT)),
    PositionRecorded: (_position_reached,),
    HighWatermarkMoved: (_committed,),
    LeaderElected: (_elected,),
    RemovalBoundMoved: (_ends_moved,),
    **dict.fromkeys((TombstoneProbed, RoundsEnded), (_passes,)),
}
"""Class of an event -> the events that decided, beside those that made the logs what they were."""


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
    """What the invariant looked at."""
    yield past.end - 1
    for offset in _offsets(past, violation):
        yield from ((replica, offset, past.end) for replica in past.steps)
        yield from _kept_away(past, offset, past.end)
        commit = past.first_commit(offset)
        if commit is not None:
            yield commit
            yield from _kept_away(past, offset, commit)
    if violation.replica is not None:
        yield past.last(*_STARTS, replica=violation.replica)
        yield past.last(HighWatermarkMoved, replica=violation.replica)


def _offsets(past: Past, violation: Violation) -> set[int]:
    """The offset of a violation, and those of the records that the state of its key hangs on.

    Where these are many: the last two appended, what any replica removed otherwise than because a
    newer one won, and those that beat them.
    """
    found = set() if violation.offset is None else {violation.offset}
    key, history = violation.key, past.history
    if key is None:
        return found
    written = [history.written[uid].offset for uid in history.uids_of_key.get(key, [])]
    found |= {*written[-BEATEN:]}
    for position in past.all(Cleaned):
        removals = past.event(position).removals
        found |= {r.offset for r in removals if r.key == key and r.reason != "superseded"}
    for name in past.steps if violation.replica is None else (violation.replica,):
        held = [one for one in written if past.fate(name, one, None).became is Became.HELD]
        found |= {*held[-BEATEN:]}
    return found


def _behind(past: Past, position: int) -> Iterator[Node | None]:
    """What decided an event."""
    event = past.event(position)
    for earlier in _DECIDED_BY.get(type(event), ()):
        yield from earlier(past, position)
    if isinstance(event, Appended):
        yield event.replica, event.batch.base_offset, position
    elif isinstance(event, Acknowledged):
        yield event.replica, event.first_offset, position


def _behind_slot(past: Past, replica: str, offset: int, before: int) -> Iterator[Node | None]:
    """Who made what a replica held at an offset, and what stood there before."""
    position = past.slot(replica, offset, before)
    if position is None:
        return
    yield position
    yield replica, offset, position
    event = past.event(position)
    if isinstance(event, Copied | GapLearned | Pushed):
        yield event.leader, offset, position
    for removal in event.removals if isinstance(event, Cleaned) else ():
        if removal.offset == offset:
            yield from _behind_removal(past, position, removal)


def _behind_removal(past: Past, position: int, removal: Removal) -> Iterator[Node | None]:
    replica, written = past.event(position).replica, past.history.written
    if removal.winner_offset is not None:
        yield replica, removal.winner_offset, position
    known = written.get(removal.uid)
    if known is not None and removal.reason in ("tombstone", "marker"):
        horizon = past.horizon(replica, known.batch.base_offset, position + 1)
        yield None if horizon is None else horizon.position
        yield past.last(RemovalBoundMoved, before=position, replica=replica)
        yield from _kept_away(past, removal.offset, position)
    if known is not None and removal.reason == "aborted":
        for uid in past.controls:
            same_producer = written[uid].batch.producer_id == known.batch.producer_id
            if same_producer and past.appended_at[uid] < position:
                yield replica, written[uid].offset, position


def _kept_away(past: Past, offset: int, before: int) -> Iterator[int]:
    """What keeps from an offset those who never had it: a fault that goes on."""
    for replica in past.steps:
        if past.slot(replica, offset, before) is None:
            kinds = (FaultInjected, FaultEnded)
            last = past.last(*kinds, before=before, replica=replica)
            if last is not None and isinstance(past.event(last), FaultInjected):
                yield last
