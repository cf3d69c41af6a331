"""Steps of time, and of faults of replicas and their disks."""

from __future__ import annotations

from sim.files import limits
from sim.files.document import Place
from sim.protocol.events import ProducersForgotten, ReplicaRemoved
from sim.protocol.replication.recovery import OldFiles, crash_with_files, recover
from sim.protocol.replication.replica import wipe as lose_disk
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.fields import BOOLEAN, EPOCH, NAMED, NATURAL, REPLICA, SPAN
from sim.simulate.story.op import ACTOR, Fields, Scope, Step, be_down, be_up, may, need, op


def _note_advance(fields: Fields, scope: Scope, place: Place) -> None:
    scope.passed_ms += fields["ms"]
    place.at("ms").check(limits.ADVANCE.problem(scope.passed_ms))


@op(source="this project", note=_note_advance, ms=need(SPAN, "How long, in ms."))
def advance(world: StoryDriver, step: Step) -> str | None:
    """Time passes, as it does in no other step."""
    world.now_ms += step["ms"]
    return "no time passes"


@op(
    source="LogLoader, unclean shutdown",
    replica=need(REPLICA, "The replica that crashes.", must=be_up),
    lose=may(NATURAL, "How many of the last batches are lost."),
    power_loss=may(BOOLEAN, "All that was not flushed is lost, by the rule `flush`."),
    high_watermark=may(
        NATURAL, "The offset in the checkpoint of high watermarks, whose last write was lost."
    ),
    cleaned=may(NATURAL, "The offset in the cleaner's checkpoint, whose last write was lost."),
    epochs=may(
        EPOCH, "The newest epoch in the file of the epoch cache, whose last write was lost."
    ),
)
def crash(world: StoryDriver, step: Step) -> None:
    """The replica goes down, and may lose what was not flushed."""
    name = step["replica"]
    world.delayed = [one for one in world.delayed if one[0] != name]
    events = crash_with_files(
        world.replicas[name],
        rules=world.rules,
        lost_batches=step.get("lose", 0),
        power_loss=step.get("power_loss", False),
        old=OldFiles(*(step.get(name) for name in OldFiles._fields)),
    )
    world.emit(events)


@op(source="UnifiedLog.flush", replica=ACTOR)
def flush(world: StoryDriver, step: Step) -> str | None:
    """The replica flushes its log up to the end."""
    replica = world.replicas[step["replica"]]
    replica.log.flush()
    return "all of the log is flushed already"


@op(
    source="ProducerStateManager.removeExpiredProducers",
    replica=ACTOR,
    silent_ms=need(SPAN, "`producer.id.expiration.ms`."),
)
def expire_producers(world: StoryDriver, step: Step) -> str | None:
    """The replica forgets producers that were silent for `silent_ms`; their last batches may go."""
    replica = world.replicas[step["replica"]]
    silent = replica.log.producers.expire(now_ms=world.now_ms, after_ms=step["silent_ms"])
    if silent:
        world.emit([ProducersForgotten(replica.name, silent)])
    return "no producer was silent for so long"


@op(
    source="LogLoader.load",
    replica=need(REPLICA, "The replica that is down.", must=be_down),
)
def restart(world: StoryDriver, step: Step) -> None:
    """The replica comes up with the log on its disk."""
    world.emit(recover(world.replicas[step["replica"]], rules=world.rules))


@op(source="KIP-858", replica=need(REPLICA, "The replica whose disk is replaced."))
def wipe(world: StoryDriver, step: Step) -> str | None:
    """The disk of the replica is replaced: its log is empty, and it is up."""
    replica = world.replicas[step["replica"]]
    world.emit(lose_disk(replica, reason="its disk was replaced"))
    return f"{replica.name} is up, and has nothing on its disk"


def _note_add(fields: Fields, scope: Scope, place: Place) -> None:
    name = fields["replica"]
    if name in scope.known:
        place.at("replica").fail(f"{name!r} exists already")
    scope.known.append(name)
    place.at("replica").check(limits.REPLICAS.too_many(len(scope.known), "replicas"))


@op(
    source="KIP-455; KIP-853",
    note=_note_add,
    replica=need(NAMED, "The name of the new replica."),
)
def add_replica(world: StoryDriver, step: Step) -> None:
    """A replica with an empty log joins."""
    world.add(step["replica"])


def _note_remove(fields: Fields, scope: Scope, place: Place) -> None:
    del place
    scope.known = [name for name in scope.known if name != fields["replica"]]


@op(
    source="KIP-455; KIP-853",
    note=_note_remove,
    replica=need(REPLICA, "The replica that leaves."),
)
def remove_replica(world: StoryDriver, step: Step) -> str | None:
    """The replica leaves with its disk; nothing happens while it leads."""
    name = step["replica"]
    if name == world.leader:
        return f"{name} leads"
    world.delayed = [one for one in world.delayed if name not in one[:2]]
    del world.replicas[name]
    world.emit([ReplicaRemoved(name)])
    if name in world.isr:
        world.set_isr(tuple(member for member in world.isr if member != name))
    return None
