"""A producer: sends, tries again, and gives up.

An idempotent producer (so every transactional one) has one request in flight: what it decides
meanwhile goes into its next batch. Others send at once, so their records overtake each other, and a
retry is appended again. With `acks: all` the answer comes when the batch is committed, with
`acks: 1` at once. What a broker makes of it all is `sim.protocol.replication.produce`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from msgspec.structs import replace
from simpy import Event
from simpy.events import ProcessGenerator

from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.log import Record
from sim.protocol.log.formats import TOMBSTONE_HEADER
from sim.protocol.replication.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    NO_ERROR,
    ErrorCode,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
)
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.waiting import Patience
from sim.simulate.scenario.model import EndTransaction, Send, SentHeader

MAX_BATCH_RECORDS: Final = 16
"""Most records that wait together for the answer to an earlier batch and go as one."""
BACKOFF_MS, BACKOFF_MAX_MS = 100, 1_000
"""Pause of a producer that was told to try again, doubled each time up to the second (KIP-580:
retry.backoff.ms, retry.backoff.max.ms, without their jitter)."""

RETRIED: Final = (ErrorCode.NOT_ENOUGH_REPLICAS,)
"""Nothing was written, and whoever was asked is the right one: the same is sent after a pause."""

Headers = tuple[tuple[str, bytes], ...]
"""Name and value of each header of a record."""


Decision = tuple[tuple[Send, ...], EndTransaction | None, tuple[Headers, ...]]
"""What a producer decides at one moment: to write records, or to end a transaction. The headers are
those of each record beside its version; empty = no record has any."""


@dataclass(slots=True, eq=False)
class InFlightRequest:
    """A request of a producer until it is answered or given up.

    Attributes:
        request: What it carries; each try has a correlation id of its own.
        transaction: The transaction it belongs to; 0 = none.
        tries: How often it was sent.
        asked: Name of the replica that it was sent to last.
        deadline_ms: When it is sent again without an answer.
        answer: The event it waits for: its value is the response, or None when that comes too late.
    """

    request: ProduceRequest | WriteTxnMarkersRequest
    transaction: int
    tries: int = 0
    asked: str | None = None
    deadline_ms: int = 0
    answer: Event = field(init=False)


class Producer:
    """A producer, idempotent or not, with its requests on their way.

    Attributes:
        number: Its number in the scenario.
        producer_id: Its producer id; that of the instance before it, if there is one.
        instance: How many instances were before it.
        epoch: Its producer epoch: the same, and under `producer_epochs: per_transaction` what the
            coordinator said when its last transaction ended.
        name: Its address.
        idempotent: Whether leaders recognise its retries.
        patient: Whether it tries again for ever.
        versions: Whether what it decides from now on has version headers.
        client: Its produce version (KIP-87), where brokers have versions.
    """

    def __init__(
        self, context: Context, number: int, *, idempotent: bool, patient: bool = False
    ) -> None:
        """Starts without requests and without a leader."""
        workload = context.scenario.workload
        self._context = context
        self.number = number
        self.producer_id, self.instance = context.scenario.applications.identity_of(number)
        self.epoch = self.instance
        self._epoch_per_transaction = context.rules.coordinator.producer_epochs == "per_transaction"
        self.name = f"producer {number}"
        self.idempotent = idempotent
        self.patient = patient
        self.versions = True
        self.client = 2
        self._queue: deque[Decision] = deque()
        self._flights: list[InFlightRequest] = []
        self._leader: str | None = None
        self._acks = ACKS_ALL if workload.acks == "all" else ACKS_LEADER
        self._retry_ms = workload.retry_ms
        self._retries = workload.retries
        self._sequence = 0
        self._correlation_id = 0
        self._failed = 0
        self._transaction = self._ended = 0
        self._decided: Event | None = None
        self._patience = Patience(context.env)
        context.network.add_client(self.name, self.receive)
        if idempotent:
            context.env.process(self._live())

    @property
    def idle(self) -> bool:
        """Whether nothing waits and nothing is on its way."""
        return self._decided is not None if self.idempotent else not self._flights

    def decide(
        self,
        sends: tuple[Send, ...],
        end: EndTransaction | None = None,
        headers: tuple[Headers, ...] = (),
    ) -> None:
        """Sends this, after what was decided before."""
        if self.instance > self._newest_instance:
            # The instance before is fenced: what it left open the coordinator aborts.
            self._context.instances[self.producer_id] = self.instance
            self._hand_over(((), self._abort(), ()))
        elif self._is_refused(sends):
            return
        if not self.versions and sends:
            sends = tuple([send._replace(version=None) for send in sends])
        self._hand_over((sends, end, headers))

    def _hand_over(self, decision: Decision) -> None:
        """Sends a decision at once, unless something is to be sent before it."""
        decided, self._decided = self._decided, None
        if not self.idempotent:
            self._context.env.process(self._deliver(self._sent(decision)))
        elif decided is None:
            self._queue.append(decision)
        else:
            decided.succeed(decision)

    def decide_one(self, send: Send, headers: tuple[SentHeader, ...]) -> None:
        """Sends one record, perhaps with these headers in the place of its version header."""
        if not headers or not self.versions:
            self.decide((send,))
            return
        rules = self._context.rules
        encode, own = ENCODERS[rules.cleaner.header_form], rules.topic.strategy_header
        given: Headers = tuple(
            [
                (
                    own.upper() if capitals else own if name is None else name,
                    raw if version is None else encode(version),
                )
                for version, raw, name, capitals in headers
            ]
        )
        self.decide((send._replace(version=None),), None, (given,))

    def _abort(self) -> EndTransaction:
        return EndTransaction(self._context.now_ms, self.number, 0, commit=False)

    @property
    def _newest_instance(self) -> int:
        return self._context.instances.get(self.producer_id, 0)

    def _is_refused(self, sends: tuple[Send, ...]) -> bool:
        """Whether the coordinator refuses what a fenced instance sends; without sends, an end.

        In a transaction that the coordinator knows it asks the leader, and nobody else; to begin
        one, or to end one, it asks the coordinator (AddPartitionsToTxn, EndTxn).
        """
        under_way = bool(sends) and 0 < sends[0].transaction == self._transaction
        return self.instance < self._newest_instance and not under_way

    def _live(self) -> ProcessGenerator:
        """The process of an idempotent producer: one request after the other."""
        while True:
            if self._queue:
                decision = self._next_batch()
            else:
                self._decided = self._context.env.event()
                decision = yield self._decided
            if not self._is_refused(decision[0]):
                yield from self._deliver(self._sent(decision))

    def _sent(self, decision: Decision) -> InFlightRequest:
        """The request that comes of a decision, on its way for the first time."""
        flight = self._request_of(*decision)
        self._flights.append(flight)
        self._transmit(flight)
        return flight

    def _deliver(self, flight: InFlightRequest) -> ProcessGenerator:
        """The process of one request, from its first try until it is answered or given up."""
        env = self._context.env
        while True:
            response = yield flight.answer
            if response is not None and self._has_to_wait(flight, response):
                response = yield env.timeout(flight.deadline_ms - self._context.now_ms)
            if response is None:
                self._leader = None
            elif response.error is NO_ERROR:
                self._flights.remove(flight)
                return
            elif response.error in RETRIED:
                # The leader is still the leader, so nobody is asked who leads
                # (NotEnoughReplicasException is no InvalidMetadataException).
                doublings = min(flight.tries - 1, BACKOFF_MAX_MS.bit_length())
                yield env.timeout(min(BACKOFF_MAX_MS, BACKOFF_MS << doublings))
            elif response.error is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
                break
            if self._has_tried_enough(flight):
                break
            self._transmit(flight)
        self._flights.remove(flight)
        self._failed = flight.transaction

    def _has_tried_enough(self, flight: InFlightRequest) -> bool:
        """Whether a request is given up; that for a marker never is (KIP-98)."""
        marker = type(flight.request) is WriteTxnMarkersRequest
        return flight.tries > self._retries and not marker and not self.patient

    def _next_batch(self) -> Decision:
        """The next decision, with those that fit into the same batch."""
        queue = self._queue
        first = queue.popleft()
        sends, end, headers = first
        if end is not None or headers or not queue:
            return first
        transaction = sends[0].transaction
        while queue:
            more, end, headers = queue[0]
            if end is not None or headers or more[0].transaction != transaction:
                break
            if len(sends) + len(more) > MAX_BATCH_RECORDS:
                break
            sends += more
            queue.popleft()
        return sends, None, ()

    def _request_of(
        self,
        sends: tuple[Send, ...],
        end: EndTransaction | None,
        headers: tuple[Headers, ...],
    ) -> InFlightRequest:
        self._correlation_id = number = self._correlation_id + 1
        if end is not None:
            self._take_next_epoch()
            self._ended = self._transaction
            committed = end.commit and self._failed != end.transaction
            begins = self.instance > 0 and number == 1
            fences = begins and self.producer_id in self._context.under_way
            self._context.under_way.discard(self.producer_id)
            marker = WriteTxnMarkersRequest(
                self.name, self.producer_id, self.epoch, committed, self.client, number, fences
            )
            return InFlightRequest(marker, end.transaction)
        self._transaction = transaction = sends[0].transaction
        if transaction and self.instance == self._newest_instance:
            self._context.under_way.add(self.producer_id)
        request = ProduceRequest(
            client_id=self.name,
            records=self._records_of(sends, headers),
            acks=self._acks,
            producer_id=self.producer_id if self.idempotent else -1,
            producer_epoch=self.epoch if self.idempotent else -1,
            base_sequence=self._sequence if self.idempotent else -1,
            transactional=transaction > 0,
            version=self.client,
            correlation_id=number,
        )
        self._sequence += len(sends)
        return InFlightRequest(request, transaction)

    def _take_next_epoch(self) -> None:
        """Takes the epoch that the end of a transaction brings (KIP-890): sequences begin at 0.

        The coordinator answers the newest instance alone. That an epoch has 16 bits, after which
        there is a new producer id, is left out.
        """
        epochs, producer_id = self._context.producer_epochs, self.producer_id
        if self._epoch_per_transaction and self.instance == self._newest_instance:
            self.epoch = epochs[producer_id] = epochs.get(producer_id, 0) + 1
            self._sequence = 0

    def _records_of(self, sends: tuple[Send, ...], more: tuple[Headers, ...]) -> tuple[Record, ...]:
        """The records as they are sent; the leader gives them their offsets."""
        rules = self._context.rules
        mark, own = rules.cleaner.tombstone_mark, rules.topic.strategy_header
        marked, in_header = mark != "null_value", mark == "header"
        encode = ENCODERS[rules.cleaner.header_form]
        records = []
        for index, (_, _, key, value, timestamp_ms, version, _, own_flag) in enumerate(sends):
            headers: Headers = () if version is None else ((own, encode(version)),)
            if more:
                headers += more[index]
            flag = marked and value is None if own_flag is None else own_flag
            if in_header:
                headers += (TOMBSTONE_HEADER,) if flag else ()
                flag = False
            records.append(
                Record(
                    offset=index,
                    key=key,
                    value=value,
                    timestamp_ms=timestamp_ms,
                    headers=headers,
                    flagged=flag,
                    uid=0,
                )
            )
        return tuple(records)

    def _transmit(self, flight: InFlightRequest) -> None:
        context = self._context
        flight.tries += 1
        flight.deadline_ms = context.now_ms + self._retry_ms
        flight.answer = self._patience.answer_within(self._retry_ms)
        if self._leader is None and context.leader is not None:
            self._leader = context.leader[1]
        flight.asked = self._leader
        if flight.tries > 1:
            self._correlation_id += 1
            # In the version that the client has by now (KIP-87): else it would be refused for ever.
            flight.request = replace(
                flight.request, correlation_id=self._correlation_id, version=self.client
            )
        if self._leader is not None:
            context.network.send(self.name, self._leader, flight.request)

    def receive(self, response: ProduceResponse) -> None:
        """Takes the answer to a request; one to an earlier try is ignored."""
        for flight in self._flights:
            if flight.request.correlation_id == response.correlation_id:
                if not flight.answer.triggered:  # else it came before, and this is again
                    flight.answer.succeed(response)
                return

    def _has_to_wait(self, flight: InFlightRequest, response: ProduceResponse) -> bool:
        """Whether the replica that was asked does not lead, and no other one is known to."""
        if response.error is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return False
        leader = self._context.leader
        if leader is None or leader[1] == flight.asked:
            return True
        self._leader = leader[1]
        return False

    def stop(self) -> None:
        """Gives up what was not sent yet; what is on its way is still answered or given up."""
        self._queue.clear()

    def abort_open_transaction(self) -> None:
        """Aborts a transaction that takes too long, for the coordinator (transaction.timeout.ms).

        Of a transaction that has ended, it writes no second marker. With `per_instance` it asks the
        leader all the same, who writes none unless the transaction is open there.
        """
        ended = self._transaction == self._ended and not self._queue
        if not (ended and self._epoch_per_transaction):
            self.decide((), self._abort())
