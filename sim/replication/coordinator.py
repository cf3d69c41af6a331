"""A coordinator: on becoming leader it replays its partition, and then answers by what that says.

Kafka's group and transaction coordinators have their state in the memory of the leader alone. A new
one reads the log from its start to its end, deletes included, and tells clients meanwhile that it
loads. How long that takes grows with the log (KIP-630, Motivation). Source: CoordinatorRuntime,
CoordinatorLoaderImpl.doLoad; TransactionStateManager.loadTransactionMetadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from sim.compaction import fold
from sim.compaction.strategies import STRATEGIES
from sim.log import Batch, Record, data_batch
from sim.replication.messages import CoordinatorRequest, CoordinatorResponse, ErrorCode
from sim.replication.replica import Replica
from sim.rules.rules import Rules
from sim.trace import CoordinatorAnswered, CoordinatorLoaded, Event

COMPLETES: Final = {"PrepareCommit": "CompleteCommit", "PrepareAbort": "CompleteAbort"}
"""States in which a transaction is decided and its markers may not be written, and what follows."""


@dataclass(slots=True)
class Coordinator:
    """The state machine of one leader in one epoch.

    Attributes:
        epoch: The leader's.
        end_offset: It loads what is below (exclusive): the log end offset of its election.
        reached: What is below is loaded (exclusive).
        entries: Its memory: key -> the record with its state.
        applied: What is below is in its memory (exclusive), whatever becomes of the log.
        active: Whether it has loaded all.
    """

    epoch: int
    end_offset: int
    reached: int
    entries: dict[str, Record]
    applied: int
    active: bool = False


class ToLoad(NamedTuple):
    """What a coordinator reads: records of the snapshot at the log start, then of the log."""

    snapshot_records: int
    log_records: int


class Loaded(NamedTuple):
    """What comes of a finished load.

    Attributes:
        events: What happened.
        pending: The records of transactions that are decided and have to be completed now.
    """

    events: tuple[Event, ...]
    pending: tuple[Record, ...]


class Answered(NamedTuple):
    """An answer to a client, and what happened for it."""

    response: CoordinatorResponse
    events: tuple[Event, ...]


def begin_loading(replica: Replica) -> Coordinator | None:
    """A coordinator that has loaded nothing yet; None if the replica does not lead."""
    leadership, log = replica.leadership, replica.log
    if leadership is None:
        return None
    start, entries = log.log_start_offset, _entries_at_the_start(replica)
    return Coordinator(leadership.epoch, log.log_end_offset, start, entries, start)


def _entries_at_the_start(replica: Replica) -> dict[str, Record]:
    """The state below the log start: key -> its record."""
    base = replica.base_snapshot()
    held = () if base is None else base.records
    return {record.key: record for record in held if record.key is not None}


def to_load(coordinator: Coordinator, replica: Replica) -> ToLoad:
    """How many records it reads to load."""
    base = replica.base_snapshot()
    batches = replica.log.batches()
    in_log = sum(
        len(batch.records) for batch in batches if batch.base_offset < coordinator.end_offset
    )
    return ToLoad(0 if base is None else len(base.records), in_log)


def load_some(coordinator: Coordinator, replica: Replica, records: int) -> None:
    """It has read so many records in all, the snapshot first."""
    left = records - to_load(coordinator, replica).snapshot_records
    reached = replica.log.log_start_offset
    for batch in replica.log.batches():
        if left < len(batch.records) or batch.base_offset >= coordinator.end_offset:
            break
        left -= len(batch.records)
        reached = batch.last_offset + 1
    coordinator.reached = max(coordinator.reached, min(reached, coordinator.end_offset))


def finish_loading(
    coordinator: Coordinator, replica: Replica, *, rules: Rules, took_ms: int = 0
) -> Loaded:
    """It has read its log to the end, and serves.

    What went from the log meanwhile it has from the snapshot that took its place.
    """
    coordinator.reached, coordinator.active = coordinator.end_offset, True
    if coordinator.applied < replica.log.log_start_offset:
        coordinator.entries = _entries_at_the_start(replica)
        coordinator.applied = replica.log.log_start_offset
    apply_committed(coordinator, replica, rules=rules)
    pending: tuple[Record, ...] = ()
    if rules.coordinator.coordinator == "transaction":
        state = _state(coordinator, replica, _readable(coordinator, replica, rules), rules=rules)
        pending = tuple(state[key] for key in sorted(state) if state[key].value in COMPLETES)
    read = to_load(coordinator, replica)
    loaded = CoordinatorLoaded(
        replica.name,
        coordinator.epoch,
        coordinator.end_offset,
        *read,
        took_ms,
        pending,
    )
    return Loaded((loaded,), pending)


def apply_committed(coordinator: Coordinator, replica: Replica, *, rules: Rules) -> None:
    """Take into memory what an active coordinator may go by; the log may lose it from then on.

    Data of an open transaction waits for its marker, and what follows it, too. Data that comes
    before may have its marker behind that.
    """
    if not coordinator.active:
        return
    readable = _readable(coordinator, replica, rules)
    unstable = replica.log.producers.first_undecided_offset(readable)
    stable = readable if unstable is None else min(readable, unstable)
    if stable > coordinator.applied:
        coordinator.entries = _state(coordinator, replica, readable, data_below=stable, rules=rules)
        coordinator.applied = stable


def completion(record: Record, *, offset: int, epoch: int, uid: int, now_ms: int) -> Batch:
    """What a transaction coordinator writes when the markers of a pending one are written."""
    value = COMPLETES[record.value or ""]
    return data_batch((Record(offset, record.key, value, now_ms, uid=uid),), epoch=epoch)


def answer(
    replica: Replica, coordinator: Coordinator | None, request: CoordinatorRequest, *, rules: Rules
) -> Answered:
    """The state of a key as the coordinator knows it, or why it does not say.

    Args:
        replica: Who is asked.
        coordinator: That of the epoch which the replica leads; None = it leads none.
        request: What it is asked.
        rules: Say what it goes by.
    """
    if coordinator is None:
        return Answered(CoordinatorResponse(ErrorCode.NOT_COORDINATOR), ())
    error, record, below = ErrorCode.NONE, None, coordinator.reached
    if coordinator.active or rules.coordinator.coordinator_loads == "lazily":
        below = _readable(coordinator, replica, rules)
        record = _state(coordinator, replica, below, rules=rules).get(request.key)
    else:
        error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    told = CoordinatorAnswered(
        replica.name,
        coordinator.epoch,
        request.client_id,
        request.key,
        () if record is None else (record,),
        below,
        str(error),
    )
    return Answered(CoordinatorResponse(error), (told,))


def _readable(coordinator: Coordinator, replica: Replica, rules: Rules) -> int:
    """Up to where it goes by its log (exclusive)."""
    committed = replica.log.high_watermark
    if not coordinator.active:
        return coordinator.reached
    if rules.coordinator.coordinator_reads == "high_watermark":
        return committed
    return max(coordinator.reached, committed)


def _state(
    coordinator: Coordinator,
    replica: Replica,
    below: int,
    *,
    data_below: int | None = None,
    rules: Rules,
) -> dict[str, Record]:
    """Its memory, and on top of it what follows in the log below an offset (exclusive).

    With `data_below` only markers count from there on.
    """
    end = below if data_below is None else data_below
    read = replica.log.read_below(coordinator.applied, below) if below > coordinator.applied else ()
    return fold(
        [batch for batch in read if batch.base_offset < end or batch.control is not None],
        below=below,
        strategy=STRATEGIES["offset"],
        is_tombstone=rules.cleaner.is_tombstone,
        base=coordinator.entries.values(),
    )
