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


@op(note=_note_advance, ms=need(SPAN))
def advance(world: StoryDriver, step: Step) -> str | None:
    """Time passes, as it does in no other step.

    Fields:
        ms: How long, in ms.

    Source: this project
    """
    world.now_ms += step["ms"]
    return "no time passes"


@op(
    replica=need(REPLICA, must=be_up),
    lose=may(NATURAL),
    power_loss=may(BOOLEAN),
    high_watermark=may(NATURAL),
    cleaned=may(NATURAL),
    epochs=may(EPOCH),
)
def crash(world: StoryDriver, step: Step) -> None:
    """The replica goes down, and may lose what was not flushed.

    Fields:
        replica: The replica that crashes.
        lose: How many of the last batches are lost.
        power_loss: All that was not flushed is lost; the rule `flush` says what was.
        high_watermark: The offset that the checkpoint of high watermarks falls back to.
        cleaned: The offset that the cleaner's checkpoint falls back to.
        epochs: The newest epoch that is left in the file of the epoch cache.

    Source: LogLoader, unclean shutdown
    """
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


@op(replica=ACTOR)
def flush(world: StoryDriver, step: Step) -> str | None:
    """The replica flushes its log up to the end.

    Source: UnifiedLog.flush
    """
    replica = world.replicas[step["replica"]]
    replica.log.flush()
    return "all of the log is flushed already"


@op(replica=ACTOR, silent_ms=need(SPAN))
def expire_producers(world: StoryDriver, step: Step) -> str | None:
    """The replica forgets producers that were silent for `silent_ms`; their last batches may go.

    Fields:
        silent_ms: `producer.id.expiration.ms`.

    Source: ProducerStateManager.removeExpiredProducers
    """
    replica = world.replicas[step["replica"]]
    silent = replica.log.producers.expire(now_ms=world.now_ms, after_ms=step["silent_ms"])
    if silent:
        world.emit([ProducersForgotten(replica.name, silent)])
    return "no producer was silent for so long"


@op(replica=need(REPLICA, must=be_down))
def restart(world: StoryDriver, step: Step) -> None:
    """The replica comes up with the log on its disk.

    Fields:
        replica: The replica that is down.

    Source: LogLoader.load
    """
    world.emit(recover(world.replicas[step["replica"]], rules=world.rules))


@op(replica=need(REPLICA))
def wipe(world: StoryDriver, step: Step) -> str | None:
    """The disk of the replica is replaced: its log is empty, and it is up.

    Fields:
        replica: The replica whose disk is replaced.

    Source: KIP-858
    """
    replica = world.replicas[step["replica"]]
    world.emit(lose_disk(replica, reason="its disk was replaced"))
    return f"{replica.name} is up, and has nothing on its disk"


def _note_add(fields: Fields, scope: Scope, place: Place) -> None:
    name = fields["replica"]
    if name in scope.known:
        place.at("replica").fail(f"{name!r} exists already")
    scope.known.append(name)
    place.at("replica").check(limits.REPLICAS.too_many(len(scope.known), "replicas"))


@op(note=_note_add, replica=need(NAMED))
def add_replica(world: StoryDriver, step: Step) -> None:
    """A replica with an empty log joins.

    Fields:
        replica: The name of the new replica.

    Source: KIP-455; KIP-853
    """
    world.add(step["replica"])


def _note_remove(fields: Fields, scope: Scope, place: Place) -> None:
    del place
    scope.known = [name for name in scope.known if name != fields["replica"]]


@op(note=_note_remove, replica=need(REPLICA))
def remove_replica(world: StoryDriver, step: Step) -> str | None:
    """The replica leaves with its disk; nothing happens while it leads.

    Fields:
        replica: The replica that leaves.

    Source: KIP-455; KIP-853
    """
    name = step["replica"]
    if name == world.leader:
        return f"{name} leads"
    world.delayed = [one for one in world.delayed if name not in one[:2]]
    del world.replicas[name]
    world.emit([ReplicaRemoved(name)])
    if name in world.isr:
        world.set_isr(tuple(member for member in world.isr if member != name))
    if world.rules.replication.commit == "majority":
        world.remove_voter(name)
    return None
