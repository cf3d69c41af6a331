"""An application that checks before it sends: KIP-280's alternative to versions in the cleaner.

It reads the topic up to the high watermark, sends what is newer than what it has found, and leaves
out the rest. So every send waits for a read, and what is committed after that read goes unnoticed.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from simpy import Event
from simpy.events import ProcessGenerator

from sim.cluster.context import Context
from sim.cluster.producer import Producer
from sim.cluster.waiting import Answer, Lives, Waiting
from sim.compaction.strategies import ENCODERS, Version, strategy_for
from sim.log import Record
from sim.replication.messages import ConsumerFetchResponse, ErrorCode
from sim.replication.reading import Position, consumer_request, receive_consumer_fetch
from sim.scenario.model import EndTransaction, Send

OLDEST_VERSION: Final = 2
"""In which version it fetches where brokers have versions (KIP-87): all of them know it."""


class CheckingApplication:
    """One application: what it wants to send, its producer, and its table of the topic.

    Attributes:
        name: Its address as a reader.
    """

    def __init__(self, context: Context, producer: Producer) -> None:
        """An application that has read nothing."""
        rules, scenario = context.rules, context.scenario
        timers = scenario.timers
        self.name = f"{producer.name} checks"
        self._context = context
        self._producer = producer
        self._strategy = strategy_for(
            "header",
            header=rules.topic.strategy_header,
            header_form=rules.cleaner.header_form,
        )
        self._table: dict[str, Version] = {}
        self._place = Position()
        self._queue: deque[tuple[int, Send | EndTransaction]] = deque()
        self._decided: Answer | None = None
        self._lives = Lives(context.env)
        self._waiting = Waiting(context.env)
        self._number = 0
        self._leader: str | None = None
        self._timeout_ms = timers.fetch_retry_ms + 2 * context.network.slowest_ms
        versioned = any(replica.versions is not None for replica in scenario.replicas)
        self._version = OLDEST_VERSION if versioned else None
        context.network.add_client(self.name, self.receive)
        self._lives.start(self._check())

    @property
    def idle(self) -> bool:
        """Nothing waits for a check."""
        return not self._queue

    def decide(self, step: Send | EndTransaction) -> None:
        """Send this, or end this transaction, after a check that begins now or later."""
        self._queue.append((self._context.now_ms, step))
        decided, self._decided = self._decided, None
        if decided is not None:
            decided.come(None)

    def stop(self) -> None:
        """Give up what was not checked yet."""
        self._context.counts.sends_given_up += len(self._queue)
        self._queue.clear()
        self._number += 1
        self._decided = None
        self._lives.interrupt()
        self._lives.start(self._check())

    def _check(self) -> ProcessGenerator:
        """Read to the end for everything that waits by then, and send what is newer."""
        context = self._context
        while True:
            if not self._queue:
                self._decided = Answer(context.env)
                yield self._decided
            began_ms = context.now_ms
            yield from self._read_to_the_end()
            while self._queue and self._queue[0][0] <= began_ms:
                decided_ms, step = self._queue.popleft()
                waited_ms = context.now_ms - decided_ms
                context.counts.check_wait_ms = max(context.counts.check_wait_ms, waited_ms)
                self._send(step)

    def _read_to_the_end(self) -> ProcessGenerator:
        """Fetch what follows, again and again; somebody else is asked after a failure."""
        while True:
            response = yield self._ask()
            if response is None:
                self._leader = None
            elif response.error is not ErrorCode.NONE:
                self._leader = None
                yield self._context.env.timeout(self._timeout_ms)
            else:
                fetched = receive_consumer_fetch(self._place, response, committed=False)
                for batch in fetched.batches:
                    for record in batch.records:
                        self._note(record)
                if fetched.end == fetched.start or self._place.offset >= response.readable_end:
                    return

    def _ask(self) -> Event:
        """Fetch what follows from whoever leads."""
        context = self._context
        self._number += 1
        if self._leader is None and context.leader is not None:
            self._leader = context.leader[1]
        if self._leader is not None:
            context.counts.checks += 1
            request = consumer_request(
                self._place,
                self.name,
                read_committed=False,
                rules=context.rules,
                version=self._version,
                correlation_id=self._number,
            )
            context.network.send(self.name, self._leader, request)
        return self._waiting.begin(self._timeout_ms)

    def receive(self, response: ConsumerFetchResponse) -> None:
        """A fetch was answered; an answer to an earlier one comes too late and is ignored."""
        if response.correlation_id == self._number:
            self._waiting.end(response)

    def _note(self, record: Record) -> None:
        """Keep the highest version of a key."""
        if record.key is not None:
            version = self._strategy.version(record)
            self._table[record.key] = max(self._table.get(record.key, version), version)

    def _send(self, step: Send | EndTransaction) -> None:
        """Hand it to the producer, unless a version that is as high was found; offsets aside."""
        if isinstance(step, EndTransaction):
            self._producer.decide((), step)
            return
        known = self._table.get(step.key)
        if known is not None and step.version is not None:
            rules = self._context.rules
            value = ENCODERS[rules.cleaner.header_form](step.version)
            headers = ((rules.topic.strategy_header, value),)
            wanted = self._strategy.version(
                Record(0, step.key, step.value, step.timestamp_ms, headers)
            )
            if known[:-1] >= wanted[:-1]:
                self._context.counts.sends_withheld += 1
                return
        self._producer.decide((step,))
