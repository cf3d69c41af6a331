"""The work of a leader: answers fetches or holds them, and acknowledges committed batches.

Source: DelayedOperationPurgatory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from msgspec.structs import replace
from simpy import Environment
from simpy import Event as Timer

from sim.protocol.events import Acknowledged, Event
from sim.protocol.replication.joining import note_fetch, trust_the_in_sync
from sim.protocol.replication.leader import (
    advance_high_watermark,
    answer_fetch,
    is_of_an_older_session,
)
from sim.protocol.replication.messages import RECORDS, Answer, FetchRequest, FetchResponse
from sim.protocol.replication.produce import AT_ONCE, ProduceResult
from sim.protocol.replication.reading import as_served
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.waiting import ProcessGroup

R = TypeVar("R")


class Delayed(Generic[R]):
    """Requests that a broker holds for a time, at most one of each client or follower.

    Attributes:
        waiting: Request that waits, by the name of its sender.
    """

    def __init__(self, env: Environment, answer: Callable[[Iterable[R]], None]) -> None:
        """Starts without requests; `answer` is called with those whose time is over."""
        self._env = env
        self._answer = answer
        self._deadlines: dict[str, int] = {}
        self._due_ms: int | None = None
        self.waiting: dict[str, R] = {}

    def hold(self, name: str, request: R, wait_ms: int) -> None:
        """Holds a request in the place of an earlier one of the same sender."""
        self.waiting[name] = request
        self._deadlines[name] = deadline_ms = int(self._env.now) + wait_ms
        if self._due_ms is None or deadline_ms < self._due_ms:
            self._arm(wait_ms)

    def _arm(self, wait_ms: int) -> None:
        """Sets the timer; one that is set for a later time does nothing any more."""
        self._due_ms = int(self._env.now) + wait_ms
        self._env.timeout(wait_ms).callbacks.append(self._expire)

    def _expire(self, _timer: Timer) -> None:
        """Answers the requests whose time is over, and sets a timer for the others."""
        now_ms, deadlines = int(self._env.now), self._deadlines
        if now_ms != self._due_ms:
            return
        self._due_ms = None
        due = [name for name in self.waiting if deadlines[name] <= now_ms]
        self._answer([self.waiting.pop(name) for name in due])
        if self.waiting:
            self._arm(max(1, min([deadlines[name] for name in self.waiting]) - now_ms))


Acknowledgement = tuple[int, str, Any, Acknowledged | None]
"""A response that waits until an offset (inclusive) is committed: offset, client, response, and the
event of the acknowledged batch; None for the end of a transaction."""


@dataclass(slots=True, eq=False)
class FollowerProgress:
    """A leader's knowledge of a follower, without how far behind it is (`FetchTimes`).

    Attributes:
        contact_ms: Time of its last request; at first that of the election.
        replica_epoch: Its newest incarnation that the leader has heard of (KIP-903).
        newest: Correlation id of its newest fetch in that incarnation; 0 before the first.
    """

    contact_ms: int
    replica_epoch: int = 0
    newest: int = 0


class LeaderState:
    """A leader's working memory for one epoch, lost when the leadership ends.

    A fetch that finds nothing new waits until something is appended or `fetch_wait_ms` is over. In
    majority mode a moved high watermark ends the wait, too (KafkaRaftClient), and a follower that
    does not know it is answered at once (KIP-1166); in ISR mode followers learn it with their next
    answer (KAFKA-9731).

    Attributes:
        epoch: The epoch.
        progress: Knowledge of each follower by its name; that of a later replica starts when it
            is asked for.
        fetches: Fetches of followers that wait.
        processes: Processes that last as long as it leads.
    """

    def __init__(self, broker: Broker, epoch: int, replicas: Iterable[str]) -> None:
        """Starts when the leader is elected; `replicas` are the names of possible followers."""
        context = broker.context
        self._broker = broker
        self.epoch = epoch
        trust_the_in_sync(broker.replica, now_ms=context.now_ms)
        self.progress = defaultdict[str, FollowerProgress](lambda: FollowerProgress(context.now_ms))
        for name in replicas:
            if name != broker.name:
                self.note_contact(name)
        self.fetches = Delayed[FetchRequest](broker.env, self._answer)
        self.processes = ProcessGroup(broker.env)
        self._acknowledgements: list[Acknowledgement] = []
        self._high_watermark = -1
        self._snapshots = context.retention is None
        self._announces_commits = context.rules.replication.commit == "majority"

    def react(self, events: Sequence[Event]) -> None:
        """Emits events; answers the requests that wait for the high watermark when it moved."""
        if not events:
            return
        self._broker.context.emit_all(events)
        committed = self._broker.replica.log.high_watermark
        if committed > self._high_watermark:
            self._high_watermark = committed
            self._commit(committed)

    def _commit(self, committed: int) -> None:
        context = self._broker.context
        context.committed = max(context.committed, committed)
        self._broker.high_watermark_moved()
        waiting = self._acknowledgements
        self._acknowledgements = [one for one in waiting if one[0] >= committed]
        for last_offset, client, response, acknowledged in waiting:
            if last_offset < committed:
                self._answer_client(client, response, acknowledged)
        if self._announces_commits:
            self.wake()

    def _answer_client(self, client: str, response: Any, acknowledged: Acknowledged | None) -> None:
        """Answers a client now, and emits the event of the batch that the answer acknowledges."""
        if acknowledged is not None:
            self._broker.context.emit(acknowledged)
        self._broker.send(client, response)

    def acknowledge(
        self, write: ProduceResult, client: str, response: Any, acknowledged: Acknowledged | None
    ) -> None:
        """Emits the events of a write, and answers the client when the answer is due.

        If the leadership ends first, there is no answer.
        """
        committed = self._broker.replica.log.high_watermark
        if write.due_above == AT_ONCE or (write.due_above < committed and not write.events):
            self.react(write.events)
            self._answer_client(client, response, acknowledged)
        else:
            self._acknowledgements.append((write.due_above, client, response, acknowledged))
            self.react(write.events)

    def count_over(self, voters: tuple[str, ...]) -> None:
        """Counts majorities over other voters from now on, which may commit records."""
        leadership = self._broker.replica.leadership
        if leadership is not None:
            leadership.voters = voters
            self.commit_what_is_known()

    def commit_what_is_known(self) -> None:
        """Raises the high watermark to what the known positions allow (maybeIncrementLeaderHW)."""
        self.react(advance_high_watermark(self._broker.replica, rules=self._broker.rules))

    def fetch(self, request: FetchRequest) -> bool:
        """Answers a follower's fetch now or later; True when its position was recorded.

        A fetch from before the last restart of the follower is dropped (KIP-903).
        """
        broker = self._broker
        name = request.follower
        progress = self.progress[name]
        if request.replica_epoch < progress.replica_epoch:
            return False
        self.fetches.waiting.pop(name, None)  # its sender has given it up
        replica, log = broker.replica, broker.replica.log
        answered = answer_fetch(replica, request, broker.rules, snapshots=self._snapshots)
        response, leadership = answered.response, replica.leadership
        if response.answer is not RECORDS or leadership is None:
            if response.answer is Answer.REBUILD and leadership is not None:
                leadership.positions.pop(name, None)
            self.react(answered.events)
            broker.send(name, response)
            return False
        now_ms = broker.context.now_ms
        believed = leadership.positions[name]
        note_fetch(leadership, name, believed, log.log_end_offset, now_ms)
        progress.contact_ms = now_ms
        progress.replica_epoch = request.replica_epoch
        progress.newest = request.correlation_id
        # The follower may hold committed records that it does not know to be committed (KIP-1166).
        known = request.high_watermark
        tells = self._announces_commits and known < log.high_watermark and known < request.offset
        if answered.events:
            self.react(answered.events)
        if response.batches or tells:
            self._send(request, response)
        else:
            self.fetches.hold(name, request, broker.context.scenario.timers.fetch_wait_ms)
        return True

    def is_overtaken(self, request: FetchRequest) -> bool:
        """True when a late fetch gets no answer: of an older epoch, or overtaken by another fetch.

        The answer to an older epoch would be FENCED_LEADER_EPOCH, which no sender waits for
        (Partition.checkCurrentLeaderEpoch, KafkaRaftClient.validateLeaderOnlyRequest). For an
        overtaken fetch the follower has closed the connection. Its position counts, unless it is of
        an older session or incarnation. It does not wait: that would replace the later fetch. Nor
        is it a new beginning of the follower's log (`lag_guard`).
        """
        broker, leadership = self._broker, self._broker.replica.leadership
        if broker.rules.replication.fencing and request.epoch < self.epoch:
            return True
        progress = self.progress[request.follower]
        if request.correlation_id > progress.newest:
            return False
        life = progress.replica_epoch
        if (
            leadership is not None
            and request.replica_epoch >= life
            and not is_of_an_older_session(
                request, newest=progress.newest, replica_epoch=life, rules=broker.rules
            )
        ):
            begun = {**leadership.begun_below}
            answered = answer_fetch(
                broker.replica, request, rules=broker.rules, snapshots=self._snapshots
            )
            leadership.begun_below = begun
            self.react(answered.events)
            progress.contact_ms = broker.context.now_ms
        return True

    def note_contact(self, follower: str) -> None:
        """Notes a request of a follower that says nothing about its position."""
        self.progress[follower].contact_ms = self._broker.context.now_ms

    def forget(self, follower: str, replica_epoch: int) -> None:
        """Forgets what a follower acknowledged before incarnation `replica_epoch`.

        Its fetches from before get no answer: those that wait here, and those that still arrive.
        """
        leadership = self._broker.replica.leadership
        if leadership is not None:
            leadership.positions.pop(follower, None)
        self.fetches.waiting.pop(follower, None)
        progress = self.progress[follower]
        progress.replica_epoch = max(progress.replica_epoch, replica_epoch)

    def end(self) -> None:
        """Ends the leadership: requests that wait here get no answer."""
        self.fetches.waiting.clear()
        self.processes.interrupt()

    def wake(self) -> None:
        """Answers every waiting fetch, since records were appended or committed."""
        waiting = self.fetches.waiting
        if waiting:
            requests = list(waiting.values())
            waiting.clear()
            self._answer(requests)

    def _answer(self, requests: Iterable[FetchRequest]) -> None:
        """Answers fetches that have waited, with records or without.

        Their positions are recorded already, so equal requests have equal answers.
        """
        broker = self._broker
        last: tuple[FetchRequest, FetchResponse] | None = None
        for request in requests:
            if last is not None and request.asks_the_same_as(last[0]):
                response = replace(last[1], correlation_id=request.correlation_id)
            else:
                answered = answer_fetch(
                    broker.replica,
                    request,
                    broker.rules,
                    snapshots=self._snapshots,
                    has_waited=True,
                )
                response = answered.response
                self.react(answered.events)
                if response.answer is RECORDS:
                    last = request, response
            self._send(request, response)

    def _send(self, request: FetchRequest, response: FetchResponse) -> None:
        """Sends records, converted if the follower does not know their format (KIP-87)."""
        broker, name = self._broker, request.follower
        versions = broker.versions
        if versions is not None and request.version is not None and response.batches:
            batches, converted = as_served(
                broker.name,
                response.batches,
                understood=versions.understood,
                reader=name,
                version=request.version,
            )
            if converted:
                broker.context.emit_all(converted)
                response = replace(response, batches=batches)
        broker.network.send(broker.name, name, response)
