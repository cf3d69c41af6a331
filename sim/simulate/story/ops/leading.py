"""Steps that write, elect leaders and change the in-sync set."""

from __future__ import annotations

from collections.abc import Callable

from sim.files.document import Place
from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.log import Control, Record, control_batch, data_batch
from sim.protocol.log.formats import TOMBSTONE_HEADER
from sim.protocol.replication import elections
from sim.protocol.replication import leader as leading
from sim.protocol.rules import Rules
from sim.simulate.story.driver import StoryDriver
from sim.simulate.story.fields import (
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
from sim.simulate.story.op import Fields, Step, be_up, lead, may, need, op

_EPOCH = "The leader epoch."
_TO_LEAD = need(REPLICA, "The replica that is to lead.", must=be_up)
_VOTES = may(REPLICAS, "The replicas that are asked for their votes.")


def _marks(*marks: str) -> Callable[[Rules], str | None]:
    """Makes the `void` of a field that has a meaning under these tombstone marks alone."""

    def void(rules: Rules) -> str | None:
        own = rules.cleaner.tombstone_mark
        given = " or ".join(marks)
        says = f"means nothing under `tombstone_mark: {own}`, but under `tombstone_mark: {given}`"
        return None if own in marks else says

    return void


_OF_RECORDS = ("label", "key", "hdr", "hdr_bytes", "tombstone", "flag", "null_value")


def _check_append(fields: Fields, place: Place) -> None:
    if "marker" in fields:
        if "pid" not in fields:
            place.at("pid").fail("missing; a marker needs the producer it is for")
        for name in _OF_RECORDS:
            if name in fields:
                place.at(name).fail("means nothing: the marker of a transaction has none")
        return
    if "label" not in fields:
        place.at("label").fail("missing; required: leader, label, key (or marker, pid)")
    if "key" not in fields:
        place.at("key").fail("missing; null for a record without a key")


@op(
    check=_check_append,
    leader=need(REPLICA, must=be_up),
    label=may(TEXT, plain=True),
    key=may(OPTIONAL_TEXT, plain=True),
    ts=may(TIME),
    hdr=may(VERSION),
    hdr_bytes=may(BYTES),
    pid=may(PRODUCER),
    tombstone=may(BOOLEAN, void=_marks("explicit")),
    flag=may(BOOLEAN, void=_marks("flag", "header", "magic")),
    null_value=may(BOOLEAN, void=_marks("null_value", "flag", "header", "magic")),
    epoch=may(EPOCH, _EPOCH),
    marker=may(MARKER),
)
def append(world: StoryDriver, step: Step) -> str | None:
    """The leader writes one record, or the marker of a transaction, at its log end offset.

    With `epoch`, the writer is a deposed leader of that epoch.

    Fields:
        leader: The replica that leads.
        label: The label of the record, `label@offset` in a log.
        key: The key; null for a record without one.
        ts: Create time in ms; the time of the story when not given.
        hdr: The version header, a 64-bit number; null or nothing for none (KIP-280).
        hdr_bytes: The version header as pairs of hexadecimal digits.
        pid: The producer of a transaction.
        tombstone: Whether it deletes its key, under `tombstone_mark: explicit`.
        flag: Whether the attribute, or the header, of a delete is set (KIP-87).
        null_value: Whether the value is null; not under `tombstone_mark: explicit`.
        marker: How the transaction of `pid` ends.

    Source: UnifiedLog.appendAsLeader
    """
    writer = world.replicas[step["leader"]]
    epoch = step.get("epoch")
    if epoch is None:
        if writer.leadership is None:
            return lead(writer)
        epoch = writer.leadership.epoch
    offset, timestamp_ms = writer.log.log_end_offset, step.get("ts", world.now_ms)
    uid, producer_epoch = world.new_uid(_label(step)), _producer_epoch(world, step)
    if "marker" in step.fields:
        batch = control_batch(
            offset,
            epoch=epoch,
            control=_control(step),
            timestamp_ms=timestamp_ms,
            producer_id=step["pid"],
            producer_epoch=producer_epoch,
            uid=uid,
        )
    else:
        value, flagged = _value_and_flag(step, world.rules.cleaner.tombstone_mark)
        headers = _headers(step, world.rules)
        record = Record(offset, step["key"], value, timestamp_ms, headers, flagged=flagged, uid=uid)
        batch = data_batch(
            (record,),
            epoch=epoch,
            producer_id=step.get("pid", -1),
            producer_epoch=producer_epoch,
            transactional="pid" in step.fields,
        )
    world.emit(leading.append(writer, batch, rules=world.rules, now_ms=world.now_ms).events)
    return f"{writer.name} refuses it"


def _producer_epoch(world: StoryDriver, step: Step) -> int:
    """Epoch of the producer, raised by a marker; -1 without a producer or with `per_instance`."""
    if "pid" not in step.fields or world.rules.coordinator.producer_epochs == "per_instance":
        return -1
    epoch = world.producer_epochs.get(step["pid"], 0) + ("marker" in step.fields)
    world.producer_epochs[step["pid"]] = epoch
    return epoch


def _label(step: Step) -> str:
    """Label of the record: `C:p` and `A:p` for markers of producer p."""
    if "marker" in step.fields:
        return f"{_control(step)[0]}:{step['pid']}"
    return str(step["label"])


def _control(step: Step) -> Control:
    return Control.COMMIT if step["marker"] == "commit" else Control.ABORT


def _headers(step: Step, rules: Rules) -> tuple[tuple[str, bytes], ...]:
    """Headers: `hdr` in the form that the rules read, `hdr_bytes`, then the tombstone header."""
    values: list[bytes] = []
    if step.get("hdr") is not None:
        values.append(ENCODERS[rules.cleaner.header_form](step["hdr"]))
    if "hdr_bytes" in step.fields:
        values.append(step["hdr_bytes"])
    headers = tuple((rules.topic.strategy_header, value) for value in values)
    marked = rules.cleaner.tombstone_mark == "header" and step.get("flag", False)
    return (*headers, TOMBSTONE_HEADER) if marked else headers


def _value_and_flag(step: Step, mark: str) -> tuple[str | None, bool | None]:
    """Value and tombstone attribute of the record that an `append` writes under `tombstone_mark`.

    With `magic`, a step with `flag` writes a record of magic 2, and any other step one of a format
    without a flag, in which `null_value` decides. With `header`, the field `flag` becomes a header.
    Where the flag decides, a null value is data (KIP-87, Proposed Changes).
    """
    label = step["label"]
    value = None if step.get("null_value") else label
    if mark == "header":
        return value, False
    if mark == "flag" or (mark == "magic" and "flag" in step.fields):
        return value, step.get("flag", False)
    deleted = step.get("tombstone" if mark == "explicit" else "null_value", False)
    flagged = None if mark == "magic" else deleted and mark == "explicit"
    return None if deleted else label, flagged


@op(leader=_TO_LEAD, epoch=need(EPOCH, _EPOCH), votes=_VOTES)
def elect(world: StoryDriver, step: Step) -> str | None:
    """The replica becomes leader of the epoch; with `votes`, if it gets a majority.

    The epoch starts at the end of its log, and the leader knows no follower's position yet.

    Source: Partition.makeLeader; the Raft paper, section 5.2
    """
    candidate = world.replicas[step["leader"]]
    epoch, voters = step["epoch"], world.voters
    if "votes" in step.fields:
        asked = [world.replicas[name] for name in step["votes"] if name in voters]
        granting = elections.wins(
            candidate, asked, voter_count=len(voters), epoch=epoch, rules=world.rules
        )
        if granting is None:
            world.answered(f"no majority votes for {candidate.name} in epoch {epoch}")
            return f"no majority votes for {candidate.name}"
        names = ", ".join(voter.name for voter in granting) or "nobody else"
        world.answered(f"{names} votes for {candidate.name} in epoch {epoch}")
        for voter in (candidate, *granting):
            elections.votes_for(voter, epoch, candidate.name)
    world.leader = candidate.name
    events = elections.become_leader(
        candidate,
        epoch,
        isr=world.isr,
        voters=voters,
        rules=world.rules,
        now_ms=world.now_ms,
        leader_change_uid=world.new_uid(f"LC{epoch}"),
    )
    world.joining.elected(candidate)
    world.emit(events)
    return f"{candidate.name} leads epoch {epoch} already"


@op(leader=_TO_LEAD, epoch=need(EPOCH, _EPOCH), votes=_VOTES)
def elect_from_isr(world: StoryDriver, step: Step) -> str | None:
    """The replica becomes leader as by `elect`, but only if it is in sync.

    Source: PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection
    """
    if step["leader"] not in world.isr:
        return f"{step['leader']} is not in sync"
    return elect(world, step)


@op(isr=need(REPLICAS))
def isr(world: StoryDriver, step: Step) -> str | None:
    """Sets the in-sync set to these replicas.

    Fields:
        isr: The replicas in sync.

    Source: AlterPartition, decided by the controller
    """
    world.set_isr(step["isr"])
    return "they are in sync already"


@op(replica=need(REPLICA, must=be_up))
def expand_isr(world: StoryDriver, step: Step) -> str | None:
    """The replica joins the in-sync set if the rule `isr_join` allows it.

    Fields:
        replica: The replica that joins.

    Source: Partition.maybeExpandIsr
    """
    acting, joining = world.acting_leader(), world.replicas[step["replica"]]
    if acting is None or acting.leadership is None:
        return "no replica leads"
    if joining.name in acting.leadership.isr:
        return f"{joining.name} is in sync already"
    world.emit(leading.expand_isr(acting, joining.name, rules=world.rules))
    world.isr = acting.leadership.isr
    return f"{acting.name} does not know {joining.name} to have caught up"
