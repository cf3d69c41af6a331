"""A broker's side of consumers: their fetches wait where there is nothing to read yet.

A fetch that finds nothing waits until the high watermark has moved past the position, or for
`max_wait_ms` (DelayedFetch). A leader that resigns answers those who want a leader at once.
"""

from __future__ import annotations

from typing import NamedTuple

from sim.cluster.broker import Broker
from sim.replication.messages import (
    NO_ERROR,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
)
from sim.replication.reading import answer_consumer_fetch


class WaitingRead(NamedTuple):
    """A consumer's fetch that waits, and when it is answered at the latest (ms)."""

    request: ConsumerFetchRequest
    deadline_ms: int


class ConsumerFetches:
    """The fetches of consumers at one replica.

    Attributes:
        waiting: Name of a consumer -> its fetch that waits.
    """

    def __init__(self, broker: Broker) -> None:
        """Nobody asks."""
        self._broker = broker
        self._timed = False
        self.waiting: dict[str, WaitingRead] = {}

    def receive(self, request: ConsumerFetchRequest) -> None:
        """Answer a fetch, now or later."""
        client = request.client_id
        waiting = self.waiting.pop(client, None)
        if waiting is not None and waiting.request.correlation_id > request.correlation_id:
            self.waiting[client] = waiting  # an older request that took longer
            return
        response = self.answer(request)
        if request.max_wait_ms and _finds_nothing(request, response):
            self._wait(request)
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

    def _wait(self, request: ConsumerFetchRequest) -> None:
        context = self._broker.context
        deadline_ms = context.now_ms + request.max_wait_ms
        self.waiting[request.client_id] = WaitingRead(request, deadline_ms)
        if not self._timed:
            self._timed = True
            context.after(request.max_wait_ms, self._end_waits)

    def wake(self) -> None:
        """The high watermark has moved, or the leadership is over: answer who has to wait no more.

        A read that finds nothing even so (only an undecided transaction, say) goes on waiting.
        """
        for client, fetch in list(self.waiting.items()):
            response = self.answer(fetch.request)
            if not _finds_nothing(fetch.request, response):
                del self.waiting[client]
                self._broker.send(client, response)

    def close(self) -> None:
        """A crash: nobody gets an answer any more."""
        self.waiting.clear()

    def _end_waits(self) -> None:
        """Answer those who have waited long enough; come back for the others."""
        self._timed = False
        context = self._broker.context
        now_ms = context.now_ms
        for client, fetch in list(self.waiting.items()):
            if fetch.deadline_ms <= now_ms:
                del self.waiting[client]
                self._broker.send(client, self.answer(fetch.request))
        if self.waiting:
            self._timed = True
            first_ms = min([fetch.deadline_ms for fetch in self.waiting.values()])
            context.after(max(1, first_ms - now_ms), self._end_waits)


def _finds_nothing(request: ConsumerFetchRequest, response: ConsumerFetchResponse) -> bool:
    """Whether there is nothing to say; that the position is not in the log would be something."""
    return not response.batches and response.error is NO_ERROR and response.start == request.offset
