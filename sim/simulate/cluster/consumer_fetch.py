"""A broker's side of consumers: their fetches wait where there is nothing to read yet.

A fetch that finds nothing waits until the high watermark has moved past the position, or for
`max_wait_ms` (DelayedFetch). A leader that resigns answers those who want a leader at once.
"""

from __future__ import annotations

from collections.abc import Iterable

from sim.protocol.replication.messages import (
    NO_ERROR,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
)
from sim.protocol.replication.reading import answer_consumer_fetch
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.delayed import Delayed


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
