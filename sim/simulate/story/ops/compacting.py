"""Steps that shorten a log: compaction, and snapshots of its state."""

from __future__ import annotations

from sim.protocol.replication.cleaning import stable_offset, take_out
from sim.protocol.replication.coordination import hold_round
from sim.protocol.replication.joining import laggards
from sim.protocol.replication.replica import crash
from sim.protocol.replication.snapshots import delete_prefix as move_log_start
from sim.protocol.replication.snapshots import may_delete_prefix, take_snapshot
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.fields import (
    HORIZONS,
    MOMENT,
    NATURAL,
    OFFSETS,
    REPLICAS,
    SEGMENTS,
    TIME,
)
from sim.simulate.story.op import ACTOR, Step, may, need, op


@op(
    replica=ACTOR,
    legacy_horizon=may(TIME),
    segments=may(SEGMENTS),
    upto=may(NATURAL),
    crash=may(MOMENT),
)
def compact(world: StoryDriver, step: Step) -> str | None:
    """The replica runs a cleaning pass up to the bound of the rule `cleaner_bound`.

    Fields:
        legacy_horizon: The pass-wide delete horizon before KIP-534, in ms.
        segments: Segments as [base offset, end offset (exclusive), last modified in ms].
        upto: The pass ends below this offset (exclusive).
        crash: The moment of the pass at which the replica goes down.

    Source: Cleaner.doClean
    """
    replica = world.replicas[step["replica"]]
    if world.rules.cleaner.cleanup == "snapshot":
        return "with `cleanup: snapshot` no log is cleaned"
    failed = replica.uncleanable
    bound = min(stable_offset(replica, rules=world.rules), step.get("upto", 1 << 62))
    result = world.cleaner.run(
        replica,
        upper_bound=bound,
        now_ms=world.now_ms,
        rescan=True,
        removal_limit=min(one.log.log_end_offset for one in world.replicas.values()),
        legacy_horizon_ms=step.get("legacy_horizon"),
        legacy_last_modified=step.get("segments", ()),
        crash_during=step.get("crash"),
    )
    world.emit(result.events)
    if "crash" in step.fields:
        world.emit(crash(replica))
    if failed:
        return "a pass has failed before"
    by_mark = world.rules.replication.commit == "isr" and bound == replica.log.high_watermark
    late = laggards(replica) if by_mark else ()
    did = result.changed or replica.uncleanable or "crash" in step.fields
    world.in_vain = late != () and not did
    mark = f": the high watermark, {replica.log.high_watermark}, waits for {', '.join(late)}"
    return "there is nothing to clean" + (mark if late else "")


@op(reachable=may(REPLICAS))
def coordinate(world: StoryDriver, step: Step) -> str | None:
    """Replicas report how far they have compacted, and learn the lowest offset of all.

    Tombstones below that may go.

    Fields:
        reachable: The replicas that take part; all that are up when not given.

    Source: Redpanda PR 28087
    """
    reachable = step.get("reachable")
    if reachable is None:
        reachable = [name for name, replica in world.replicas.items() if replica.up]
    present = [world.replicas[name] for name in reachable]
    every = world.replicas.values()
    world.emit(hold_round(world.coordinator, every, present, rules=world.rules))
    return "no replica has anything new to report"


_NO_SNAPSHOTS = "with `cleanup: compact` there are no snapshots"


@op(replica=ACTOR, end=need(NATURAL))
def snapshot(world: StoryDriver, step: Step) -> str | None:
    """The replica takes a snapshot of the state below an offset.

    Fields:
        end: Offset (exclusive) below which the state is taken.

    Source: KIP-630, Snapshot Format
    """
    replica, end = world.replicas[step["replica"]], step["end"]
    if world.rules.cleaner.cleanup == "compact":
        return _NO_SNAPSHOTS
    in_log = world.rules.snapshots.snapshot_placement == "in_log"
    uid = world.new_uid(f"SN{end}") if in_log else 0
    world.emit(take_snapshot(replica, end, rules=world.rules, now_ms=world.now_ms, uid=uid))
    there = any(id_.end_offset == end for id_ in replica.snapshots)
    return f"{replica.name} " + (
        f"has one that ends at {end}" if there else f"has no log from 1 to {end}"
    )


@op(replica=ACTOR, to=need(NATURAL))
def delete_prefix(world: StoryDriver, step: Step) -> str | None:
    """The log start moves to an offset; a snapshot covers what is below.

    Fields:
        to: The new log start offset.

    Source: KIP-630, When to Increase the LogStartOffset
    """
    replica, to = world.replicas[step["replica"]], step["to"]
    if world.rules.cleaner.cleanup == "compact":
        return _NO_SNAPSHOTS
    ends = [r.log.log_end_offset for r in world.replicas.values() if r.up]
    if not may_delete_prefix(replica, to, live_ends=ends, rules=world.rules, now_ms=world.now_ms):
        return f"not every live replica has what is below {to}"
    world.emit(move_log_start(replica, to))
    return f"{replica.name}'s log starts at {replica.log.log_start_offset} already"


@op(replica=ACTOR, offsets=may(OFFSETS), horizons=may(HORIZONS), upto=may(NATURAL))
def cleaned(world: StoryDriver, step: Step) -> str | None:
    """The replica has the result of passes before the story: chosen records are gone.

    No rule decides about them, so a story can begin with the logs of real replicas.

    Fields:
        offsets: Offsets of the records that are gone.
        horizons: Delete horizons of batches, as [base offset, ms].
        upto: The checkpoint of the cleaner (exclusive).

    Source: LogCleanerManager, the checkpoint of an earlier pass
    """
    replica = world.replicas[step["replica"]]
    events = take_out(
        replica,
        step.get("offsets", ()),
        horizons=dict(step.get("horizons", ())),
        upto=step.get("upto", replica.first_dirty_offset),
        now_ms=world.now_ms,
        rules=world.rules,
    )
    world.emit(events)
    return "no such record is there"
