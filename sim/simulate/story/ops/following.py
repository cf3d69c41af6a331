"""Steps of a follower: becoming one, fetching, receiving copies."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from sim.files.document import Place
from sim.protocol.events import Event
from sim.protocol.log import Batch
from sim.protocol.replication import Replica, follower, leader
from sim.protocol.replication.messages import (
    Answer,
    ErrorCode,
    FetchResponse,
    FetchSnapshotResponse,
)
from sim.protocol.replication.replica import crash
from sim.protocol.replication.snapshots import (
    answer_fetch_snapshot,
    receive_snapshot_chunk,
    snapshot_request,
)
from sim.protocol.replication.truncation import (
    answer_offsets_for_leader_epoch,
    receive_offsets_for_leader_epoch,
    start_following,
)
from sim.simulate.story.driver import Response, StoryDriver
from sim.simulate.story.fields import BOOLEAN, LABEL, NATURAL, REPLICA
from sim.simulate.story.op import FOLLOWER, LEADER, Fields, Step, Take, be_up, may, need, op

_DELAYED = may(BOOLEAN, "The answer waits for a `deliver`.")
_NOTHING_NEW = "there is nothing to fetch"


def _of_two(take: Callable[[StoryDriver, Step, Replica, Replica], str | None]) -> Take:
    """Carries out a step with its follower and its leader, unless they are the same replica."""

    @wraps(take)
    def taken(world: StoryDriver, step: Step) -> str | None:
        fetcher, source = world.replicas[step["follower"]], world.replicas[step["leader"]]
        if fetcher is source:
            return f"{source.name} does not follow itself"
        return take(world, step, fetcher, source)

    return taken


@op(follower=FOLLOWER, leader=LEADER)
@_of_two
def follow(world: StoryDriver, step: Step, fetcher: Replica, source: Replica) -> str | None:
    """The replica becomes a follower, and truncates by the rule `truncation`.

    Source: Partition.makeFollower; KIP-101
    """
    del step
    assert source.leadership is not None
    result = start_following(fetcher, source.leadership.epoch, rules=world.rules)
    if result.refused:
        return _is_ahead(fetcher, source)
    world.emit(result.events)
    while (request := result.request) is not None:
        response = answer_offsets_for_leader_epoch(source, request, rules=world.rules)
        if response.error is not ErrorCode.NONE:
            return f"{source.name} answers {response.error}"
        result = receive_offsets_for_leader_epoch(fetcher, request, response, rules=world.rules)
        world.emit(result.events)
    return f"{fetcher.name} follows {source.name}'s epoch already, and has nothing to cut"


def _is_ahead(fetcher: Replica, source: Replica) -> str:
    return f"{fetcher.name} knows of a newer epoch than {source.name}'s"


def _check_fetch(fields: Fields, place: Place) -> None:
    if fields.get("delay_response") and fields.get("drop_response"):
        place.at("delay_response").fail("a dropped response cannot be late")


@op(
    check=_check_fetch,
    follower=FOLLOWER,
    leader=LEADER,
    max=may(NATURAL),
    drop_response=may(BOOLEAN),
    delay_response=_DELAYED,
)
@_of_two
def fetch(world: StoryDriver, step: Step, fetcher: Replica, source: Replica) -> str | None:
    """The follower fetches from its leader, in one round trip.

    The leader records the follower's position and answers; the follower appends the records.

    Fields:
        max: Most batches that are copied.
        drop_response: The answer is lost.

    Source: AbstractFetcherThread; KIP-595
    """
    response = _answer(world, fetcher, source, step.get("max"))
    world.answered(_said(fetcher, source, response))
    if step.get("delay_response", False):
        world.delayed.append((fetcher.name, source.name, response))
        return None
    if step.get("drop_response", False):
        return "its response is lost"
    _receive(world, fetcher, response)
    return _why_nothing_came(world, fetcher, source, response)


@op(follower=need(REPLICA), leader=need(REPLICA))
def deliver(world: StoryDriver, step: Step) -> str | None:
    """The oldest delayed response of that leader arrives, even if another replica leads by now.

    Fields:
        follower: The replica that follows.
        leader: The replica that answered.

    Source: this project
    """
    name = step["follower"]
    on_its_way = [one for one in world.delayed if one[:2] == (name, step["leader"])]
    if not on_its_way:
        return f"no response of {step['leader']} is on its way to {name}"
    world.delayed.remove(on_its_way[0])
    _receive(world, world.replicas[name], on_its_way[0][2])
    return None


@op(follower=FOLLOWER, leader=LEADER)
@_of_two
def sync(world: StoryDriver, step: Step, fetcher: Replica, source: Replica) -> str | None:
    """The follower fetches until nothing changes any more.

    Source: this project
    """
    del step
    return until_stable(world, fetcher, source)


def until_stable(world: StoryDriver, fetcher: Replica, source: Replica) -> str | None:
    """Fetches until nothing changes or a state recurs; returns why the last round did nothing."""
    seen = set()
    response: Response | None = None
    while (state := _progress(fetcher, source)) not in seen:
        seen.add(state)
        chunk = _chunk(world, fetcher, source) if fetcher.download else None
        response = chunk or _answer(world, fetcher, source)
        _receive(world, fetcher, response)
    return _why_nothing_came(world, fetcher, source, response)


def _said(fetcher: Replica, source: Replica, response: FetchResponse) -> str:
    """Sentence about the answer to a fetch."""
    at = f"{source.name} answers {fetcher.name}'s fetch at {response.fetch_offset}"
    if response.answer is Answer.RECORDS:
        found = [
            ", ".join(str(record.offset) for record in batch.records)
            or f"{batch.last_offset} (an empty batch)"
            for batch in response.batches
        ]
        what = f"what is at {', '.join(found)}" if found else "nothing new"
        return f"{at}: {what}, high watermark {response.high_watermark}"
    if response.diverging is not None:
        epoch, end = response.diverging
        return f"{at}: diverging, epoch {epoch} ends at {end}"
    return f"{at}: {response.answer}"


def _why_nothing_came(
    world: StoryDriver, fetcher: Replica, source: Replica, response: Response | None
) -> str:
    """Reason for an answer without effect, if it had no effect."""
    if response is None:
        return f"{fetcher.name} fetches no snapshot"
    if world.rules.replication.fencing and response.epoch < fetcher.epoch:
        return _is_ahead(fetcher, source)
    if isinstance(response, FetchSnapshotResponse):
        served = response.error is ErrorCode.NONE
        return _NOTHING_NEW if served else f"{source.name} answers {response.error}"
    return {
        Answer.RECORDS: _NOTHING_NEW,
        Answer.DIVERGING: f"{fetcher.name} has nothing to cut",
        Answer.SNAPSHOT: f"{fetcher.name} has the snapshot that {source.name} offers",
        Answer.OUT_OF_RANGE: f"{source.name} has no answer for {fetcher.name}'s offset and epoch",
    }.get(response.answer, f"{source.name} answers: {response.answer}")


def _answer(
    world: StoryDriver, fetcher: Replica, source: Replica, limit: int | None = None
) -> FetchResponse:
    request = follower.fetch_request(fetcher, max_batches=limit)
    answered = leader.answer_fetch(source, request, rules=world.rules)
    if answered.response.answer is Answer.RECORDS:
        world.joining.fetched(source, fetcher.name)
    world.emit(answered.events)
    return answered.response


def _receive(world: StoryDriver, fetcher: Replica, response: Response) -> None:
    if isinstance(response, FetchResponse):
        result = follower.receive_fetch(fetcher, response, rules=world.rules, now_ms=world.now_ms)
        world.emit(result.events)
    else:
        _receive_chunk(world, fetcher, response)


def _chunk(
    world: StoryDriver, fetcher: Replica, source: Replica, limit: int | None = None
) -> FetchSnapshotResponse | None:
    """Answer to a request for the next `limit` entries, None for all; None without a download."""
    request = snapshot_request(fetcher, max_entries=limit)
    return None if request is None else answer_fetch_snapshot(source, request, rules=world.rules)


def _receive_chunk(
    world: StoryDriver,
    fetcher: Replica,
    response: FetchSnapshotResponse | None,
    *,
    crashes: bool = False,
) -> None:
    """Receives a chunk; with `crashes` the follower goes down before it installs the snapshot."""
    events: list[Event] = []
    if response is not None:
        result = receive_snapshot_chunk(
            fetcher, response, rules=world.rules, crash_before_install=crashes
        )
        events += result.events
    world.emit(events + (crash(fetcher) if crashes else []))


def _progress(fetcher: Replica, source: Replica) -> tuple[object, ...]:
    """State that `sync` watches: it stops when this does not change any more."""
    log, leadership = fetcher.log, source.leadership
    return (
        tuple((batch.base_offset, batch.epoch, len(batch.records)) for batch in log.batches()),
        log.log_start_offset,
        log.log_end_offset,
        log.high_watermark,
        tuple(log.epochs.entries),
        source.log.high_watermark,
        None if leadership is None else leadership.positions.get(fetcher.name),
        None if fetcher.download is None else fetcher.download.position,
    )


def _check_chunk(fields: Fields, place: Place) -> None:
    if fields.get("delay_response") and fields.get("crash"):
        place.at("delay_response").fail("the replica is down when it comes")


@op(
    check=_check_chunk,
    follower=FOLLOWER,
    leader=LEADER,
    chunk=may(NATURAL),
    crash=may(BOOLEAN),
    delay_response=_DELAYED,
)
@_of_two
def fetch_snapshot(world: StoryDriver, step: Step, fetcher: Replica, source: Replica) -> str | None:
    """The follower fetches a chunk of the leader's snapshot; the last chunk replaces the log.

    Fields:
        chunk: Most keys in the chunk; all that are left when not given.
        crash: The replica goes down before the snapshot is in place.

    Source: KIP-630, FetchSnapshot
    """
    response = _chunk(world, fetcher, source, step.get("chunk"))
    if response is not None and step.get("delay_response", False):
        world.delayed.append((fetcher.name, source.name, response))
        return None
    _receive_chunk(world, fetcher, response, crashes=step.get("crash", False))
    return _why_nothing_came(world, fetcher, source, response)


@op(follower=FOLLOWER, leader=need(REPLICA, must=be_up), label=need(LABEL))
def push(world: StoryDriver, step: Step) -> str | None:
    """The follower appends a copy of the record at its own log end offset.

    That is the drawing in KIP-280; no broker does it.

    Fields:
        leader: The replica that leads.
        label: The label of the record, `label@offset` in a log.

    Source: KIP-280, special case of the log end
    """
    target, source = world.replicas[step["follower"]], world.replicas[step["leader"]]
    batch = _latest_held(world, source, step["label"])
    if batch is None:
        return f"{source.name} holds no record {step['label']}"
    world.emit(follower.push(target, source.name, batch, now_ms=world.now_ms))
    return None


def _latest_held(world: StoryDriver, source: Replica, label: str) -> Batch | None:
    """Batch of the latest record with that label that `source` still holds; None without one."""
    held = {record.uid: batch for batch in source.log.batches() for record in batch.records}
    named = [uid for uid, name in world.labels.items() if name == label]
    return next((held[uid] for uid in reversed(named) if uid in held), None)
