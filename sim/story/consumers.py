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
from sim.story.steps import Step
from sim.trace import Consumed, Event


class StoryConsumers:
    """All consumers of a story by name; one begins at offset 0 where it is named first."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._positions: dict[str, Position] = {}

    def consume(self, step: Step, replica: Replica, *, now_ms: int) -> list[Event]:
        """Read what there is up to the end, or `upto`, and move there, over whatever is missing."""
        log, rules, consumer = replica.log, self._rules, step["consumer"]
        committed = step.get("isolation") == "read_committed"
        position = self._positions.setdefault(consumer, Position())
        check_position(position, replica, rules=rules)
        start = position.offset
        limit = readable_end(log, committed=committed)
        end = max(start, min(step.get("upto", limit), limit))
        batches = [batch for batch in log.read(start) if batch.base_offset < end]
        position.offset = end
        if batches:
            position.epoch = batches[-1].epoch
        given = handed_on(replica, batches, start, end, committed=committed, rules=rules)
        return [self._consumed(replica, consumer, start, end, given, now_ms, committed=committed)]

    def read_to_end(self, step: Step, replica: Replica, *, now_ms: int) -> list[Event]:
        """Fetch as a client does until the end is reached, or a fetch brings nothing."""
        rules, consumer = self._rules, step["consumer"]
        committed = step.get("isolation") == "read_committed"
        position = self._positions.setdefault(consumer, Position())
        check_position(position, replica, rules=rules)
        start = max(position.offset, replica.log.log_start_offset)
        end = readable_end(replica.log, committed=committed)
        goal = ReadingGoal(step.get("until", "position"), start, end)
        events: list[Event] = []
        while not goal.reached(position.offset):
            fetched = fetch(position, replica, committed=committed, rules=rules)
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
