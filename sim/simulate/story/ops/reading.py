"""Consumers of a story read."""

from __future__ import annotations

from collections.abc import Sequence

from sim.protocol.events import Event
from sim.protocol.events.sentences import describe
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.fields import ISOLATION, NAMED, NATURAL, REPLICA, WAY
from sim.simulate.story.op import Step, be_up, may, need, op

_CONSUMER = need(NAMED, "The name of a consumer; each has a position of its own.")
_READ = need(REPLICA, "The replica that is read from.", must=be_up)
_ISOLATION = may(ISOLATION, "Whether open and aborted transactions are read.")


def _committed(step: Step) -> bool:
    return bool(step.get("isolation") == "read_committed")


@op(
    source="KafkaConsumer.poll",
    consumer=_CONSUMER,
    replica=_READ,
    upto=may(NATURAL, "An offset (exclusive) that is not passed."),
    isolation=_ISOLATION,
)
def consume(world: StoryDriver, step: Step) -> str | None:
    """The consumer reads from its position, and goes on from there the next time."""
    replica = world.replicas[step["replica"]]
    _read(
        world,
        world.consumers.consume(
            step["consumer"],
            replica,
            upto=step.get("upto"),
            committed=_committed(step),
            now_ms=world.now_ms,
        ),
    )
    return _nothing_read(step)


def _read(world: StoryDriver, events: Sequence[Event]) -> None:
    """Let a consumer's events out, and note what it was given."""
    world.emit(events)
    for event in events:
        world.answered(describe(event, about=lambda _offset, _key: True))


def _nothing_read(step: Step) -> str:
    return f"{step['consumer']} has read all there is for it on {step['replica']}"


@op(
    source="KafkaBasedLog.readToLogEnd",
    consumer=_CONSUMER,
    replica=_READ,
    until=may(WAY, "By what a reader tells that it is at the end."),
    isolation=_ISOLATION,
)
def read_to_end(world: StoryDriver, step: Step) -> str | None:
    """The consumer asks for the end offset, and reads until it has reached it."""
    replica = world.replicas[step["replica"]]
    _read(
        world,
        world.consumers.read_to_end(
            step["consumer"],
            replica,
            until=step.get("until", "position"),
            committed=_committed(step),
            now_ms=world.now_ms,
        ),
    )
    return _nothing_read(step)
