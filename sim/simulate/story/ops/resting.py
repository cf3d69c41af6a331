"""Steps that judge invariants at rest, and that note moments for the expectation."""

from __future__ import annotations

from sim.check.invariants.deletes import TombstoneEventuallyRemoved
from sim.check.registry import name_of
from sim.files.document import Place
from sim.protocol.events import Quiesced, TombstoneProbed
from sim.simulate.story.driver import StoryDriver, views_of
from sim.simulate.story.fields import BOOLEAN, KEY, NAMED
from sim.simulate.story.op import Fields, Scope, Step, may, need, op
from sim.simulate.story.ops.following import until_stable


@op(
    source="this project",
    asserts=name_of(TombstoneEventuallyRemoved),
    observes=True,
    key=need(KEY, "The key, which some step writes."),
)
def expect_tombstone_gone(world: StoryDriver, step: Step) -> str | None:
    """Judges whether any live replica still holds a tombstone of the key."""
    key, history = step["key"], world.checker.history
    world.emit([TombstoneProbed(world.leader or "", key)])
    written = any(history.written[uid].tombstone for uid in history.uids_of_key.get(key, ()))
    return None if written else f"no tombstone of {key} was written"


@op(source="this project", observes=True, nosync=may(BOOLEAN, "No replica is synced."))
def quiesce(world: StoryDriver, step: Step) -> None:
    """Syncs every live replica to the leader's end, then judges the invariants at rest."""
    source = world.acting_leader()
    synced = source is not None and not step.get("nosync", False)
    if source is not None and synced:
        for _ in range(2):
            for fetcher in world.replicas.values():
                if fetcher.up and fetcher is not source and source.leadership is not None:
                    until_stable(world, fetcher, source)
    world.emit([Quiesced(world.leader, synced and source is not None)])


@op(source="this project", observes=True)
def check(world: StoryDriver, step: Step) -> None:
    """Judges the invariants at rest, without syncing a replica."""
    del step
    world.emit([Quiesced(world.leader, synced=False)])


def _note_moment(fields: Fields, scope: Scope, place: Place) -> None:
    name = fields["name"]
    if name in scope.moments:
        place.at("name").fail(f"{name!r} was noted before")
    scope.moments[name] = tuple(scope.known)


@op(source="this project", note=_note_moment, name=need(NAMED, "The name of the moment."))
def moment(world: StoryDriver, step: Step) -> None:
    """Notes the state of every replica under a name, for `expect.moments`."""
    world.moments[step["name"]] = views_of(world.replicas, world.rules, world.labels)
