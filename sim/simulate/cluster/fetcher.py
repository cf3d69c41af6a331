"""A follower's life: ask where epochs end, fetch in a loop, try again without an answer.

Only `truncation: epoch_kip101` and `epoch_kip279` have something to ask before the first fetch;
with the other modes a new follower fetches at once.
"""

from __future__ import annotations

from simpy import Event
from simpy.events import ProcessGenerator

from sim.protocol.replication.cleaning import take_log_start
from sim.protocol.replication.follower import ReceiveResult, fetch_request, receive_fetch
from sim.protocol.replication.messages import (
    NO_ERROR,
    RECORDS,
    ErrorCode,
    FetchResponse,
    FetchSnapshotResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from sim.protocol.replication.snapshots.fetch import receive_snapshot_chunk, snapshot_request
from sim.protocol.replication.truncation import receive_offsets_for_leader_epoch, start_following
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.snapshot_tasks import StateLoader
from sim.simulate.cluster.waiting import Lives, Waiting


class Fetcher:
    """The fetch loop of one replica; it has at most one request on its way.

    Attributes:
        leader: Whom it follows; None = nobody.
        epoch: The epoch in which it follows.
        number: The correlation id of its last request.
        slow_ms: While a fault slows it down: pause between two fetches in ms; 0 = none.
        fetched: Whether the leader that it follows has answered a fetch.
        acknowledged: The offset of its last fetch: acknowledged, so flushed before
            (KafkaRaftClient.appendAsFollower).
    """

    def __init__(self, broker: Broker, loader: StateLoader) -> None:
        """A follower of nobody."""
        self._broker = broker
        self._loader = loader
        self.leader: str | None = None
        self.epoch = 0
        self.number = 0
        self.slow_ms = 0
        self.fetched = False
        self.acknowledged = 0
        self._lives = Lives(broker.env)
        self._waiting = Waiting(broker.env)
        self._first = 0
        scenario = broker.context.scenario
        timers = scenario.timers
        self._retry_ms = timers.fetch_retry_ms
        self._timeout_ms = (
            timers.fetch_wait_ms + timers.fetch_retry_ms + 2 * broker.network.slowest_ms
        )
        self._max_bytes = scenario.topic.replica_fetch_max_bytes
        self._chunk_bytes = scenario.snapshots.chunk_bytes

    def follow(self, leader: str, epoch: int) -> None:
        """Follow another leader, or the same one in a new epoch."""
        broker = self._broker
        self.fetched = self.fetched and (self.leader, self.epoch) == (leader, epoch)
        self.leader = leader
        self.epoch = epoch
        self._lives.interrupt()
        result = start_following(broker.replica, epoch, rules=broker.rules)
        broker.context.emit_all(result.events)
        self._lives.start(self._replicate(leader, result.request))

    def stop(self) -> None:
        """Follow nobody; an answer on its way is ignored."""
        self.leader = None
        self._forget_request()

    def interrupt(self) -> None:
        """Forget the request on its way, as a crash does, and that there was an answer before."""
        self.fetched = False
        self._forget_request()
        self._first = self.number

    def _forget_request(self) -> None:
        self.number += 1
        self._waiting.forget()
        self._lives.interrupt()

    def resume(self) -> None:
        """After a restart: follow whom it followed before, if anybody."""
        self.acknowledged = self._broker.replica.log.log_end_offset
        if self.leader is not None:
            self.follow(self.leader, self.epoch)

    def receive(self, response: FetchResponse) -> None:
        """A fetch was answered.

        Without `response_fencing` it counts that an answer comes, not to which request.
        """
        if response.correlation_id == self.number:
            self._waiting.end(response)
        elif not (
            self._broker.rules.replication.response_fencing or response.correlation_id < self._first
        ):
            self._broker.sees(response.epoch)
            self._take(response)

    def receive_other(
        self, response: OffsetsForLeaderEpochResponse | FetchSnapshotResponse
    ) -> None:
        """The leader said where an epoch ends, or sent a chunk of a snapshot."""
        if response.correlation_id == self.number:
            self._waiting.end(response)

    def _replicate(
        self, leader: str, question: OffsetsForLeaderEpochRequest | None
    ) -> ProcessGenerator:
        """A follower's life, until a crash or another leader interrupts it."""
        replica = self._broker.replica
        while question is not None:
            response = yield self._ask_where_an_epoch_ends(leader, question)
            if response is not None and response.error is not NO_ERROR:
                yield self._waiting.pause(self._retry_ms, self._timeout_ms)
            elif response is not None:
                question = self._truncate(question, response)
        while replica.up and not replica.fetching_failed:
            if replica.download is None:
                response = yield self._fetch(leader)
                pause_ms = 0 if response is None else self._append(response)
            else:
                response = yield self._fetch_chunk(leader)
                pause_ms = 0 if response is None else self._take_chunk(response)
            if pause_ms:
                yield self._waiting.pause(pause_ms, self._timeout_ms)

    def _ask_where_an_epoch_ends(
        self, leader: str, question: OffsetsForLeaderEpochRequest
    ) -> Event:
        self.number += 1
        self._broker.send(leader, question._replace(correlation_id=self.number))
        return self._waiting.begin(self._timeout_ms)

    def _truncate(
        self, question: OffsetsForLeaderEpochRequest, response: OffsetsForLeaderEpochResponse
    ) -> OffsetsForLeaderEpochRequest | None:
        """Cut what an answer says, as the rules want; what is to be asked next, if anything."""
        broker = self._broker
        result = receive_offsets_for_leader_epoch(
            broker.replica, question, response, rules=broker.rules
        )
        broker.context.emit_all(result.events)
        return result.request

    def _fetch(self, leader: str) -> Event:
        broker = self._broker
        versions = broker.versions
        self.number += 1
        request = fetch_request(
            broker.replica,
            1 if self.slow_ms else None,
            self._max_bytes,
            broker.incarnation,
            None if versions is None else versions.fetch_version,
            self.number,
        )
        self.acknowledged = request.offset
        broker.network.send(broker.name, leader, request)
        return self._waiting.begin(self._timeout_ms)

    def _append(self, response: FetchResponse) -> int:
        """Do what the leader answered; in how many ms to go on."""
        broker = self._broker
        result = self._take(response)
        if response.answer is RECORDS:
            broker.heard_ms = broker.context.now_ms
            self.fetched = True
            if broker.context.retention is not None:
                broker.context.emit_all(take_log_start(broker.replica, response.log_start_offset))
        else:
            if result.rebuilt:
                broker.rebuilt(response.fetch_offset)
            if result.retry_later:
                return self._retry_ms
        return self.slow_ms

    def _take(self, response: FetchResponse) -> ReceiveResult:
        """Do what an answer says."""
        broker = self._broker
        result = receive_fetch(broker.replica, response, broker.rules, broker.now_ms)
        if result.events:
            broker.context.emit_all(result.events)
            if result.committed:
                broker.high_watermark_moved()
        return result

    def _fetch_chunk(self, leader: str) -> Event:
        broker = self._broker
        self.number += 1
        request = snapshot_request(
            broker.replica, max_bytes=self._chunk_bytes, correlation_id=self.number
        )
        broker.send(leader, request)
        return self._waiting.begin(self._timeout_ms)

    def _take_chunk(self, response: FetchSnapshotResponse) -> int:
        """A chunk of a snapshot, or the reason why there is none; in how many ms to go on."""
        broker = self._broker
        if response.error in (NO_ERROR, ErrorCode.SNAPSHOT_NOT_FOUND):
            broker.heard_ms = broker.context.now_ms
            self.fetched = True
        crashes = broker.crash_at_install
        result = receive_snapshot_chunk(
            broker.replica, response, rules=broker.rules, crash_before_install=crashes
        )
        broker.context.emit_all(result.events)
        if crashes and result.complete:
            broker.crash_at_install = False
            broker.context.crash(broker.name, "install")
        elif result.installed:
            self._loader.begin()
        return 0 if result.events else self._retry_ms
