"""Writes of clients at a broker: a batch, or the end of a transaction.

A broker checks in the order of ReplicaManager.appendRecords and Partition.appendRecordsToLeader:
whether it leads, whether it knows the version of the request (KIP-87), whether enough replicas are
in sync, whether the timestamps are plausible, whether the producer's epoch is the newest, whether
its transaction is under way, whether the batch is there already, and last the records themselves.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sim.protocol.events import AppendRefused, Converted, Event
from sim.protocol.log import Control, Record, control_batch, data_batch
from sim.protocol.log.formats import (
    MAGIC_OF_CLIENT,
    Versions,
    is_allowed,
    produced,
    speaks,
    stored,
    values_lost,
)
from sim.protocol.log.producers import ProducerStates
from sim.protocol.replication.leader import append
from sim.protocol.replication.messages import (
    ACKS_ALL,
    NO_ERROR,
    ErrorCode,
    ProduceRequest,
    WriteTxnMarkersRequest,
)
from sim.protocol.replication.replica import Leadership, Replica
from sim.protocol.rules import Rules

AT_ONCE: Final = -1
"""`due_above` of an answer that does not wait: every high watermark is above it."""

_FENCED: Final = ("producer_fenced", ErrorCode.INVALID_PRODUCER_EPOCH)
"""Reason and error of a write whose producer epoch is too old."""
_NOT_IN_TRANSACTION: Final = ("not_in_transaction", ErrorCode.INVALID_TXN_STATE)
"""Reason and error of data that the coordinator knows of no transaction for."""


class ProduceResult(Struct, frozen=True, gc=False):
    """The effect of a write request, and when its answer is due.

    Attributes:
        events: Events of the write or the refusal.
        error: Reason why nothing was written; `NONE` if this request wrote it, or an earlier one.
        base_offset: Offset of the first record of the batch or marker (inclusive); -1 = none.
        last_offset: Offset of its last record (inclusive); -1 = none.
        due_above: The answer is due once the leader's high watermark is above this offset:
            `last_offset`, the last offset of the log for the end of a transaction that is not open,
            or `AT_ONCE`.
        uids_used: Number of uids given to records, from the first offered one on.
        repeated: True = the log had it before; nothing was written now.
    """

    events: list[Event]
    error: ErrorCode
    base_offset: int = -1
    last_offset: int = -1
    due_above: int = AT_ONCE
    uids_used: int = 0
    repeated: bool = False


def produce(
    leader: Replica,
    request: ProduceRequest,
    *,
    rules: Rules,
    now_ms: int,
    first_uid: int,
    versions: Versions | None = None,
    timestamp_difference_max_ms: int | None = None,
    under_way: bool = True,
) -> ProduceResult:
    """Appends the batch of a producer, recognises it as a repetition, or refuses it.

    Args:
        leader: Replica that is asked, whether or not it leads.
        request: Request; its records are not empty.
        rules: Rules of the run.
        now_ms: The replica's own clock in ms.
        first_uid: Identity of the first record; the following ones count up from there.
        versions: Version settings of the broker; None = the scenario does not declare any.
        timestamp_difference_max_ms: `message.timestamp.difference.max.ms`; None = any timestamp.
        under_way: Whether the coordinator has a transaction under way of the producer and epoch of
            the request; matters to transactional ones under `verification: first_batch`.
    """
    leadership = leader.leadership
    if leadership is None:
        return ProduceResult([], ErrorCode.NOT_LEADER_OR_FOLLOWER)
    refused = _refused(leader, leadership, request.version, request.acks, rules, versions)
    if refused is not None:
        return refused
    limit_ms = timestamp_difference_max_ms
    if limit_ms is not None:
        for record in request.records:
            if abs(record.timestamp_ms - now_ms) > limit_ms:
                return ProduceResult([], ErrorCode.INVALID_TIMESTAMP)
    producer_id, epoch, first = request.producer_id, request.producer_epoch, request.base_sequence
    if producer_id >= 0:
        states = leader.log.producers
        if states.fences(producer_id, epoch):
            return _refuse(leader, *_FENCED)
        verified = under_way or rules.coordinator.verification == "none"
        if request.transactional and not (verified or states.has_open(producer_id)):
            return _refuse(leader, *_NOT_IN_TRANSACTION)
        if first >= 0 and states.overtaken(producer_id, epoch, first) is not None:
            last = first + len(request.records) - 1
            sent = states.repeated(producer_id, epoch, first, last)
            if sent is None:
                return ProduceResult([], ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
            due_above = sent.last_offset if request.acks == ACKS_ALL else AT_ONCE
            return ProduceResult(
                [], NO_ERROR, sent.first_offset, sent.last_offset, due_above, repeated=True
            )
    return _write(leader, leadership, request, first_uid, rules, now_ms, versions)


def _write(
    leader: Replica,
    leadership: Leadership,
    request: ProduceRequest,
    first_uid: int,
    rules: Rules,
    now_ms: int,
    versions: Versions | None,
) -> ProduceResult:
    """Appends the records, if formats allow each and no version is too low or unreadable."""
    base = leader.log.log_end_offset
    sent = enumerate(request.records)
    records = tuple([replace(r, offset=base + i, uid=first_uid + i) for i, r in sent])
    events: list[Event] = []
    if versions is not None and request.version is not None:
        records, events = _as_stored(leader.name, versions, records, request.version)
        if not records:
            return ProduceResult(events, ErrorCode.INVALID_RECORD)
    batch = data_batch(
        records,
        epoch=leadership.epoch,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        base_sequence=request.base_sequence,
        transactional=request.transactional,
    )
    appended = append(leader, batch, rules, now_ms)
    events = events + appended.events if events else appended.events
    if not appended.accepted:
        return ProduceResult(events, ErrorCode.INVALID_RECORD)
    last = batch.last_offset
    due_above = last if request.acks == ACKS_ALL else AT_ONCE
    return ProduceResult(events, NO_ERROR, base, last, due_above, len(records))


def _as_stored(
    leader: str, versions: Versions, records: tuple[Record, ...], version: int
) -> tuple[tuple[Record, ...], list[Event]]:
    """The records of a producer of a version as a leader writes them, and events (KIP-87).

    No records are returned, and all are refused, if one of them is not allowed.
    """
    sent = [produced(record, client=version) for record in records]
    magic = MAGIC_OF_CLIENT[version]
    for record in sent:
        if not is_allowed(record, magic=magic):
            return (), [AppendRefused(leader, record.key, "null_value")]
    written = tuple([stored(r, produced=magic, message_format=versions.stores) for r in sent])
    lost = tuple(values_lost(sent)) if versions.stores < magic else ()
    return written, [Converted(leader, leader, 0, lost)] if lost else []


def write_marker(
    leader: Replica,
    request: WriteTxnMarkersRequest,
    *,
    rules: Rules,
    now_ms: int,
    uid: int,
    versions: Versions | None = None,
) -> ProduceResult:
    """Writes COMMIT or ABORT if the transaction is open here; else it was decided before.

    A marker that brings a newer epoch (`WriteTxnMarkersRequest.fences`) is written even if no
    transaction is open, unless the log knows that epoch already. Kafka writes every marker that is
    not too old, also one that changes nothing (ProducerAppendInfo.appendEndTxnMarker).

    The answer is due when the decision is committed. `uid` is the identity of the marker; for the
    other arguments see `produce`.
    """
    leadership, log = leader.leadership, leader.log
    if leadership is None:
        return ProduceResult([], ErrorCode.NOT_LEADER_OR_FOLLOWER)
    refused = _refused(leader, leadership, request.version, ACKS_ALL, rules, versions)
    if refused is not None:
        return refused
    offset = log.log_end_offset
    producer_id, producers = request.producer_id, log.producers
    fenced = producers.fences(producer_id, request.producer_epoch)
    if fenced or _comes_again(producers, request, rules):
        return _refuse(leader, *_FENCED)
    fences = request.fences and producers.epoch_of(producer_id) != request.producer_epoch
    if not (fences or producers.has_open(producer_id)):
        return ProduceResult([], NO_ERROR, due_above=offset - 1, repeated=True)
    marker = control_batch(
        offset,
        epoch=leadership.epoch,
        control=Control.COMMIT if request.committed else Control.ABORT,
        timestamp_ms=now_ms,
        producer_id=producer_id,
        producer_epoch=request.producer_epoch,
        uid=uid,
    )
    appended = append(leader, marker, rules=rules, now_ms=now_ms)
    return ProduceResult(appended.events, NO_ERROR, offset, offset, offset, 1)


def _comes_again(producers: ProducerStates, request: WriteTxnMarkersRequest, rules: Rules) -> bool:
    """Recognises a repeated marker, which ended the transaction before the open one (KIP-1228)."""
    coordinator = rules.coordinator
    return (
        coordinator.producer_epochs == "per_transaction"
        and coordinator.marker_epoch == "newer"
        and producers.has_open(request.producer_id)
        and producers.epoch_of(request.producer_id) == request.producer_epoch
    )


def _refuse(leader: Replica, reason: str, error: ErrorCode) -> ProduceResult:
    """Refuses a write as a whole, for a reason of `AppendRefused`."""
    return ProduceResult([AppendRefused(leader.name, None, reason)], error)


def _refused(
    leader: Replica,
    leadership: Leadership,
    version: int | None,
    acks: int,
    rules: Rules,
    versions: Versions | None,
) -> ProduceResult | None:
    """The refusal of a request for its version, or for too few replicas in sync; None = neither.

    With too few, clients with `acks=all` get NOT_ENOUGH_REPLICAS before anything is written
    (Partition.appendRecordsToLeader). NOT_ENOUGH_REPLICAS_AFTER_APPEND does not occur: the answer
    is due when the high watermark is past the batch, and it only moves with enough replicas in
    sync (KAFKA-15583). A set that shrinks after the append leaves the client waiting.
    """
    if not speaks(versions, version):
        return _refuse(leader, "client_version", ErrorCode.UNSUPPORTED_VERSION)
    waits_for_all = acks == ACKS_ALL and rules.replication.commit == "isr"
    if waits_for_all and leadership.in_sync < rules.topic.min_isr:
        return _refuse(leader, "not_enough_replicas", ErrorCode.NOT_ENOUGH_REPLICAS)
    return None
