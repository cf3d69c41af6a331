"""Producers, which send batches, retry, and give up.

An idempotent producer (so every transactional one) has one request in flight: records sent
meanwhile go into its next batch. Others send at once, so their records may overtake each other, and
a retry may be appended again. With `acks: all` the answer comes when the batch is committed, with
`acks: 1` at once. What a broker does with a batch is decided in `sim.protocol.replication.produce`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from math import inf
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from simpy import Event

from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.log import Record
from sim.protocol.log.formats import TOMBSTONE_HEADER
from sim.protocol.replication import messages as of
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.waiting import Patience
from sim.simulate.scenario.model import Send

MAX_BATCH_RECORDS: Final = 16
"""Largest number of records in a batch into which decisions that waited are joined."""
BACKOFF_MS, BACKOFF_MAX_MS = 100, 1_000
"""Pause in ms before a retry after a retriable error: the first number, doubled each time up to the
second (KIP-580: retry.backoff.ms, retry.backoff.max.ms, without their jitter)."""

RETRIED: Final = (of.ErrorCode.NOT_ENOUGH_REPLICAS,)
"""Errors after which the same leader is asked again after a pause, since nothing was written."""

Headers = tuple[tuple[str, bytes], ...]
"""Name and value of each header of a record."""


class Decision(Struct, frozen=True, gc=False):
    """A decision of a producer: to write records, or to end a transaction.

    Attributes:
        transaction: Number of the transaction; 0 outside of transactions.
        records: The records, to which the leader gives offsets; empty: the transaction ends.
        commit: Whether the transaction ends by a commit.
        alone: Whether the records go in a batch of their own, since some have other headers than
            a version header.
    """

    transaction: int
    records: tuple[Record, ...] = ()
    commit: bool = False
    alone: bool = False

    def may_join(self, earlier: Decision) -> bool:
        """True when its records may go into the batch of an earlier decision."""
        return (
            bool(self.records)
            and not self.alone
            and self.transaction == earlier.transaction
            and len(earlier.records) + len(self.records) <= MAX_BATCH_RECORDS
        )


@dataclass(slots=True, eq=False)
class InFlightRequest:
    """A request of a producer until it is answered or given up.

    Attributes:
        request: The request; each try has a correlation id of its own.
        transaction: Number of the transaction it belongs to; 0 outside of transactions.
        tries: Number of times that it was sent.
        asked: Name of the replica that it was sent to last; None where no leader was known.
        deadline_ms: Time in ms at which it is sent again, or given up, without an answer.
        answer: Event that it waits for, whose value is the response; None: no answer in time.
    """

    request: of.ProduceRequest | of.WriteTxnMarkersRequest
    transaction: int
    tries: int = 0
    asked: str | None = None
    deadline_ms: int = 0
    answer: Event = field(init=False)


class Producer:
    """A producer with its requests in flight.

    Attributes:
        producer_id: Its producer id, shared by all instances of one transactional producer.
        instance: Number of instances before it.
        epoch: Its producer epoch: first 0; a new instance has one above that of the marker which
            fences the one before; under `producer_epochs: per_transaction` also a higher one after
            each transaction.
        name: Its address.
        idempotent: Whether leaders recognise its retries.
        versions: Whether records that it sends from now on have version headers.
        client: Its produce version (KIP-87), where brokers have versions.
    """

    def __init__(
        self, context: Context, number: int, *, transactional: bool = False, patient: bool = False
    ) -> None:
        """Starts without requests, and without knowing a leader.

        A `patient` producer is idempotent, and retries without end.
        """
        workload = context.scenario.workload
        self._context = context
        self.producer_id, self.instance = workload.identity_of(number)
        self.epoch = 0
        self._transactional = transactional
        self._epoch_per_transaction = context.rules.coordinator.producer_epochs == "per_transaction"
        self.name = f"producer {number}"
        self.idempotent = workload.idempotent or transactional or patient
        self.versions = True
        self.client = 2
        self._queue: deque[Decision] = deque()
        self._flights: list[InFlightRequest] = []
        self._leader: str | None = None
        self._retry_ms = workload.retry_ms
        self._retries = inf if patient else workload.retries
        self._sequence = 0
        self._correlation_id = 0
        self._failed = 0
        self._transaction = self._ended = 0
        self._busy = False
        self._patience = Patience(context.env)
        context.network.add_client(self.name, self.receive)

    @property
    def idle(self) -> bool:
        """True when nothing waits to be sent, and no request is in flight."""
        return not (self._busy or self._flights)

    def write(self, sends: Sequence[Send], headers: Sequence[Headers] = ()) -> None:
        """Sends records of one transaction, or of none, after all earlier decisions.

        Args:
            sends: The records; at least one.
            headers: Headers of each record besides its version header; empty: none has any.
        """
        records = tuple(map(self._record, sends, headers or repeat(())))
        self.decide(Decision(sends[0].transaction, records, alone=bool(headers)))

    def decide(self, decision: Decision) -> None:
        """Sends a decision after all earlier ones, unless the coordinator refuses it."""
        if self.instance > self._context.instances[self.producer_id]:
            # The earlier instance is fenced; the coordinator aborts its open transaction.
            self._context.instances[self.producer_id] = self.instance
            self._hand_over(Decision(0))
        elif self._is_refused(decision):
            return
        self._hand_over(decision)

    def _hand_over(self, decision: Decision) -> None:
        """Sends a decision: an idempotent producer after all earlier ones, any other at once.

        An idempotent producer without earlier ones sends it after all else that was due in this
        millisecond.
        """
        if not self.idempotent:
            self._send(decision)
        elif self._busy:
            self._queue.append(decision)
        else:
            self._busy = True
            due = self._context.env.timeout(0, decision)
            due.callbacks.append(lambda due: self._go_on(due.value))

    def _is_refused(self, decision: Decision) -> bool:
        """True when the coordinator refuses what a fenced instance decides.

        A send within a transaction that the coordinator knows goes to the leader alone. To begin a
        transaction, or to end one (without sends), the producer asks the coordinator, which refuses
        (AddPartitionsToTxn, EndTxn).
        """
        if self.instance >= self._context.instances[self.producer_id]:
            return False
        under_way = bool(decision.records) and 0 < decision.transaction == self._transaction
        return not under_way

    def _go_on(self, decision: Decision | None) -> None:
        """Sends a decision, or else the next one that waits and is not refused, if any."""
        while decision is not None or self._queue:
            decision = decision or self._next_batch()
            if not self._is_refused(decision):
                self._send(decision)
                return
            decision = None
        self._busy = False

    def _send(self, decision: Decision) -> None:
        """Makes the request of a decision, and sends it for the first time."""
        flight = self._request_of(decision)
        self._flights.append(flight)
        self._transmit(flight)

    def _answered(self, flight: InFlightRequest, answer: Event) -> None:
        """Ends a request by the response in `answer`, or sends it again; None: no response came."""
        env, response = self._context.env, answer.value
        if response is None:
            self._leader = None
            self._try_again(flight)
        elif response.error is of.ErrorCode.NOT_LEADER_OR_FOLLOWER:
            leader = self._context.leader
            if leader is None or leader[1] == flight.asked:  # no other one is known
                wait = env.timeout(flight.deadline_ms - self._context.now_ms)
                wait.callbacks.append(partial(self._answered, flight))
            else:
                self._leader = leader[1]
                self._try_again(flight)
        elif response.error in RETRIED:
            # The leader is still the leader, so the producer asks for no metadata
            # (NotEnoughReplicasException is no InvalidMetadataException).
            doublings = min(flight.tries - 1, BACKOFF_MAX_MS.bit_length())
            wait = env.timeout(min(BACKOFF_MAX_MS, BACKOFF_MS << doublings))
            wait.callbacks.append(lambda _: self._try_again(flight))
        else:
            self._end(flight, failed=response.error is not of.NO_ERROR)

    def _try_again(self, flight: InFlightRequest) -> None:
        """Sends a request again, or gives it up after the last retry; a marker's is never given up.

        Source: KIP-98.
        """
        marker = type(flight.request) is of.WriteTxnMarkersRequest
        if flight.tries > self._retries and not marker:
            self._end(flight, failed=True)
        else:
            self._transmit(flight)

    def _end(self, flight: InFlightRequest, *, failed: bool) -> None:
        """Ends a request that was answered or given up; an idempotent producer goes on."""
        self._flights.remove(flight)
        if failed:
            self._failed = flight.transaction
        if self.idempotent:
            self._go_on(None)

    def _next_batch(self) -> Decision:
        """The next decision, joined with later ones that fit into the same batch."""
        queue = self._queue
        batch = queue.popleft()
        if batch.records and not batch.alone:
            while queue and queue[0].may_join(batch):
                batch = Decision(batch.transaction, batch.records + queue.popleft().records)
        return batch

    def _request_of(self, decision: Decision) -> InFlightRequest:
        self._correlation_id = number = self._correlation_id + 1
        transaction, records = decision.transaction, decision.records
        if not records:
            return InFlightRequest(self._marker_of(decision), transaction)
        self._transaction = transaction
        request = of.ProduceRequest(
            client_id=self.name,
            records=records,
            acks=of.ACKS_ALL if self._context.scenario.workload.acks == "all" else of.ACKS_LEADER,
            producer_id=self.producer_id if self.idempotent else -1,
            producer_epoch=self.epoch if self.idempotent else -1,
            base_sequence=self._sequence if self.idempotent else -1,
            transactional=transaction > 0,
            version=self.client,
            correlation_id=number,
        )
        self._sequence += len(records)
        return InFlightRequest(request, transaction)

    def _marker_of(self, decision: Decision) -> of.WriteTxnMarkersRequest:
        """The request that ends a transaction, with the epoch that the coordinator gives it.

        The marker by which a new instance fences the one before has the next epoch, the new
        instance itself the one after: else that marker, when it comes again, would abort what the
        new instance has begun (TransactionMetadata.prepareFenceProducerEpoch;
        TransactionCoordinator.prepareInitProducerIdTransit, state Ongoing). With KIP-890 every
        marker has the next epoch, and so has the next transaction. A new producer id after 16 bits
        of epochs is not modelled.
        """
        context, producer_id, number = self._context, self.producer_id, self._correlation_id
        epochs, epoch = context.producer_epochs, self.epoch
        begins = self.instance > 0 and number == 1
        raises = begins or self._epoch_per_transaction
        if raises:
            epoch = epochs.get(producer_id, 0) + 1
            self.epoch = epochs[producer_id] = epoch + 1 if begins else epoch
            self._sequence = 0
        self._ended = self._transaction
        committed = decision.commit and self._failed != decision.transaction
        fences = context.under_way.pop(producer_id, None) is not None and raises
        return of.WriteTxnMarkersRequest(
            self.name, producer_id, epoch, committed, self.client, number, fences
        )

    def _record(self, send: Send, more: Headers) -> Record:
        """The record that is sent, with the headers that the rules and the producer give it."""
        rules = self._context.rules
        mark, version = rules.cleaner.tombstone_mark, send.version if self.versions else None
        headers: Headers = ()
        if version is not None:
            encode = ENCODERS[rules.cleaner.header_form]
            headers = ((rules.topic.strategy_header, encode(version)),)
        headers += more
        flag = mark != "null_value" and send.value is None if send.flag is None else send.flag
        if mark == "header" and flag:
            headers += (TOMBSTONE_HEADER,)
        return Record(
            offset=0,
            key=send.key,
            value=send.value,
            timestamp_ms=send.timestamp_ms,
            headers=headers,
            flagged=flag and mark != "header",
            uid=0,
        )

    def _transmit(self, flight: InFlightRequest) -> None:
        context = self._context
        flight.tries += 1
        flight.deadline_ms = context.now_ms + self._retry_ms
        flight.answer = self._patience.answer_within(self._retry_ms)
        flight.answer.callbacks.append(partial(self._answered, flight))
        if self._leader is None and context.leader is not None:
            self._leader = context.leader[1]
        flight.asked = self._leader
        if flight.tries > 1:
            self._correlation_id += 1
            # A client that was rolled out in between retries in its new version (KIP-87).
            flight.request = replace(
                flight.request, correlation_id=self._correlation_id, version=self.client
            )
        if self._leader is not None:
            self._add_to_transaction(flight.request)
            context.network.send(self.name, self._leader, flight.request)

    def _add_to_transaction(self, request: of.ProduceRequest | of.WriteTxnMarkersRequest) -> None:
        """Tells the coordinator of a transaction that it has data, before that is sent.

        While no leader is known, nothing is sent, and the coordinator hears of no partition
        (AddPartitionsToTxn). It refuses a fenced instance.
        """
        context, producer_id = self._context, self.producer_id
        is_newest = self.instance == context.instances[producer_id]
        if type(request) is of.ProduceRequest and request.transactional and is_newest:
            context.under_way[producer_id] = request.producer_epoch

    def receive(self, response: of.ProduceResponse) -> None:
        """Takes the answer to a request; one to an earlier try is ignored."""
        for flight in self._flights:
            if flight.request.correlation_id == response.correlation_id:
                if not flight.answer.triggered:  # else this is a repetition of the answer
                    flight.answer.succeed(response)
                return

    def stop(self) -> None:
        """Gives up all decisions that were not sent; requests in flight are completed.

        The coordinator aborts an open transaction (transaction.timeout.ms). One that has ended gets
        no second marker. With `per_instance` the leader is asked all the same, which writes one
        only if the transaction is open there.
        """
        self._queue.clear()
        ended = self._transaction == self._ended
        if self._transactional and not (ended and self._epoch_per_transaction):
            self.decide(Decision(0))
