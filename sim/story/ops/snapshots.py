"""Snapshots of the own state, and the log below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication.snapshots.delete import delete_prefix as move_log_start
from sim.replication.snapshots.delete import may_delete_prefix
from sim.replication.snapshots.take import take_snapshot
from sim.story.fields import NATURAL
from sim.story.op import ACTOR, need, op

if TYPE_CHECKING:
    from sim.replication import Replica
    from sim.story.driver import StoryDriver
    from sim.story.steps import Step


def _without_snapshots(world: StoryDriver, replica: Replica) -> str | None:
    """Why a replica has nothing to do with snapshots now; None = it has."""
    if not replica.up:
        return f"{replica.name} is down"
    if world.rules.cleaner.cleanup == "compact":
        return "with `cleanup: compact` there are no snapshots"
    return None


@op(
    source="KIP-630, Snapshot Format",
    replica=ACTOR,
    end=need(NATURAL, "Offset (exclusive) below which the state is taken."),
)
def snapshot(world: StoryDriver, step: Step) -> str | None:
    """The replica takes a snapshot of the state below an offset."""
    replica, end = world.replicas[step["replica"]], step["end"]
    why = _without_snapshots(world, replica)
    if why is not None:
        return why
    in_log = world.rules.snapshots.snapshot_placement == "in_log"
    uid = world.new_uid(f"SN{end}") if in_log else 0
    world.emit(take_snapshot(replica, end, rules=world.rules, now_ms=world.now_ms, uid=uid))
    there = any(id_.end_offset == end for id_ in replica.snapshots)
    return f"{replica.name} " + (
        f"has one that ends at {end}" if there else f"has no log from 1 to {end}"
    )


@op(
    source="KIP-630, When to Increase the LogStartOffset",
    replica=ACTOR,
    to=need(NATURAL, "The new log start offset."),
)
def delete_prefix(world: StoryDriver, step: Step) -> str | None:
    """The log starts at an offset from now on, which a snapshot covers."""
    replica, to = world.replicas[step["replica"]], step["to"]
    why = _without_snapshots(world, replica)
    if why is not None:
        return why
    ends = [r.log.log_end_offset for r in world.replicas.values() if r.up]
    if not may_delete_prefix(replica, to, live_ends=ends, rules=world.rules, now_ms=world.now_ms):
        return f"not every live replica has what is below {to}"
    world.emit(move_log_start(replica, to))
    return f"{replica.name}'s log starts at {replica.log.log_start_offset} already"
