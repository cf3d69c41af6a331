"""The consumers of a story: what a step lets them read, and where their positions are."""

from __future__ import annotations

from sim.log import Batch
from sim.replication import Replica
from sim.replication.reading import (
    Position,
    ReadingGoal,
    as_read,
    check_position,
    fetch,
    handed_on,
    readable_end,
)
from sim.rules import Rules
from sim.trace import Consumed, ConsumerReset, Event
from sim.trace.logs import ResetCause


class StoryConsumers:
    """All consumers of a story by name; one begins at offset 0 where it is named first."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._positions: dict[str, Position] = {}

    def consume(
        self, consumer: str, replica: Replica, *, upto: int | None, committed: bool, now_ms: int
    ) -> list[Event]:
        """Read what there is up to the end, or `upto`, and move there, over whatever is missing."""
        log, rules = replica.log, self._rules
        position = self._positions.setdefault(consumer, Position())
        events = self._checked(consumer, position, replica)
        start = position.offset
        limit = readable_end(log, committed=committed)
        end = max(start, min(limit if upto is None else upto, limit))
        batches = [batch for batch in log.read(start) if batch.base_offset < end]
        position.offset = end
        if batches:
            position.epoch = batches[-1].epoch
        given = handed_on(replica, batches, start, end, committed=committed, rules=rules)
        return [
            *events,
            self._consumed(replica, consumer, start, end, given, now_ms, committed=committed),
        ]

    def read_to_end(
        self, consumer: str, replica: Replica, *, until: str, committed: bool, now_ms: int
    ) -> list[Event]:
        """Fetch as a client does until the end is reached, or a fetch brings nothing."""
        rules = self._rules
        position = self._positions.setdefault(consumer, Position())
        events = self._checked(consumer, position, replica)
        start = max(position.offset, replica.log.log_start_offset)
        end = readable_end(replica.log, committed=committed)
        goal = ReadingGoal(until, start, end)
        while not goal.reached(position.offset):
            fetched = fetch(position, replica, committed=committed, rules=rules)
            events += _reset(replica, consumer, position, fetched.reset)
            if fetched.end == fetched.start:
                break
            consumed = self._consumed(
                replica,
                consumer,
                fetched.start,
                fetched.end,
                fetched.batches,
                now_ms,
                committed=committed,
            )
            goal.note(consumed.records)
            events.append(consumed)
        return [*events, goal.ended(replica.name, consumer, position.offset)]

    def _checked(self, consumer: str, position: Position, replica: Replica) -> list[Event]:
        """Whom a consumer is about to read says whether its position is good there."""
        cause = check_position(position, replica, rules=self._rules)
        return _reset(replica, consumer, position, cause)

    def _consumed(
        self,
        replica: Replica,
        consumer: str,
        start: int,
        end: int,
        batches: list[Batch] | tuple[Batch, ...],
        now_ms: int,
        *,
        committed: bool,
    ) -> Consumed:
        records = [r for batch in batches for r in batch.records if start <= r.offset < end]
        given = as_read(records, rules=self._rules)
        return Consumed(replica.name, consumer, start, end, given, now_ms, committed)


def _reset(
    replica: Replica, consumer: str, position: Position, cause: ResetCause | None
) -> list[Event]:
    """What there is to tell when a replica moved a consumer, and why it did; None = it did not."""
    if cause is None:
        return []
    return [ConsumerReset(replica.name, consumer, position.offset, cause)]
