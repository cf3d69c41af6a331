"""A broker's side of producers: what it writes is decided in the core, when it answers is here."""

from __future__ import annotations

from sim.protocol.events import Acknowledged
from sim.protocol.log.named_tuples import make
from sim.protocol.replication.messages import (
    ACKS_ALL,
    NO_ERROR,
    ErrorCode,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
)
from sim.protocol.replication.produce import AT_ONCE, ProduceResult, produce, write_marker
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.leader import LeaderState


def receive_produce(broker: Broker, state: LeaderState | None, request: ProduceRequest) -> None:
    """Take a batch of a producer, or say why not."""
    context = broker.context
    result = produce(
        broker.replica,
        request,
        rules=broker.rules,
        now_ms=broker.now_ms,
        first_uid=context.next_uid,
        versions=broker.versions,
        timestamp_difference_max_ms=context.scenario.topic.timestamp_difference_max_ms,
    )
    told = make(
        Acknowledged,
        (
            broker.name,
            request.producer_id,
            request.base_sequence,
            result.base_offset,
            result.last_offset,
            broker.replica.epoch,
            "all" if request.acks == ACKS_ALL else "1",
        ),
    )
    _finish(broker, state, request, result, told)


def receive_marker(
    broker: Broker, state: LeaderState | None, request: WriteTxnMarkersRequest
) -> None:
    """Take the end of a transaction, or say why not."""
    result = write_marker(
        broker.replica,
        request,
        rules=broker.rules,
        now_ms=broker.now_ms,
        uid=broker.context.next_uid,
        versions=broker.versions,
    )
    _finish(broker, state, request, result, None)


def _finish(
    broker: Broker,
    state: LeaderState | None,
    request: ProduceRequest | WriteTxnMarkersRequest,
    result: ProduceResult,
    told: Acknowledged | None,
) -> None:
    """Let out what happened, and answer now or when enough is committed; that is `told` then."""
    context, client, error = broker.context, request.client_id, result.error
    response = ProduceResponse(error, request.correlation_id)
    context.next_uid += result.uids_used
    if error is not NO_ERROR or state is None:
        context.emit_all(result.events)
        if error is not ErrorCode.UNSUPPORTED_VERSION:  # that closes the connection
            broker.send(client, response)
        return
    if result.repeated and told is not None:
        context.counts.repeats_recognised += 1
    if result.due_above == AT_ONCE:
        state.react(result.events)
        state.tell(client, response, told)
    else:
        state.acknowledge(result.due_above, client, response, told, after=result.events)
    if not result.repeated:
        state.wake()
