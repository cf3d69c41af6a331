"""Compaction, and what replicas agree on for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication.cleaning import stable_offset
from sim.replication.coordination import hold_round
from sim.replication.replica import crash
from sim.story.fields import MOMENT, NATURAL, REPLICAS, SEGMENTS, TIME
from sim.story.op import ACTOR, may, op

if TYPE_CHECKING:
    from sim.story.driver import StoryDriver
    from sim.story.steps import Step


@op(
    source="Cleaner.doClean",
    replica=ACTOR,
    legacy_horizon=may(TIME, "The pass-wide delete horizon before KIP-534, in ms."),
    segments=may(
        SEGMENTS, "Segments as [base offset, end offset (exclusive), last modified in ms]."
    ),
    upto=may(NATURAL, "An offset (exclusive) that is not passed."),
    crash=may(MOMENT, "The moment of the pass at which the replica goes down."),
)
def compact(world: StoryDriver, step: Step) -> str | None:
    """One cleaning pass up to the bound of the rule `cleaner_bound`."""
    replica = world.replicas[step["replica"]]
    if not replica.up:
        return f"{replica.name} is down"
    if world.rules.cleaner.cleanup == "snapshot":
        return "with `cleanup: snapshot` no log is cleaned"
    failed = replica.uncleanable
    bound = min(stable_offset(replica, rules=world.rules), step.get("upto", 1 << 62))
    result = world.cleaner.run(
        replica,
        upper_bound=bound,
        now_ms=world.now_ms,
        rescan=True,
        keep_producers=False,
        removal_limit=min(r.log.log_end_offset for r in world.replicas.values()),
        legacy_horizon_ms=step.get("legacy_horizon"),
        legacy_last_modified=step.get("segments", ()),
        crash_during=step.get("crash"),
    )
    world.emit(result.events)
    if "crash" in step.fields:
        world.emit(crash(replica))
    return "a pass has failed before" if failed else "there is nothing to clean"


@op(
    source="Redpanda PR 28087",
    reachable=may(REPLICAS, "Who takes part; everybody up when not given."),
)
def coordinate(world: StoryDriver, step: Step) -> str | None:
    """Replicas report up to where they have compacted, and are told the lowest.

    Below that tombstones may go.
    """
    reachable = step.get("reachable")
    if reachable is None:
        reachable = [name for name, replica in world.replicas.items() if replica.up]
    present = [world.replicas[name] for name in reachable]
    every = world.replicas.values()
    world.emit(hold_round(world.coordinator, every, present, rules=world.rules))
    return "nobody has anything new to report"
