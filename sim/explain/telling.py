"""Explains a violation: the events that led to it, one line each, in the order they happened."""

from __future__ import annotations

from collections.abc import Sequence

from sim.check import Violation
from sim.explain.judged import judged_at
from sim.explain.provenance import Recorded
from sim.log.record import Batch
from sim.rules import Rules
from sim.trace import (
    Appended,
    Cleaned,
    CleaningFailed,
    ConfigChanged,
    Consumed,
    CoordinatorAnswered,
    CoordinatorLoaded,
    Copied,
    EpochCacheChanged,
    Event,
    FaultInjected,
    HighWatermarkMoved,
    IsrChanged,
    LeaderElected,
    LeaderResigned,
    LogStartedAfresh,
    LogStartMoved,
    PositionRecorded,
    PrefixDeleted,
    Pushed,
    Quiesced,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    Truncated,
    UncleanElection,
)
from sim.trace.sentences import describe

BEATEN = 2
"""So many of the records that the one in question beat belong to its story: the last ones."""

_TURNING_POINTS = (
    CleaningFailed,
    UncleanElection,
    LeaderElected,
    LeaderResigned,
    EpochCacheChanged,
    Truncated,
    IsrChanged,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SnapshotInstalled,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    CoordinatorLoaded,
    FaultInjected,
    ConfigChanged,
    Quiesced,
)
"""Events that matter to any violation."""


def explain(
    events: Recorded, violation: Violation, *, rules: Rules | None = None, limit: int = 40
) -> list[str]:
    """What happened to the offset and the key of `violation` up to its detection.

    Args:
        events: (when, event) as a run or a story recorded them.
        violation: What to explain.
        rules: By which the run was judged: they tell the very event that showed the violation.
        limit: Most lines; the oldest are left out first.
    """
    before = events[: judged_at(events, violation, rules) + 1] if events else []
    subject = _Subject([event for _, event in before], violation)
    lines = [
        f"{at:>6}  {describe(event, about=subject.names)}"
        for at, event in before
        if subject.concerns(event)
    ]
    left_out = len(lines) - limit
    shown = lines[-limit:] if left_out > 0 else lines
    if left_out > 0:
        shown = [f"        ({left_out} earlier events left out)", *shown]
    return [*shown, f"{violation.at:>6}  {violation.invariant}: {violation.sentence}"]


class _Subject:
    """What a violation is about: offsets and keys, and so which events belong to its story.

    An offset stands for what beat the record there, and for the last ones that it beat; that of a
    transaction's marker for all its producer wrote in transactions. A key alone stands for all of
    its records.
    """

    def __init__(self, events: Sequence[Event], violation: Violation) -> None:
        self._replica = violation.replica
        self._key = violation.key
        self._offset = violation.offset
        keyed = violation.offset is None and violation.key is not None
        self._keys = {violation.key} if keyed else set()
        self._offsets = set() if violation.offset is None else {violation.offset}
        batches = [event.batch for event in events if isinstance(event, Appended | Pushed)]
        markers = [b for b in batches if b.control is not None and b.last_offset == self._offset]
        producers = {marker.producer_id for marker in markers} - {-1}
        for batch in batches:
            if batch.transactional and batch.producer_id in producers:
                self._offsets |= set(range(batch.base_offset, batch.last_offset + 1))
        beaten: set[int] = set()
        for event in events:
            for removal in event.removals if isinstance(event, Cleaned) else ():
                winner = removal.winner_offset
                if winner is not None and removal.offset == self._offset:
                    self._offsets.add(winner)
                elif winner is not None and winner == self._offset:
                    beaten.add(removal.offset)
        self._offsets |= set(sorted(beaten)[-BEATEN:])
        self._positions: dict[str, int] = {}
        self._committed = False

    def concerns(self, event: Event) -> bool:
        """Whether this event, the next one in order, is part of the story."""
        if isinstance(event, _TURNING_POINTS):
            return True
        match event:
            case Appended(_, batch) | Pushed(_, _, batch):
                return self._touches([batch])
            case Copied(_, _, _, batches, _):
                return self._touches(batches)
            case Cleaned():
                return any(self.names(r.offset, r.key) for r in event.removals)
            case Consumed():
                return any(self.names(r.offset, r.key) for r in event.records)
            case CoordinatorAnswered():
                return event.key == self._key
            case HighWatermarkMoved():
                return self._commits(event)
            case PositionRecorded(_, follower, position):
                if self._offset is None or follower != self._replica or position <= self._offset:
                    return False
                known, self._positions[follower] = self._positions.get(follower), position
                return position != known
            case _:
                return False

    def _commits(self, event: HighWatermarkMoved) -> bool:
        """The first time that a leader commits the offset."""
        if self._committed or self._offset is None or not event.leading:
            return False
        self._committed = event.high_watermark > self._offset
        return self._committed

    def names(self, offset: int, key: str | None) -> bool:
        """Whether the record of that key at that offset is part of the story."""
        return offset in self._offsets or (key is not None and key in self._keys)

    def _touches(self, batches: Sequence[Batch]) -> bool:
        return any(
            any(batch.base_offset <= offset <= batch.last_offset for offset in self._offsets)
            or any(record.key in self._keys for record in batch.records if record.key is not None)
            for batch in batches
        )
