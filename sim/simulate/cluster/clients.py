"""A broker's side of producers and consumers: what it writes, and when it answers.

What is written and read is decided in the core. A fetch of a consumer that finds nothing waits
until the high watermark has moved past the position, or for `max_wait_ms` (DelayedFetch). A leader
that resigns answers at once those who want a leader.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.protocol.events import Acknowledged
from sim.protocol.log.named_tuples import make
from sim.protocol.replication.messages import (
    ACKS_ALL,
    NO_ERROR,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ErrorCode,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
)
from sim.protocol.replication.produce import AT_ONCE, ProduceResult, produce, write_marker
from sim.protocol.replication.reading import answer_consumer_fetch
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.delayed import Delayed
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


class ConsumerFetches:
    """The fetches of consumers at one replica.

    Attributes:
        waiting: Name of a consumer -> its fetch that waits.
    """

    def __init__(self, broker: Broker) -> None:
        """Nobody asks."""
        self._broker = broker
        self._delayed = Delayed[ConsumerFetchRequest](broker.env, self._answer_all)
        self.waiting = self._delayed.waiting

    def receive(self, request: ConsumerFetchRequest) -> None:
        """Answer a fetch, now or later."""
        client = request.client_id
        waiting = self.waiting.pop(client, None)
        if waiting is not None and waiting.correlation_id > request.correlation_id:
            self.waiting[client] = waiting  # an older request that took longer
            return
        response = self.answer(request)
        if request.max_wait_ms and _finds_nothing(request, response):
            self._delayed.hold(client, request, request.max_wait_ms)
        else:
            self._broker.send(client, response)

    def answer(self, request: ConsumerFetchRequest) -> ConsumerFetchResponse:
        """What there is to read, now."""
        broker = self._broker
        answered = answer_consumer_fetch(
            broker.replica,
            request,
            rules=broker.rules,
            versions=broker.versions,
            now_ms=broker.context.now_ms,
        )
        if answered.events:
            broker.context.emit_all(answered.events)
        return answered.response

    def _answer_all(self, requests: Iterable[ConsumerFetchRequest]) -> None:
        for request in requests:
            self._broker.send(request.client_id, self.answer(request))

    def wake(self) -> None:
        """The high watermark has moved, or the leadership is over: answer who has to wait no more.

        A read that finds nothing even so (only an undecided transaction, say) goes on waiting.
        """
        for client, request in list(self.waiting.items()):
            response = self.answer(request)
            if not _finds_nothing(request, response):
                del self.waiting[client]
                self._broker.send(client, response)

    def close(self) -> None:
        """A crash: nobody gets an answer any more."""
        self.waiting.clear()


def _finds_nothing(request: ConsumerFetchRequest, response: ConsumerFetchResponse) -> bool:
    """Whether there is nothing to say; that the position is not in the log would be something."""
    return not response.batches and response.error is NO_ERROR and response.start == request.offset
