"""The workload's timetable, and the broker's side of producers and consumers.

The core decides what is written and read; this module decides when a broker answers. A fetch of a
consumer that finds nothing waits until the high watermark has moved past the position, or for
`max_wait_ms` (DelayedFetch). A leader that resigns answers at once the consumers that read from
leaders only.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path

from simpy import Process
from simpy.events import ProcessGenerator

from sim.files.changes import read_changes
from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.events import Acknowledged
from sim.protocol.replication import messages as of
from sim.protocol.replication.produce import produce, write_marker
from sim.protocol.replication.reading import answer_consumer_fetch
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.leader import Delayed, LeaderState
from sim.simulate.cluster.producer import Decision, Headers, Producer
from sim.simulate.scenario.model import Change, EndTransaction, Send, SentHeader, TraceSource


class Timetable:
    """All producers of a scenario, and the times at which they decide to send."""

    def __init__(self, context: Context) -> None:
        """Starts with all producers idle; see `start`."""
        self._context = context
        workload = context.scenario.workload
        transactional = {send.producer for send in workload.sends if send.transaction}
        transactional |= {end.producer for end in workload.ends}
        numbers = {send.producer for send in workload.sends} | transactional
        self._producers = {
            number: Producer(context, number, transactional=number in transactional)
            for number in sorted(numbers)
        }
        # Of the decisions of one moment, the ends of transactions come last.
        steps: list[Send | EndTransaction] = [*workload.sends, *workload.ends]
        self._steps = sorted(steps, key=attrgetter("at_ms"))
        self._deciding: Process | None = None
        self._reading: Process | None = None

    def _headers(self, given: tuple[SentHeader, ...]) -> Headers:
        """The headers that replace the version header of a record."""
        rules = self._context.rules
        encode, own = ENCODERS[rules.cleaner.header_form], rules.topic.strategy_header
        headers = []
        for version, raw, name, capitals in given:
            sent_as = own.upper() if capitals else own if name is None else name
            headers.append((sent_as, raw if version is None else encode(version)))
        return tuple(headers)

    def roll_out(self, change: Change) -> list[str]:
        """Changes how a producer (0 = all) sends from now on; returns the names of the changed."""
        reached = [one for number, one in self._producers.items() if change.producer in (0, number)]
        for producer in reached:
            if change.versions is not None:
                producer.versions = change.versions
            producer.client = change.format or producer.client
        return [producer.name for producer in reached]

    def start(self) -> None:
        """Starts the processes that make the decisions of the workload."""
        env, source = self._context.env, self._context.scenario.workload.trace
        self._deciding = env.process(self._decide())
        if source is not None:
            number = max(self._producers, default=0) + 1
            producer = Producer(self._context, number, patient=True)
            self._producers[number] = producer
            self._reading = env.process(self._read_file(source, producer))

    def _decide(self) -> ProcessGenerator:
        """The process that makes each decision of the workload at its time."""
        context = self._context
        for at_ms, steps in groupby(self._steps, key=attrgetter("at_ms")):
            yield context.env.timeout(max(0, at_ms - context.now_ms))
            for step in steps:
                producer = self._producers[step.producer]
                if isinstance(step, EndTransaction):
                    producer.decide(Decision(step.transaction, commit=step.commit))
                elif step.headers and producer.versions:
                    headers = self._headers(step.headers)
                    producer.write((step._replace(version=None),), (headers,))
                else:
                    producer.write((step,))

    def _read_file(self, source: TraceSource, producer: Producer) -> ProcessGenerator:
        """The process that sends the next batch of a file when the one before is answered."""
        changes = islice(read_changes(Path(source.path)), source.limit)
        while True:
            yield self._context.env.timeout(max(1, source.interval_ms))
            if producer.idle:
                batch = tuple(islice(changes, max(1, source.batch_records)))
                if not batch:
                    return
                sends = [
                    Send(0, 0, one.key, one.value, one.timestamp_ms, one.version) for one in batch
                ]
                headers = [one.headers for one in batch]
                producer.write(sends, headers if any(headers) else ())

    @property
    def reads_file(self) -> bool:
        """True while a file of changes has not been read to its end."""
        return self._reading is not None and self._reading.is_alive

    @property
    def finished(self) -> bool:
        """True when everything has been sent, and answered or given up."""
        if self.reads_file or (self._deciding is not None and self._deciding.is_alive):
            return False
        return all(producer.idle for producer in self._producers.values())

    def stop(self) -> None:
        """Stops all producers, and aborts their open transactions as the coordinator does."""
        for producer in self._producers.values():
            producer.stop()


def write(
    broker: Broker,
    state: LeaderState | None,
    request: of.ProduceRequest | of.WriteTxnMarkersRequest,
) -> None:
    """Writes a batch or the end of a transaction, and answers now, or when enough is committed.

    `state` is that of the broker's leadership; None: it does not lead, and answers so.
    """
    context, client = broker.context, request.client_id
    acknowledged = None
    if isinstance(request, of.WriteTxnMarkersRequest):
        result = write_marker(
            broker.replica,
            request,
            rules=broker.rules,
            now_ms=broker.now_ms,
            uid=context.next_uid,
            versions=broker.versions,
        )
    else:
        result = produce(
            broker.replica,
            request,
            rules=broker.rules,
            now_ms=broker.now_ms,
            first_uid=context.next_uid,
            versions=broker.versions,
            timestamp_difference_max_ms=context.scenario.topic.timestamp_difference_max_ms,
            under_way=context.under_way.get(request.producer_id) == request.producer_epoch,
        )
        acknowledged = Acknowledged(
            replica=broker.name,
            producer_id=request.producer_id,
            base_sequence=request.base_sequence,
            first_offset=result.base_offset,
            last_offset=result.last_offset,
            epoch=broker.replica.epoch,
            acks="all" if request.acks == of.ACKS_ALL else "1",
        )
    response = of.ProduceResponse(result.error, request.correlation_id)
    context.next_uid += result.uids_used
    if result.error is not of.NO_ERROR or state is None:
        context.emit_all(result.events)
        if result.error is not of.ErrorCode.UNSUPPORTED_VERSION:  # that closes the connection
            broker.send(client, response)
        return
    state.acknowledge(result, client, response, acknowledged)
    if not result.repeated:
        state.wake()


class ConsumerFetches(Delayed[of.ConsumerFetchRequest]):
    """The fetches of consumers at one replica, some of which wait."""

    def __init__(self, broker: Broker) -> None:
        """Starts without fetches that wait."""
        super().__init__(broker.env, self._answer_all)
        self._broker = broker

    def receive(self, request: of.ConsumerFetchRequest) -> None:
        """Answers a fetch at once, or lets it wait until there is something to read."""
        client = request.client_id
        waiting = self.waiting.pop(client, None)
        if waiting is not None and waiting.correlation_id > request.correlation_id:
            self.waiting[client] = waiting  # the new arrival is an older request
            return
        response = self.answer(request)
        if request.max_wait_ms and _finds_nothing(request, response):
            self.hold(client, request, request.max_wait_ms)
        else:
            self._broker.send(client, response)

    def answer(self, request: of.ConsumerFetchRequest) -> of.ConsumerFetchResponse:
        """The answer to a fetch with the batches that can be read now."""
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

    def _answer_all(self, requests: Iterable[of.ConsumerFetchRequest]) -> None:
        for request in requests:
            self._broker.send(request.client_id, self.answer(request))

    def wake(self) -> None:
        """Answers the fetches that find something after a change of high watermark or leader.

        A fetch that still finds nothing (only an undecided transaction, say) goes on waiting.
        """
        for client, request in list(self.waiting.items()):
            response = self.answer(request)
            if not _finds_nothing(request, response):
                del self.waiting[client]
                self._broker.send(client, response)


def _finds_nothing(request: of.ConsumerFetchRequest, response: of.ConsumerFetchResponse) -> bool:
    """True when an answer has neither records nor another position."""
    return (
        not response.batches and response.error is of.NO_ERROR and response.start == request.offset
    )
