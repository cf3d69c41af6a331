"""One producer: what it sends, when it tries again, and when it gives up.

An idempotent producer (so every transactional one) has one request in flight: what it decides
meanwhile goes into its next batch. Others send at once, so their records overtake each other, and a
retry is appended again. With `acks: all` the answer comes when the batch is committed, with
`acks: 1` at once. What a broker makes of it all is `sim.replication.produce`.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from sim.cluster.context import Context
from sim.compaction.strategies import ENCODERS
from sim.log import Record
from sim.log.formats import TOMBSTONE_HEADER
from sim.log.named_tuples import make
from sim.replication.messages import (
    ACKS_ALL,
    ACKS_LEADER,
    NO_ERROR,
    ErrorCode,
    ProduceRequest,
    ProduceResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from sim.scenario.model import EndTransaction, Send, SentHeader

MAX_BATCH_RECORDS: Final = 16
"""Most records that wait together for the answer to an earlier batch and go as one."""
BACKOFF_MS, BACKOFF_MAX_MS = 100, 1_000
"""Pause of a producer that was told to try again, doubled each time up to the second (KIP-580:
retry.backoff.ms, retry.backoff.max.ms, without their jitter)."""

RETRIED: Final = (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
"""Nothing was written, and whoever was asked is the right one: the same is sent after a pause."""

Headers = tuple[tuple[str, bytes], ...]
"""Name and value of each header of a record."""


Decision = tuple[tuple[Send, ...], EndTransaction | None, tuple[Headers, ...]]
"""What a producer decides at one moment: to write records, or to end a transaction. The headers are
those of each record beside its version; empty = no record has any."""


class InFlightRequest:
    """A request of a producer until it is answered or given up.

    Attributes:
        request: What it carries; each try has a correlation id of its own.
        transaction: The transaction it belongs to; 0 = none.
        tries: How often it was sent.
        asked: Whom it was sent to last.
        deadline_ms: When it is sent again, if nobody answers.
    """

    def __init__(self, request: ProduceRequest | WriteTxnMarkersRequest, transaction: int) -> None:
        """A request that was not sent yet."""
        self.request = request
        self.transaction = transaction
        self.tries = 0
        self.asked: str | None = None
        self.deadline_ms = 0


class Producer:
    """One producer.

    Attributes:
        number: Its number in the scenario.
        producer_id: Its producer id; that of the instance before it, if there is one.
        epoch: Its producer epoch: how many instances were before it.
        name: Its address.
        idempotent: Whether leaders recognise its retries.
        patient: Whether it tries again for ever.
        versions: Whether what it decides from now on has version headers.
        client: Its produce version (KIP-87), where brokers have versions.
    """

    def __init__(
        self, context: Context, number: int, *, idempotent: bool, patient: bool = False
    ) -> None:
        """A producer that has sent nothing and knows no leader."""
        workload = context.scenario.workload
        self._context = context
        self.number = number
        self.producer_id, self.epoch = context.scenario.applications.identity_of(number)
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
        self._transaction = 0
        self._timed = False
        context.network.add_client(self.name, self.receive)

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is on its way."""
        return not self._queue and not self._flights

    def decide(
        self,
        sends: tuple[Send, ...],
        end: EndTransaction | None = None,
        headers: tuple[Headers, ...] = (),
    ) -> None:
        """Send this, after what was decided before."""
        newest = self._context.producer_epochs.get(self.producer_id, 0)
        if self.epoch > newest:
            self._begin_instance()
        elif self.epoch < newest and not self._is_under_way(sends):
            self._context.counts.sends_given_up += 1
            return
        if not self.versions and sends:
            sends = tuple([send._replace(version=None) for send in sends])
        if self._queue or (self._flights and self.idempotent):
            self._queue.append((sends, end, headers))
            self._pump()
        else:
            self._start(sends, end, headers)

    def decide_one(self, send: Send, headers: tuple[SentHeader, ...]) -> None:
        """Send one record, perhaps with these headers in the place of its version header."""
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

    def _begin_instance(self) -> None:
        """Fence the instance before: what it left open the coordinator aborts (InitProducerId)."""
        self._context.producer_epochs[self.producer_id] = self.epoch
        self._start((), EndTransaction(self._context.now_ms, self.number, 0, commit=False), ())

    def _is_under_way(self, sends: tuple[Send, ...]) -> bool:
        """Whether a fenced instance goes on with a transaction that the coordinator knows.

        It asks the leader then, and nobody else; to begin one, or to end one, it would ask the
        coordinator, which refuses (AddPartitionsToTxn, EndTxn).
        """
        return bool(sends) and 0 < sends[0].transaction == self._transaction

    def _pump(self) -> None:
        """Send what may be sent now."""
        while self._queue and not (self.idempotent and self._flights):
            self._start(*self._next_batch())

    def _next_batch(self) -> Decision:
        """The next decision, with those that fit into the same batch."""
        queue = self._queue
        first = queue.popleft()
        sends, end, headers = first
        if not self.idempotent or end is not None or headers or not queue:
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

    def _start(
        self,
        sends: tuple[Send, ...],
        end: EndTransaction | None,
        headers: tuple[Headers, ...],
    ) -> None:
        flight = self._request_of(sends, end, headers)
        self._flights.append(flight)
        self._transmit(flight)

    def _request_of(
        self,
        sends: tuple[Send, ...],
        end: EndTransaction | None,
        headers: tuple[Headers, ...],
    ) -> InFlightRequest:
        self._correlation_id = number = self._correlation_id + 1
        if end is not None:
            committed = end.commit and self._failed != end.transaction
            marker = WriteTxnMarkersRequest(
                self.name, self.producer_id, self.epoch, committed, self.client, number
            )
            return InFlightRequest(marker, end.transaction)
        self._transaction = transaction = sends[0].transaction
        request = make(
            ProduceRequest,
            (
                self.name,
                self._records_of(sends, headers),
                self._acks,
                self.producer_id if self.idempotent else -1,
                self.epoch if self.idempotent else -1,
                self._sequence if self.idempotent else -1,
                transaction > 0,
                self.client,
                number,
            ),
        )
        self._sequence += len(sends)
        return InFlightRequest(request, transaction)

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
            records.append(make(Record, (index, key, value, timestamp_ms, headers, flag, 0)))
        return tuple(records)

    def _transmit(self, flight: InFlightRequest) -> None:
        context = self._context
        flight.tries += 1
        flight.deadline_ms = context.now_ms + self._retry_ms
        if self._leader is None and context.leader is not None:
            self._leader = context.leader[1]
        flight.asked = self._leader
        if flight.tries > 1:
            self._correlation_id += 1
            # In the version that the client has by now (KIP-87): else it would be refused for ever.
            flight.request = flight.request._replace(
                correlation_id=self._correlation_id, version=self.client
            )
        if not self._timed:
            self._timed = True
            context.after(max(1, self._retry_ms), self._end_waits)
        if self._leader is not None:
            context.network.send(self.name, self._leader, flight.request)

    def _end_waits(self) -> None:
        """Try again what was not answered in time, or give it up."""
        self._timed = False
        now_ms = self._context.now_ms
        for flight in [one for one in self._flights if one.deadline_ms <= now_ms]:
            self._leader = None
            self._try_again(flight)
        self._pump()
        if self._flights and not self._timed:
            self._timed = True
            first_ms = min([flight.deadline_ms for flight in self._flights])
            self._context.after(max(1, first_ms - now_ms), self._end_waits)

    def _try_again(self, flight: InFlightRequest) -> None:
        """Markers are written by a coordinator that never gives up (KIP-98)."""
        marker = type(flight.request) is WriteTxnMarkersRequest
        if flight.tries > self._retries and not marker and not self.patient:
            self._give_up(flight)
        else:
            self._transmit(flight)

    def _give_up(self, flight: InFlightRequest) -> None:
        self._flights.remove(flight)
        self._context.counts.sends_given_up += 1
        self._failed = flight.transaction

    def receive(self, response: ProduceResponse | WriteTxnMarkersResponse) -> None:
        """A request was answered; an answer to an earlier try comes too late and is ignored."""
        number = response.correlation_id
        for flight in self._flights:
            if flight.request.correlation_id == number:
                break
        else:
            return
        error = response.error
        if error is NO_ERROR:
            self._flights.remove(flight)
            self._context.counts.sends_acknowledged += 1
        elif error is ErrorCode.NOT_LEADER_OR_FOLLOWER:
            self._find_leader(flight)
        elif error in RETRIED:
            self._back_off(flight)
        else:
            self._give_up(flight)
        if self._queue:
            self._pump()

    def _find_leader(self, flight: InFlightRequest) -> None:
        """The replica that was asked does not lead: send again at once if another one does."""
        leader = self._context.leader
        if leader is not None and leader[1] != flight.asked:
            self._leader = leader[1]
            self._try_again(flight)

    def _back_off(self, flight: InFlightRequest) -> None:
        """Nothing was written: send the same batch, with the same sequence number, after a pause.

        The leader is still the leader, so nobody is asked who leads (NotEnoughReplicasException is
        no InvalidMetadataException).
        """
        doublings = min(flight.tries - 1, BACKOFF_MAX_MS.bit_length())
        pause_ms = min(BACKOFF_MAX_MS, BACKOFF_MS << doublings)
        context = self._context
        flight.deadline_ms = context.now_ms + pause_ms + self._retry_ms
        context.after(pause_ms, self._send_again, flight, flight.tries)

    def _send_again(self, flight: InFlightRequest, tries: int) -> None:
        """Unless it has ended, or was sent again, since that try."""
        if flight.tries == tries and flight in self._flights:
            self._try_again(flight)
            self._pump()

    def stop(self) -> None:
        """Give up what was not sent yet; what is on its way is still answered or given up."""
        self._context.counts.sends_given_up += len(self._queue)
        self._queue.clear()

    def abort_open_transaction(self) -> None:
        """What the coordinator does when a transaction takes too long (transaction.timeout.ms)."""
        self.decide((), EndTransaction(self._context.now_ms, self.number, 0, commit=False))
