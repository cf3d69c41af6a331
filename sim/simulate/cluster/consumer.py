"""Consumers, which poll the leader or one replica, and hand records to their application.

A fetch that finds nothing waits at the broker, so the pause between two polls (`poll_ms`) is the
one after an answer. What a fetch returns is decided in `sim.protocol.replication.reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simpy import Event
from simpy.events import ProcessGenerator

from sim.protocol.events import Consumed, ConsumerReset
from sim.protocol.log import Record
from sim.protocol.replication import messages as of
from sim.protocol.replication.reading import (
    Fetched,
    Position,
    ReadingGoal,
    as_read,
    consumer_request,
    receive_consumer_fetch,
    understood,
)
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.waiting import Patience, ProcessGroup
from sim.simulate.scenario.model import Consumer as ConsumerSpec


class Consumer:
    """A consumer with its position and its request on its way.

    Attributes:
        spec: Its settings in the scenario.
        name: Its name, which is its address.
        client: Its fetch version (KIP-87); None where the scenario has no versions.
    """

    def __init__(self, context: Context, spec: ConsumerSpec) -> None:
        """Starts at the first offset, without a request."""
        self._context = context
        self.spec = spec
        self._committed = spec.isolation == "read_committed"
        self._asked: str | None = spec.replica
        self._place = Position()
        self._goal: ReadingGoal | None = None
        self._done = False
        self._number = 0
        self._processes = ProcessGroup(context.env)
        self._patience = Patience(context.env)
        self._answer = context.env.event()
        self._deadline_ms = 0
        self.name = spec.name
        self.client: int | None = spec.format
        context.network.add_client(self.name, self.receive)

    def start(self, index: int) -> None:
        """Begins to poll at its time, out of step with the others by `index` ms."""
        first_ms = self.spec.starts_ms + max(1, self.spec.poll_ms) + index
        self._processes.start(self._poll(first_ms))

    def roll_out(self, client: int) -> None:
        """Restarts in another version: polls at once if it has begun, and forgets its request."""
        self.client = client
        if self._number:
            self._processes.interrupt()
            self._processes.start(self._poll(0))

    def _poll(self, start_ms: int) -> ProcessGenerator:
        """The process of a consumer: finds a broker, fetches, hands on records, pauses, fetches."""
        spec = self.spec
        if start_ms:
            yield self._context.env.timeout(start_ms)
        while not self._done:
            yield from self._find_a_broker()
            delay_ms = 0
            while self._asked is not None:
                response = yield self._ask(self._asked, delay_ms)
                if response is None:  # none in time: asks its replica, or whoever leads now
                    self._asked = spec.replica
                    break
                if response.error is of.NO_ERROR:
                    self._take(response)
                elif response.error is of.ErrorCode.NOT_LEADER_OR_FOLLOWER:
                    self._asked = spec.replica
                if self._done:
                    return
                delay_ms = self._next_poll_ms(max(1, spec.poll_ms))
            else:  # not the leader: looks for it after a pause, no later than without an answer
                left_ms = self._deadline_ms - self._context.now_ms
                yield self._context.env.timeout(min(delay_ms, left_ms))

    def _find_a_broker(self) -> ProcessGenerator:
        """Waits for the end of a pause, and for a leader."""
        context = self._context
        while True:
            paused_ms = self._next_poll_ms(0)
            if not paused_ms:
                if self._asked is None and context.leader is not None:
                    self._asked = context.leader[1]
                if self._asked is not None:
                    return
            yield context.env.timeout(paused_ms or max(1, self.spec.poll_ms))

    def _next_poll_ms(self, delay_ms: int) -> int:
        """Time in ms until a poll that is due in `delay_ms`, put off to the end of a pause."""
        now_ms = self._context.now_ms
        at_ms = now_ms + delay_ms
        for start_ms, end_ms in self.spec.pauses:
            if start_ms <= at_ms < end_ms:
                at_ms = end_ms
        return at_ms - now_ms

    def _wait_from(self, at_ms: int) -> int:
        """Time in ms that a poll at `at_ms` may wait at a broker: until the next pause at most."""
        wait_ms = self._context.scenario.timers.fetch_wait_ms
        for start_ms, _ in self.spec.pauses:
            if at_ms <= start_ms < at_ms + wait_ms:
                wait_ms = start_ms - at_ms
        return wait_ms

    def _ask(self, broker: str, delay_ms: int) -> Event:
        """Sends a fetch that leaves in `delay_ms`, and returns the event of its answer.

        Pause and latency are one event.
        """
        spec, context = self.spec, self._context
        leaves_ms = context.now_ms + delay_ms
        self._number += 1
        asks_end = spec.until is not None and self._goal is None
        request = self._request(0 if asks_end else self._wait_from(leaves_ms), spec.max_batches)
        context.network.send(self.name, broker, request, delay_ms)
        self._deadline_ms = leaves_ms + context.fetch_timeout_ms
        self._answer = self._patience.answer_within(delay_ms + context.fetch_timeout_ms)
        return self._answer

    def _request(self, max_wait_ms: int, max_batches: int | None) -> of.ConsumerFetchRequest:
        return consumer_request(
            self._place,
            self.name,
            read_committed=self._committed,
            rules=self._context.rules,
            max_batches=max_batches,
            version=self.client,
            leader_only=self.spec.replica is None,
            max_wait_ms=max_wait_ms,
            correlation_id=self._number,
        )

    def receive(self, response: of.ConsumerFetchResponse) -> None:
        """Takes the answer to the last fetch; one to an earlier fetch is ignored."""
        if response.correlation_id == self._number and not self._answer.triggered:
            self._answer.succeed(response)

    def _take(self, response: of.ConsumerFetchResponse) -> bool:
        """Takes records over for the application; True when batches came."""
        if self._goal is None and self.spec.until is not None:
            self._goal = ReadingGoal(
                self.spec.until, response.log_start_offset, response.readable_end
            )
        goal = self._goal
        if goal is not None and goal.reached(self._place.offset):
            self._finish(response.replica, goal)
            return False
        fetched = receive_consumer_fetch(self._place, response)
        if fetched.reset is not None:
            self._context.emit(
                ConsumerReset(response.replica, self.name, fetched.start, fetched.reset)
            )
        if fetched.end > fetched.start:
            self._hand_on(fetched, response)
        if goal is not None and goal.reached(self._place.offset):
            self._finish(response.replica, goal)
        return fetched.end > fetched.start

    def _hand_on(self, fetched: Fetched, response: of.ConsumerFetchResponse) -> None:
        context, replica, start = self._context, response.replica, fetched.start
        given: Sequence[Record] = [record for batch in fetched.batches for record in batch.records]
        given = as_read(given, rules=context.rules)
        if given and given[0].offset < start:
            given = tuple([record for record in given if record.offset >= start])
        if self._goal is not None:
            self._goal.note(given)
        context.emit(
            Consumed(
                replica=replica,
                consumer=self.name,
                start=start,
                end=fetched.end,
                records=given,
                now_ms=response.read_ms,
                committed=self._committed,
            )
        )
        if self.client is not None:
            by_flag = self.client != 2 and self.spec.deletes_by == "flag"
            context.emit(
                understood(self.name, replica, given, by_flag=by_flag, rules=context.rules)
            )

    def _finish(self, replica: str, goal: ReadingGoal) -> None:
        self._done = True
        self._context.emit(goal.ended(replica, self.name, self._place.offset))

    def read_to_the_end(
        self, answer: Callable[[of.ConsumerFetchRequest], of.ConsumerFetchResponse]
    ) -> None:
        """Reads everything there is at rest, at once, and stops; `answer` answers its fetches."""
        self._processes.interrupt()
        replica = ""
        while not self._done:
            response = answer(self._request(max_wait_ms=0, max_batches=None))
            replica = response.replica
            if response.error is not of.NO_ERROR or not self._take(response):
                break
        if self._goal is not None and not self._done:
            self._finish(replica, self._goal)
