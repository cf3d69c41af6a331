"""The consumers of a story: what a step lets them read, and where their positions are."""

from __future__ import annotations

from collections.abc import Iterable

from sim.protocol.events import Consumed, ConsumerReset, Event
from sim.protocol.events.logs import ResetCause
from sim.protocol.log import Batch, Record
from sim.protocol.replication import Replica
from sim.protocol.replication.reading import (
    Position,
    ReadingGoal,
    as_read,
    check_position,
    fetch,
    handed_on,
    readable_end,
)
from sim.protocol.rules import Rules


class StoryConsumers:
    """All consumers of a story by name; one begins at offset 0 where it is named first."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._positions: dict[str, Position] = {}

    def positions(self) -> dict[str, tuple[int, int]]:
        """Offset and epoch of everybody who has moved, by name; whom they asked last is no move."""
        return {name: (p.offset, p.epoch) for name, p in self._positions.items() if p.offset > 0}

    def consume(
        self, consumer: str, replica: Replica, *, upto: int | None, committed: bool, now_ms: int
    ) -> list[Event]:
        """Read what there is up to the end, or `upto`, and move there, over whatever is missing."""
        position, events = self._checked(consumer, replica)
        start, limit = position.offset, readable_end(replica.log, committed=committed)
        end = max(start, min(limit if upto is None else upto, limit))
        batches = [batch for batch in replica.log.read(start) if batch.base_offset < end]
        position.offset = end
        if batches:
            position.epoch = batches[-1].epoch
        rules = self._rules
        given = handed_on(replica, batches, start, end, committed=committed, rules=rules)
        records = self._given(given, start, end)
        return [*events, Consumed(replica.name, consumer, start, end, records, now_ms, committed)]

    def read_to_end(
        self, consumer: str, replica: Replica, *, until: str, committed: bool, now_ms: int
    ) -> list[Event]:
        """Fetch as a client does until the end is reached, or a fetch brings nothing."""
        position, events = self._checked(consumer, replica)
        start = max(position.offset, replica.log.log_start_offset)
        goal = ReadingGoal(until, start, readable_end(replica.log, committed=committed))
        while not goal.reached(position.offset):
            fetched = fetch(position, replica, committed=committed, rules=self._rules)
            events += _reset(replica, consumer, position, fetched.reset)
            start, end = fetched.start, fetched.end
            if end == start:
                break
            records = self._given(fetched.batches, start, end)
            goal.note(records)
            events.append(Consumed(replica.name, consumer, start, end, records, now_ms, committed))
        return [*events, goal.ended(replica.name, consumer, position.offset)]

    def _checked(self, consumer: str, replica: Replica) -> tuple[Position, list[Event]]:
        """Where a consumer is; whom it is about to read says whether that is good there."""
        position = self._positions.setdefault(consumer, Position())
        cause = check_position(position, replica, rules=self._rules)
        return position, _reset(replica, consumer, position, cause)

    def _given(self, batches: Iterable[Batch], start: int, end: int) -> tuple[Record, ...]:
        """The records from `start` to `end` (exclusive) as the consumer is given them."""
        records = [r for batch in batches for r in batch.records if start <= r.offset < end]
        return as_read(records, rules=self._rules)


def _reset(
    replica: Replica, consumer: str, position: Position, cause: ResetCause | None
) -> list[Event]:
    """What there is to tell when a replica moved a consumer, and why it did; None = it did not."""
    if cause is None:
        return []
    return [ConsumerReset(replica.name, consumer, position.offset, cause)]
