"""Producers, which send batches, retry, and give up.

An idempotent producer (so every transactional one) has one request in flight: records sent
meanwhile go into its next batch. Others send at once, so their records overtake each other, and a
retry is appended again. With `acks: all` the answer comes when the batch is committed, with `acks:
1` at once. What a broker does with a batch is decided in `sim.protocol.replication.produce`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace
from simpy import Event

from sim.protocol.compaction.strategies import ENCODERS
from sim.protocol.log import Record
from sim.protocol.log.formats import TOMBSTONE_HEADER
from sim.protocol.replication import messages as of
from sim.protocol.replication.messages import ACKS_ALL, ACKS_LEADER, NO_ERROR, ErrorCode
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.waiting import Patience
from sim.simulate.scenario.model import EndTransaction, Send, SentHeader

MAX_BATCH_RECORDS: Final = 16
"""Largest number of records that wait for the answer to an earlier batch and go as one batch."""
BACKOFF_MS, BACKOFF_MAX_MS = 100, 1_000
"""Pause before a retry after a retriable error, doubled each time up to the second number (KIP-580:
retry.backoff.ms, retry.backoff.max.ms, without their jitter)."""

RETRIED: Final = (ErrorCode.NOT_ENOUGH_REPLICAS,)
"""Errors after which the same leader is asked again after a pause, since nothing was written."""

Headers = tuple[tuple[str, bytes], ...]
"""Name and value of each header of a record."""


Decision = tuple[tuple[Send, ...], EndTransaction | None, tuple[Headers, ...]]
"""A decision of a producer: to write records, or to end a transaction. The headers are those of
each record without its version header; empty when no record has any."""


@dataclass(slots=True, eq=False)
class InFlightRequest:
    """A request of a producer until it is answered or given up.

    Attributes:
        request: The request; each try has a correlation id of its own.
        transaction: Number of the transaction it belongs to; 0 outside of transactions.
        tries: Number of times that it was sent.
        asked: Name of the replica that it was sent to last; None where no leader was known.
        deadline_ms: Time at which it is sent again without an answer.
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
        number: Its number in the scenario.
        producer_id: Its producer id, shared by all instances of one transactional producer.
        instance: Number of instances before it.
        epoch: Its producer epoch: first `instance`; under `producer_epochs: per_transaction` a
            higher one after each transaction.
        name: Its address.
        idempotent: Whether leaders recognise its retries.
        patient: Whether it retries without end.
        versions: Whether records that it sends from now on have version headers.
        client: Its produce version (KIP-87), where brokers have versions.
    """

    def __init__(
        self, context: Context, number: int, *, idempotent: bool, patient: bool = False
    ) -> None:
        """Starts without requests, and without knowing a leader."""
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
            self._await_decision()

    @property
    def idle(self) -> bool:
        """True when nothing waits to be sent, and no request is in flight."""
        return self._decided is not None if self.idempotent else not self._flights

    def decide(
        self,
        sends: tuple[Send, ...],
        end: EndTransaction | None = None,
        headers: tuple[Headers, ...] = (),
    ) -> None:
        """Sends records, or ends a transaction, after all earlier decisions."""
        if self.instance > self._newest_instance:
            # The earlier instance is fenced; the coordinator aborts its open transaction.
            self._context.instances[self.producer_id] = self.instance
            self._hand_over(((), self._abort(), ()))
        elif self._is_refused(sends):
            return
        if not self.versions and sends:
            sends = tuple([send._replace(version=None) for send in sends])
        self._hand_over((sends, end, headers))

    def _hand_over(self, decision: Decision) -> None:
        """Sends a decision at once, unless an idempotent producer has others to send before it."""
        decided, self._decided = self._decided, None
        if not self.idempotent:
            self._send(decision)
        elif decided is None:
            self._queue.append(decision)
        else:
            decided.succeed(decision)

    def decide_one(self, send: Send, headers: tuple[SentHeader, ...]) -> None:
        """Sends one record; `headers`, if there are any, replace its version header."""
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
        """True when the coordinator refuses what a fenced instance decides.

        A send within a transaction that the coordinator knows goes to the leader alone. To begin a
        transaction, or to end one (without sends), the producer asks the coordinator, which refuses
        (AddPartitionsToTxn, EndTxn).
        """
        if self.instance >= self._newest_instance:
            return False
        under_way = bool(sends) and 0 < sends[0].transaction == self._transaction
        return not under_way

    def _go_on(self, decision: Decision | None) -> None:
        """Sends a decision, or the next one that waits; without any, awaits one."""
        while decision is not None or self._queue:
            decision = decision or self._next_batch()
            if not self._is_refused(decision[0]):
                self._send(decision)
                return
            decision = None
        self._await_decision()

    def _await_decision(self) -> None:
        """Waits for a decision, which is sent after everything else of its millisecond."""
        self._decided = self._context.env.event()
        self._decided.callbacks.append(lambda decided: self._go_on(decided.value))

    def _send(self, decision: Decision) -> None:
        """Makes the request of a decision, and sends it for the first time."""
        flight = self._request_of(*decision)
        self._flights.append(flight)
        self._transmit(flight)

    def _answered(self, flight: InFlightRequest, answer: Event) -> None:
        """Ends a request by its response, or sends it again; without one in time that is None."""
        env, response = self._context.env, answer.value
        if response is None:
            self._leader = None
            self._try_again(flight)
        elif self._has_to_wait(flight, response):
            wait = env.timeout(flight.deadline_ms - self._context.now_ms)
            wait.callbacks.append(partial(self._answered, flight))
        elif response.error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self._try_again(flight)
        elif response.error in RETRIED:
            # The leader is still the leader, so the producer asks for no metadata
            # (NotEnoughReplicasException is no InvalidMetadataException).
            doublings = min(flight.tries - 1, BACKOFF_MAX_MS.bit_length())
            wait = env.timeout(min(BACKOFF_MAX_MS, BACKOFF_MS << doublings))
            wait.callbacks.append(lambda _: self._try_again(flight))
        else:
            self._end(flight, failed=response.error is not NO_ERROR)

    def _try_again(self, flight: InFlightRequest) -> None:
        """Sends a request again, unless it was tried often enough; one for a marker never is.

        Source: KIP-98.
        """
        marker = type(flight.request) is of.WriteTxnMarkersRequest
        if flight.tries > self._retries and not marker and not self.patient:
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
            marker = of.WriteTxnMarkersRequest(
                self.name, self.producer_id, self.epoch, committed, self.client, number, fences
            )
            return InFlightRequest(marker, end.transaction)
        self._transaction = transaction = sends[0].transaction
        if transaction and self.instance == self._newest_instance:
            self._context.under_way.add(self.producer_id)
        request = of.ProduceRequest(
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
        """Takes the next epoch at the end of a transaction (KIP-890); sequence numbers start at 0.

        The coordinator answers the newest instance alone. A new producer id after 16 bits of epochs
        is not modelled.
        """
        epochs, producer_id = self._context.producer_epochs, self.producer_id
        if self._epoch_per_transaction and self.instance == self._newest_instance:
            self.epoch = epochs[producer_id] = epochs.get(producer_id, 0) + 1
            self._sequence = 0

    def _records_of(self, sends: tuple[Send, ...], more: tuple[Headers, ...]) -> tuple[Record, ...]:
        """The records of a request; the leader gives them their offsets."""
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
            context.network.send(self.name, self._leader, flight.request)

    def receive(self, response: of.ProduceResponse) -> None:
        """Takes the answer to a request; one to an earlier try is ignored."""
        for flight in self._flights:
            if flight.request.correlation_id == response.correlation_id:
                if not flight.answer.triggered:  # else this is a repetition of the answer
                    flight.answer.succeed(response)
                return

    def _has_to_wait(self, flight: InFlightRequest, response: of.ProduceResponse) -> bool:
        """True when the replica that was asked does not lead, and no other leader is known."""
        if response.error is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
            return False
        leader = self._context.leader
        if leader is None or leader[1] == flight.asked:
            return True
        self._leader = leader[1]
        return False

    def stop(self) -> None:
        """Gives up all decisions that were not sent; requests in flight are completed."""
        self._queue.clear()

    def abort_open_transaction(self) -> None:
        """Aborts a transaction that takes too long, for the coordinator (transaction.timeout.ms).

        A transaction that has ended gets no second marker. With `per_instance` the leader is asked
        all the same, which writes one only if the transaction is open there.
        """
        ended = self._transaction == self._ended and not self._queue
        if not (ended and self._epoch_per_transaction):
            self.decide((), self._abort())
