"""Steps of consumers, and steps that judge invariants at rest or note moments for the expectation.

A consumer begins at offset 0 where it is named first.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.check.invariants.deletes import TombstoneEventuallyRemoved
from sim.check.registry import name_of
from sim.files.document import Place
from sim.protocol.events import Consumed, ConsumerReset, Event, Quiesced, TombstoneProbed
from sim.protocol.events.cluster import ResetCause
from sim.protocol.events.sentences import describe
from sim.protocol.log import Batch
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
from sim.simulate.story.driver import StoryDriver, views_of
from sim.simulate.story.fields import BOOLEAN, ISOLATION, KEY, NAMED, NATURAL, REPLICA, WAY
from sim.simulate.story.op import Fields, Scope, Step, be_up, may, need, op
from sim.simulate.story.ops.following import until_stable

_CONSUMER = need(NAMED, "The name of a consumer; each has a position of its own.")
_READ = need(REPLICA, "The replica that is read from.", must=be_up)
_ISOLATION = may(ISOLATION, "The isolation level: whether open and aborted data is read.")


@op(consumer=_CONSUMER, replica=_READ, upto=may(NATURAL), isolation=_ISOLATION)
def consume(world: StoryDriver, step: Step) -> str | None:
    """The consumer reads from its position on, and moves the position to the end.

    Fields:
        upto: An offset (exclusive) that is not passed.

    Source: KafkaConsumer.poll
    """
    replica, position, committed = _begin(world, step)
    start, limit = position.offset, readable_end(replica.log, committed=committed)
    end = max(start, min(step.get("upto", limit), limit))
    batches = [batch for batch in replica.log.read(start) if batch.base_offset < end]
    position.offset = end
    if batches:
        position.epoch = batches[-1].epoch
    given = handed_on(replica, batches, start, end, committed=committed, rules=world.rules)
    _emit(world, _consumed(world, step, given, start, end))
    return _nothing_read(step)


@op(consumer=_CONSUMER, replica=_READ, until=may(WAY), isolation=_ISOLATION)
def read_to_end(world: StoryDriver, step: Step) -> str | None:
    """The consumer asks for the end offset, and reads until it has reached it.

    Fields:
        until: The sign by which the reader knows that it is at the end.

    Source: KafkaBasedLog.readToLogEnd
    """
    replica, position, committed = _begin(world, step)
    start = max(position.offset, replica.log.log_start_offset)
    end = readable_end(replica.log, committed=committed)
    goal = ReadingGoal(step.get("until", "position"), start, end)
    while not goal.reached(position.offset):
        fetched = fetch(position, replica, committed=committed, rules=world.rules)
        _reset(world, step, position, fetched.reset)
        if fetched.end == fetched.start:  # it brought nothing
            break
        read = _consumed(world, step, fetched.batches, fetched.start, fetched.end)
        goal.note(read.records)
        _emit(world, read)
    _emit(world, goal.ended(replica.name, step["consumer"], position.offset))
    return _nothing_read(step)


def _begin(world: StoryDriver, step: Step) -> tuple[Replica, Position, bool]:
    """Replica, position, and True if committed records alone are read.

    The replica checks the position first, and may reset it.
    """
    replica = world.replicas[step["replica"]]
    position = world.positions.setdefault(step["consumer"], Position())
    _reset(world, step, position, check_position(position, replica, rules=world.rules))
    return replica, position, step.get("isolation") == "read_committed"


def _reset(world: StoryDriver, step: Step, position: Position, cause: ResetCause | None) -> None:
    """Emits the event of a consumer that a replica has reset, unless `cause` is None."""
    if cause is not None:
        _emit(world, ConsumerReset(step["replica"], step["consumer"], position.offset, cause))


def _consumed(
    world: StoryDriver, step: Step, batches: Iterable[Batch], start: int, end: int
) -> Consumed:
    """Event of a consumer that is given the records from `start` to `end` (exclusive)."""
    held = [r for batch in batches for r in batch.records if start <= r.offset < end]
    records = as_read(held, rules=world.rules)
    committed = step.get("isolation") == "read_committed"
    return Consumed(step["replica"], step["consumer"], start, end, records, world.now_ms, committed)


def _emit(world: StoryDriver, event: Event) -> None:
    """Emits an event of a consumer, and keeps it as an answer."""
    world.emit([event])
    world.answered(describe(event, about=lambda _offset, _key: True))


def _nothing_read(step: Step) -> str:
    return f"{step['consumer']} has read all there is for it on {step['replica']}"


@op(asserts=name_of(TombstoneEventuallyRemoved), observes=True, key=need(KEY))
def expect_tombstone_gone(world: StoryDriver, step: Step) -> str | None:
    """Judges whether any live replica still holds a tombstone of the key.

    Fields:
        key: The key, which some step writes.

    Source: this project
    """
    key, history = step["key"], world.checker.history
    world.emit([TombstoneProbed(world.leader or "", key)])
    written = any(history.written[uid].tombstone for uid in history.uids_of_key.get(key, ()))
    return None if written else f"no tombstone of {key} was written"


@op(observes=True, nosync=may(BOOLEAN))
def quiesce(world: StoryDriver, step: Step) -> None:
    """Syncs every live replica to the leader's end, then judges the invariants at rest.

    Fields:
        nosync: No replica is synced.

    Source: this project
    """
    source = None if step.get("nosync", False) else world.acting_leader()
    if source is not None:
        for _ in range(2):
            for fetcher in world.replicas.values():
                if fetcher.up and fetcher is not source and source.leadership is not None:
                    until_stable(world, fetcher, source)
    world.emit([Quiesced(world.leader, source is not None)])


@op(observes=True)
def check(world: StoryDriver, step: Step) -> None:
    """Judges the invariants at rest, without syncing a replica.

    Source: this project
    """
    del step
    world.emit([Quiesced(world.leader, synced=False)])


def _note_moment(fields: Fields, scope: Scope, place: Place) -> None:
    name = fields["name"]
    if name in scope.moments:
        place.at("name").fail(f"{name!r} was noted before")
    scope.moments[name] = tuple(scope.known)


@op(note=_note_moment, name=need(NAMED))
def moment(world: StoryDriver, step: Step) -> None:
    """Notes the state of every replica under a name, for `expect.moments`.

    Fields:
        name: The name of the moment.

    Source: this project
    """
    world.moments[step["name"]] = views_of(world.replicas, world.rules, world.labels)
