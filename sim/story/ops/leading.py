"""Writing, elections and the in-sync set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.files.document import Place
from sim.replication import elections
from sim.replication import leader as leading
from sim.story.fields import (
    BOOLEAN,
    BYTES,
    EPOCH,
    MARKER,
    OPTIONAL_TEXT,
    PRODUCER,
    REPLICA,
    REPLICAS,
    TEXT,
    TIME,
    VERSION,
)
from sim.story.op import LEADER, Fields, Scope, leads_not, may, need, op
from sim.story.records import batch_of, label_of

if TYPE_CHECKING:
    from sim.story.driver import StoryDriver
    from sim.story.steps import Step

_EPOCH = "The leader epoch."
_TO_LEAD = need(REPLICA, "The replica that is to lead.")
_VOTES = may(REPLICAS, "Who is asked for its vote.")


def _check_append(fields: Fields, scope: Scope, place: Place) -> None:
    del scope
    if "marker" in fields:
        if "pid" not in fields:
            place.at("pid").fail("missing; a marker needs the producer it is for")
        return
    if "label" not in fields:
        place.at("label").fail("missing; required: leader, label, key (or marker, pid)")
    if "key" not in fields:
        place.at("key").fail("missing; null for a record without a key")


@op(
    source="UnifiedLog.appendAsLeader",
    check=_check_append,
    leader=LEADER,
    label=may(TEXT, "What stories call the record: `label@offset` in a log.", usual=True),
    key=may(OPTIONAL_TEXT, "The key; null for a record without one.", usual=True),
    ts=may(TIME, "Create time in ms; the time of the story when not given."),
    hdr=may(VERSION, "The version header, a 64-bit number; null or nothing for none (KIP-280)."),
    hdr_bytes=may(BYTES, "The version header as pairs of hexadecimal digits."),
    pid=may(PRODUCER, "The producer of a transaction."),
    tombstone=may(BOOLEAN, "Whether it deletes its key, under `tombstone_mark: explicit`."),
    flag=may(BOOLEAN, "Whether the attribute, or the header, of a delete is set (KIP-87)."),
    null_value=may(
        BOOLEAN, "Whether the value is null, under `tombstone_mark: null_value` or `magic`."
    ),
    epoch=may(EPOCH, _EPOCH),
    marker=may(MARKER, "How the transaction of `pid` ends."),
)
def append(world: StoryDriver, step: Step) -> str | None:
    """The leader writes one record, or the marker of a transaction, at its log end offset.

    With `epoch` a leader of that epoch that has been replaced does.
    """
    writer = world.replicas[step["leader"]]
    epoch = step.get("epoch")
    if epoch is None and writer.leadership is not None:
        epoch = writer.leadership.epoch
    if not writer.up or epoch is None:
        return leads_not(writer)
    batch = batch_of(
        step,
        writer.log.log_end_offset,
        epoch=epoch,
        uid=world.new_uid(label_of(step)),
        now_ms=world.now_ms,
        rules=world.rules,
    )
    world.emit(leading.append(writer, batch, rules=world.rules, now_ms=world.now_ms).events)
    return None


@op(
    source="Partition.makeLeader; the Raft paper, section 5.2",
    leader=_TO_LEAD,
    epoch=need(EPOCH, _EPOCH),
    votes=_VOTES,
)
def elect(world: StoryDriver, step: Step) -> str | None:
    """The replica leads the epoch; with `votes`, if a majority grants it.

    The epoch starts at the end of its log, and it knows no follower's position yet.
    """
    candidate = world.replicas[step["leader"]]
    if not candidate.up:
        return f"{candidate.name} is down"
    epoch, voters = step["epoch"], world.story.voters
    if "votes" in step.fields:
        asked = [world.replicas[name] for name in step["votes"] if name in voters]
        granting = elections.wins(
            candidate, asked, voter_count=len(voters), epoch=epoch, rules=world.rules
        )
        if granting is None:
            return f"no majority votes for {candidate.name}"
        for voter in (candidate, *granting):
            elections.votes_for(voter, epoch, candidate.name)
    world.leader = candidate.name
    world.emit(
        elections.become_leader(
            candidate,
            epoch,
            isr=world.isr,
            voters=voters,
            rules=world.rules,
            now_ms=world.now_ms,
            leader_change_uid=world.new_uid(f"LC{epoch}"),
        )
    )
    world.coordinators.elected(candidate)
    return None


@op(
    source="PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection",
    leader=_TO_LEAD,
    epoch=need(EPOCH, _EPOCH),
    votes=_VOTES,
)
def elect_from_isr(world: StoryDriver, step: Step) -> str | None:
    """As `elect`, and nothing happens unless the replica is in sync."""
    if step["leader"] not in world.isr:
        return f"{step['leader']} is not in sync"
    return elect(world, step)


@op(
    source="AlterPartition, decided by the controller",
    isr=need(REPLICAS, "The replicas in sync."),
)
def isr(world: StoryDriver, step: Step) -> str | None:
    """These replicas are in sync from now on."""
    world.set_isr(step["isr"])
    return "they are in sync already"


@op(source="Partition.maybeExpandIsr", replica=need(REPLICA, "The replica that joins."))
def expand_isr(world: StoryDriver, step: Step) -> str | None:
    """The replica joins the in-sync set if the rule `isr_join` lets it."""
    acting, joining = world.acting_leader(), world.replicas[step["replica"]]
    if acting is None or acting.leadership is None:
        return "nobody leads"
    if not joining.up:
        return f"{joining.name} is down"
    if joining.name in acting.leadership.isr:
        return f"{joining.name} is in sync already"
    position = acting.leadership.positions.get(joining.name)
    world.emit(leading.expand_isr(acting, joining.name, rules=world.rules))
    world.isr = acting.leadership.isr
    known = "does not know where" if position is None else "does not believe that"
    return f"{acting.name} {known} {joining.name} " + ("is" if position is None else "caught up")
