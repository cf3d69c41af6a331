"""One producer: what it sends, when it tries again, and what a leader does with it.

An idempotent producer (so every transactional one) has one request in flight: what it decides
meanwhile goes into its next batch. Others send at once, so their records overtake each other, and a
retry is appended again. With `acks: all` the answer comes when the batch is committed, and a leader
with too small an in-sync set takes nothing and says so; with `acks: 1` it comes at once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from sim.cluster.converting import as_stored, speaks
from sim.cluster.sending import Line, records_of
from sim.log import Control, control_batch, data_batch
from sim.scenario.model import EndTransaction, Workload
from sim.trace import AppendRefused

if TYPE_CHECKING:
    from sim.cluster.context import World
    from sim.cluster.node import Node

MAX_BATCH_RECORDS = 16
"""Most records that wait together for the answer to an earlier batch and go as one."""
BACKOFF_MS, BACKOFF_MAX_MS = 100, 1_000
"""Pause of a producer that was told to try again, doubled each time up to the second (KIP-580:
retry.backoff.ms, retry.backoff.max.ms, without their jitter)."""


class Flight:
    """A request of a producer until it is answered or given up.

    Attributes:
        line: What it carries.
        sequence: Sequence number of its first record; -1 without idempotence.
        tries: How often it was sent.
        asked: Whom it was sent to last.
        deadline_ms: When it is sent again, if nobody answers.
        done_ms: When the answer reaches the producer; None = it is not on its way.
    """

    __slots__ = ("asked", "deadline_ms", "done_ms", "line", "sequence", "tries")

    def __init__(self, line: Line, sequence: int) -> None:
        """A request that was not sent yet."""
        self.line = line
        self.sequence = sequence
        self.tries = 0
        self.asked: str | None = None
        self.deadline_ms = 0
        self.done_ms: int | None = None


class Producer:
    """One producer.

    Attributes:
        number: Its number in the scenario, and its producer id.
        idempotent: Whether leaders recognise its retries.
        patient: Whether it tries again for ever.
        versions: Whether what it decides from now on has version headers.
        client: Its produce version (KIP-87), where brokers have versions.
    """

    __slots__ = (
        "_failed",
        "_flights",
        "_leader",
        "_link",
        "_queue",
        "_sequence",
        "_settings",
        "_wants_all",
        "_watching",
        "_world",
        "client",
        "idempotent",
        "number",
        "patient",
        "versions",
    )

    def __init__(
        self, world: World, number: int, *, idempotent: bool, patient: bool = False
    ) -> None:
        """A producer that has sent nothing and knows no leader."""
        self._world = world
        self._settings: Workload = world.scenario.workload
        self.number = number
        self.idempotent = idempotent
        self.patient = patient
        self.versions = True
        self.client = 2
        self._link = world.network.client(f"producer {number}")
        self._queue: deque[Line] = deque()
        self._flights: list[Flight] = []
        self._leader: str | None = None
        self._wants_all = self._settings.acks == "all"
        self._sequence = 0
        self._failed = 0
        self._watching = False

    @property
    def idle(self) -> bool:
        """Nothing waits and nothing is on its way."""
        self._drop_answered()
        return not self._queue and not self._flights

    def decide(self, line: Line) -> None:
        """Send this, after what was decided before."""
        if not self.versions and line.sends:
            bare = tuple(send._replace(version=None) for send in line.sends)
            line = line._replace(sends=bare)
        flights = self._flights
        if self._queue or (flights and self.idempotent):
            self._queue.append(line)
            self._pump()
        else:
            self._send(line)

    def _drop_answered(self) -> None:
        flights = self._flights
        if flights:
            now_ms = self._world.clock.now_ms
            self._flights = [f for f in flights if f.done_ms is None or f.done_ms > now_ms]

    def _pump(self) -> None:
        """Send what may be sent now."""
        self._drop_answered()
        while self._queue and not (self.idempotent and self._flights):
            self._send(self._next_line())

    def _send(self, line: Line) -> None:
        flight = Flight(line, self._sequence if self.idempotent else -1)
        self._sequence += len(line.sends)
        self._flights.append(flight)
        self._transmit(flight)

    def _next_line(self) -> Line:
        """The next decision, with those that fit into the same batch."""
        queue = self._queue
        line = queue.popleft()
        if not self.idempotent or line.end is not None or line.headers:
            return line
        sends = line.sends
        while queue and queue[0].end is None and not queue[0].headers:
            more = queue[0].sends
            if more[0].transaction != sends[0].transaction:
                break
            if len(sends) + len(more) > MAX_BATCH_RECORDS:
                break
            sends += more
            queue.popleft()
        return Line(sends)

    def _transmit(self, flight: Flight) -> None:
        world = self._world
        clock = world.clock
        flight.tries += 1
        flight.deadline_ms = clock.now_ms + self._settings.retry_ms
        if self._leader is None and world.leader is not None:
            self._leader = world.leader[1]
        flight.asked = self._leader
        if not self._watching:
            self._watching = True
            clock.after(max(1, self._settings.retry_ms), self._watch)
        node = world.nodes.get(self._leader or "")
        if node is not None and not self._link.loses():
            clock.after(self._link.latency_ms(), self._arrive, node, flight, flight.tries)

    def _watch(self) -> None:
        """Try again what was not answered in time, or give it up."""
        self._watching = False
        self._drop_answered()
        clock = self._world.clock
        for flight in self._flights:
            if flight.done_ms is None and clock.now_ms >= flight.deadline_ms:
                self._leader = None
                self._try_again(flight)
        self._pump()
        if self._flights and not self._watching:
            self._watching = True
            first_ms = min(f.deadline_ms if f.done_ms is None else f.done_ms for f in self._flights)
            clock.after(max(1, first_ms - clock.now_ms), self._watch)

    def _try_again(self, flight: Flight) -> None:
        """Markers are written by a coordinator that never gives up (KIP-98)."""
        out_of_retries = flight.tries > self._settings.retries
        if out_of_retries and flight.line.end is None and not self.patient:
            self._give_up(flight)
        else:
            self._transmit(flight)

    def _give_up(self, flight: Flight) -> None:
        if flight.done_ms is None:
            flight.done_ms = self._world.clock.now_ms
            self._world.counts.sends_given_up += 1
            self._failed = flight.line.sends[0].transaction

    def _misdated(self, node: Node, flight: Flight) -> bool:
        """A timestamp is too far from the leader's clock (InvalidTimestampException)."""
        limit = self._world.scenario.topic.timestamp_difference_max_ms
        return limit is not None and any(
            abs(send.timestamp_ms - node.now_ms) > limit for send in flight.line.sends
        )

    def _refused(self, flight: Flight, tries: int) -> None:
        """The replica that was asked does not lead: ask who does, and send again at once."""
        if flight.done_ms is not None or flight.tries != tries:
            return
        leader = self._world.leader
        if leader is not None and leader[1] != flight.asked:
            self._leader = leader[1]
            self._send_again(flight, tries)

    def _not_enough_replicas(self, flight: Flight, tries: int) -> None:
        """Nothing was written: send the same batch, with the same sequence number, after a pause.

        The leader is still the leader, so nobody is asked who leads (NotEnoughReplicasException is
        no InvalidMetadataException).
        """
        if flight.done_ms is not None or flight.tries != tries:
            return
        pause_ms = min(BACKOFF_MAX_MS, BACKOFF_MS << min(tries - 1, BACKOFF_MAX_MS.bit_length()))
        clock = self._world.clock
        flight.deadline_ms = clock.now_ms + pause_ms + self._settings.retry_ms
        clock.after(pause_ms, self._send_again, flight, tries)

    def _send_again(self, flight: Flight, tries: int) -> None:
        """Unless it has ended, or was sent again, since that try."""
        if flight.done_ms is None and flight.tries == tries:
            self._try_again(flight)
            if flight.done_ms is not None:
                self._pump()

    def _arrive(self, node: Node, flight: Flight, tries: int) -> None:
        """At a replica: append if it leads, refuse if it does not, be silent if it is not there.

        A leader that does not know the version of the request closes the connection.
        """
        if not node.replica.up or node.loader.loading:
            return
        if node.desk is not None and not speaks(node, self.client):
            self._world.tell([AppendRefused(node.name, None, "client_version")])
        elif node.desk is None:
            self._world.clock.after(self._link.latency_ms(), self._refused, flight, tries)
        elif not node.desk.takes_writes and (flight.line.end is not None or self._wants_all):
            self._world.counts.not_enough_replicas += 1
            self._world.tell([AppendRefused(node.name, None, "not_enough_replicas")])
            if not self._link.loses():
                latency_ms = self._link.latency_ms()
                self._world.clock.after(latency_ms, self._not_enough_replicas, flight, tries)
        elif flight.line.end is not None:
            self._append_marker(node, flight, flight.line.end)
        elif self._misdated(node, flight):
            self._world.clock.after(self._link.latency_ms(), self._give_up, flight)
        else:
            self._append_data(node, flight)

    def _append_data(self, node: Node, flight: Flight) -> None:
        desk = node.desk
        assert desk is not None

        def acknowledge() -> None:
            self._acknowledged(flight)

        repeated = None
        if self.idempotent:
            repeated = node.replica.log.producers.overtaken(self.number, flight.sequence)
        if repeated is not None:
            self._world.counts.repeats_recognised += 1
            if self._wants_all:
                desk.when_committed(repeated.last_offset, acknowledge)
            else:
                acknowledge()
            return
        world, sends = self._world, flight.line.sends
        sent = records_of(world, flight.line, offset=node.replica.log.log_end_offset)
        records, told = as_stored(node, sent, client=self.client)
        world.tell(told)
        if not records:
            world.clock.after(self._link.latency_ms(), self._give_up, flight)
            return
        leadership = node.replica.leadership
        assert leadership is not None
        batch = data_batch(
            records,
            epoch=leadership.epoch,
            producer_id=self.number if self.idempotent else -1,
            producer_epoch=0 if self.idempotent else -1,
            base_sequence=flight.sequence,
            transactional=sends[0].transaction > 0,
        )
        if not desk.append(batch, acknowledge, early=not self._wants_all):
            world.clock.after(self._link.latency_ms(), self._give_up, flight)

    def _append_marker(self, node: Node, flight: Flight, end: EndTransaction) -> None:
        """Write COMMIT or ABORT if the transaction is open here; else it is decided already."""
        desk, leadership = node.desk, node.replica.leadership
        assert desk is not None
        assert leadership is not None

        def acknowledge() -> None:
            self._acknowledged(flight)

        offset = node.replica.log.log_end_offset
        if not node.replica.log.producers.has_open(self.number):
            desk.when_committed(offset - 1, acknowledge)
            return
        commit = end.commit and self._failed != end.transaction
        marker = control_batch(
            offset,
            epoch=leadership.epoch,
            control=Control.COMMIT if commit else Control.ABORT,
            timestamp_ms=node.now_ms,
            producer_id=self.number,
            producer_epoch=0,
            uid=self._world.take_uid(),
        )
        desk.append(marker, acknowledge)

    def _acknowledged(self, flight: Flight) -> None:
        """At the leader: it is committed; the answer takes its time, or gets lost."""
        if flight.done_ms is not None or self._link.loses():
            return
        clock = self._world.clock
        self._world.counts.sends_acknowledged += 1
        latency_ms = self._link.latency_ms()
        flight.done_ms = clock.now_ms + latency_ms
        if self._queue:
            clock.after(latency_ms, self._pump)

    def stop(self) -> None:
        """Give up what was not sent yet; what is on its way is still answered or given up."""
        self._world.counts.sends_given_up += len(self._queue)
        self._queue.clear()

    def abort_open_transaction(self) -> None:
        """What the coordinator does when a transaction takes too long (transaction.timeout.ms)."""
        self.decide(
            Line((), EndTransaction(self._world.clock.now_ms, self.number, 0, commit=False))
        )
