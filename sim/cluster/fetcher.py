"""What a follower does in time: ask where epochs end, fetch in a loop, try again without an answer.

Only `truncation: epoch_kip101` and `epoch_kip279` have something to ask before the first fetch;
with the other modes a new follower fetches at once.
"""

from __future__ import annotations

from typing import Protocol

from sim.cluster.broker import Broker
from sim.cluster.loading import StateLoader
from sim.replication.follower import ReceiveResult, fetch_request, receive_fetch
from sim.replication.messages import (
    NO_ERROR,
    RECORDS,
    FetchResponse,
    FetchSnapshotResponse,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
    SnapshotError,
)
from sim.replication.retention import take_log_start
from sim.replication.snapshots.fetch import receive_snapshot_chunk, snapshot_request
from sim.replication.truncation import receive_offsets_for_leader_epoch, start_following


class Follower(Protocol):
    """What a fetcher tells the rest of its replica."""

    def sees(self, epoch: int) -> None:
        """An epoch was heard of."""

    def rebuilt(self, log_end_offset: int) -> None:
        """The log begins anew; it ended at that offset (exclusive) before."""


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

    def __init__(self, broker: Broker, follower: Follower, loader: StateLoader) -> None:
        """A follower of nobody."""
        self._broker = broker
        self._follower = follower
        self._loader = loader
        self.leader: str | None = None
        self.epoch = 0
        self.number = 0
        self.slow_ms = 0
        self.fetched = False
        self.acknowledged = 0
        self._question: OffsetsForLeaderEpochRequest | None = None
        self._first = 0
        self._deadline_ms = 0
        self._timed = False
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
        result = start_following(broker.replica, epoch, rules=broker.rules)
        broker.context.emit_all(result.events)
        self._question = result.request
        self.ask()

    def stop(self) -> None:
        """Follow nobody; an answer on its way is ignored."""
        self.leader = None
        self.number += 1

    def interrupt(self) -> None:
        """Forget the request on its way, as a crash does, and that there was an answer before."""
        self.fetched = False
        self.number += 1
        self._first = self.number

    def resume(self) -> None:
        """After a restart: follow whom it followed before, if anybody."""
        self.acknowledged = self._broker.replica.log.log_end_offset
        if self.leader is not None:
            self.follow(self.leader, self.epoch)

    def ask(self) -> None:
        """Send the next request: about epochs, for batches, or for a chunk of a snapshot."""
        broker, leader = self._broker, self.leader
        replica = broker.replica
        if leader is None or not replica.up:
            return
        self.number = number = self.number + 1
        context = broker.context
        self._deadline_ms = context.now_ms + self._timeout_ms
        if not self._timed:
            self._timed = True
            context.after(self._timeout_ms, self._end_wait)
        if self._question is not None:
            broker.send(leader, self._question._replace(correlation_id=number))
        elif replica.download is not None:
            broker.send(
                leader,
                snapshot_request(replica, max_bytes=self._chunk_bytes, correlation_id=number),
            )
        else:
            versions = broker.versions
            request = fetch_request(
                replica,
                max_batches=1 if self.slow_ms else None,
                max_bytes=self._max_bytes,
                replica_epoch=broker.incarnation,
                version=None if versions is None else versions.fetch_version,
                correlation_id=number,
            )
            self.acknowledged = request.offset
            broker.network.send(broker.name, leader, request)

    def _end_wait(self) -> None:
        """Ask again when the deadline of the last request has passed without an answer."""
        self._timed = False
        broker = self._broker
        if self.leader is None or not broker.replica.up:
            return
        left_ms = self._deadline_ms - broker.context.now_ms
        if left_ms <= 0:
            self.ask()
        else:
            self._timed = True
            broker.context.after(left_ms, self._end_wait)

    def _again(self, number: int) -> None:
        if number == self.number:
            self.ask()

    def _later(self, delay_ms: int) -> None:
        context = self._broker.context
        self._deadline_ms = context.now_ms + delay_ms + self._timeout_ms
        context.after(delay_ms, self._again, self.number)

    def receive_epoch_end(self, response: OffsetsForLeaderEpochResponse) -> None:
        """The leader said where an epoch ends, or why it does not."""
        broker, question = self._broker, self._question
        if response.correlation_id != self.number or question is None:
            return
        if response.error is not NO_ERROR:
            self._later(self._retry_ms)
            return
        result = receive_offsets_for_leader_epoch(
            broker.replica, question, response, rules=broker.rules
        )
        broker.context.emit_all(result.events)
        self._question = result.request
        self.ask()

    def receive(self, response: FetchResponse) -> None:
        """A fetch was answered."""
        broker = self._broker
        if response.correlation_id != self.number:
            self._receive_stale(response)
            return
        result = self._take(response)
        if response.answer is RECORDS:
            broker.heard_ms = broker.context.now_ms
            self.fetched = True
            if broker.context.retention is not None:
                broker.context.emit_all(take_log_start(broker.replica, response.log_start_offset))
        else:
            if result.rebuilt:
                self._follower.rebuilt(response.fetch_offset)
            if result.retry_later:
                self._later(self._retry_ms)
                return
        if self.slow_ms:
            self._later(self.slow_ms)
        else:
            self.ask()

    def _receive_stale(self, response: FetchResponse) -> None:
        """Without `response_fencing` it counts that an answer comes, not to which request."""
        if self._broker.rules.replication.response_fencing or response.correlation_id < self._first:
            return
        self._follower.sees(response.epoch)
        self._take(response)

    def _take(self, response: FetchResponse) -> ReceiveResult:
        """Do what an answer says."""
        broker = self._broker
        result = receive_fetch(broker.replica, response, rules=broker.rules, now_ms=broker.now_ms)
        if result.events:
            broker.context.emit_all(result.events)
            if result.committed:
                broker.high_watermark_moved()
        return result

    def receive_chunk(self, response: FetchSnapshotResponse) -> None:
        """A chunk of a snapshot arrived, or the reason why there is none."""
        broker = self._broker
        if response.correlation_id != self.number:
            return
        if response.error in (None, SnapshotError.SNAPSHOT_NOT_FOUND):
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
            return
        if result.installed:
            self._loader.begin()
        if result.events:
            self.ask()
        else:
            self._later(self._retry_ms)
