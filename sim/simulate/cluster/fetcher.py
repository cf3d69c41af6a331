"""The process of a follower: asks where epochs end, then fetches again and again.

Only `truncation: epoch_kip101` and `epoch_kip279` have something to ask before the first fetch;
with the other modes a new follower fetches at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from simpy.events import ProcessGenerator

from sim.protocol.replication import messages as of
from sim.protocol.replication.cleaning import take_log_start
from sim.protocol.replication.follower import fetch_request, receive_fetch
from sim.protocol.replication.snapshots import receive_snapshot_chunk, snapshot_request
from sim.protocol.replication.truncation import receive_offsets_for_leader_epoch, start_following
from sim.simulate.cluster.background import StateLoader
from sim.simulate.cluster.broker import Broker
from sim.simulate.cluster.waiting import Patience, ProcessGroup

Request = of.FetchRequest | of.FetchSnapshotRequest | of.OffsetsForLeaderEpochRequest
"""A request of a follower to a leader."""
Response = of.FetchResponse | of.FetchSnapshotResponse | of.OffsetsForLeaderEpochResponse
"""A response of a leader to a follower."""


class Fetcher:
    """The fetch loop of one replica; it has at most one request on its way.

    Attributes:
        leader: Name of the leader that it follows; None without one.
        epoch: The epoch in which it follows.
        number: Correlation id of its last request; a higher number once that is forgotten.
        slow_ms: Pause in ms between two fetches while a fault slows it down; 0 without such a
            fault.
        fetched: Whether the leader that it follows has served a fetch since the last crash.
    """

    def __init__(self, broker: Broker, loader: StateLoader) -> None:
        """Starts without a leader to follow."""
        self._broker = broker
        self._loader = loader
        self.leader: str | None = None
        self.epoch = 0
        self.number = 0
        self.slow_ms = 0
        self.fetched = False
        self._processes = ProcessGroup(broker.env)
        self._patience = Patience(broker.env)
        self._answer = broker.env.event()
        self._first = 0
        self._question: of.OffsetsForLeaderEpochRequest | None = None
        self._takers: dict[type, Callable[[Any], int]] = {
            of.FetchResponse: self._append,
            of.FetchSnapshotResponse: self._take_chunk,
            of.OffsetsForLeaderEpochResponse: self._truncate,
        }
        self._retry_ms = broker.context.scenario.timers.fetch_retry_ms

    def follow(self, leader: str, epoch: int) -> None:
        """Follows another leader, or the same one in a new epoch."""
        broker = self._broker
        self.fetched = self.fetched and (self.leader, self.epoch) == (leader, epoch)
        self.leader = leader
        self.epoch = epoch
        self._processes.interrupt()
        result = start_following(broker.replica, epoch, rules=broker.rules)
        broker.context.emit_all(result.events)
        self._question = result.request
        self._processes.start(self._replicate(leader))

    def stop(self) -> None:
        """Stops following; an answer on its way is ignored."""
        self.leader = None
        self._forget_request()

    def interrupt(self) -> None:
        """Forgets the request on its way and all earlier answers, as a crash does."""
        self.fetched = False
        self._forget_request()
        self._first = self.number

    def _forget_request(self) -> None:
        self.number += 1
        self._processes.interrupt()

    def resume(self) -> None:
        """Follows the leader of before a restart again, if there was one."""
        if self.leader is not None:
            self.follow(self.leader, self.epoch)

    def receive(self, response: Response) -> None:
        """Takes the answer to the last request.

        With `commit: majority` who hears of a later epoch from a chunk follows nobody until it
        hears who leads (KafkaRaftClient.maybeHandleCommonResponse). Without `response_fencing` any
        answer to a fetch since the last crash will do.
        """
        number, answer = response.correlation_id, self._answer
        if number != self.number:
            fenced = self._broker.rules.replication.response_fencing
            if fenced or type(response) is not of.FetchResponse or number < self._first:
                return
        fences = self._broker.rules.replication.fencing
        if fences and type(response) is of.FetchSnapshotResponse and response.epoch > self.epoch:
            self._broker.membership.heard_epoch(response.epoch)
        if not answer.triggered:
            answer.succeed(response)

    def _replicate(self, leader: str) -> ProcessGenerator:
        """The process that fetches from a leader until a crash or another leader interrupts it."""
        broker = self._broker
        replica, timeout_ms = broker.replica, broker.context.fetch_timeout_ms
        while self._question is not None or (replica.up and not replica.fetching_failed):
            self.number += 1
            broker.network.send(broker.name, leader, self._request())
            self._answer = self._patience.answer_within(timeout_ms)
            response = yield self._answer
            if response is not None:
                pause_ms = self._takers[type(response)](response)
                if pause_ms:
                    yield broker.env.timeout(pause_ms)

    def _request(self) -> Request:
        """Builds the next request: where an epoch ends, for a chunk of a snapshot, or a fetch."""
        broker, number, scenario = self._broker, self.number, self._broker.context.scenario
        if self._question is not None:
            return replace(self._question, correlation_id=number)
        if broker.replica.download is not None:
            chunk = snapshot_request(
                broker.replica, max_bytes=scenario.snapshots.chunk_bytes, correlation_id=number
            )
            assert chunk is not None
            return chunk
        versions = broker.versions
        return fetch_request(
            broker.replica,
            1 if self.slow_ms else None,
            scenario.topic.replica_fetch_max_bytes,
            broker.incarnation,
            None if versions is None else versions.fetch_version,
            number,
        )

    def _truncate(self, response: of.OffsetsForLeaderEpochResponse) -> int:
        """Truncates the log to the end of an epoch; returns the pause in ms after it."""
        question, broker = self._question, self._broker
        assert question is not None
        if response.error is not of.NO_ERROR:
            return self._retry_ms
        result = receive_offsets_for_leader_epoch(
            broker.replica, question, response, rules=broker.rules
        )
        broker.context.emit_all(result.events)
        self._question = result.request
        return 0

    def _append(self, response: of.FetchResponse) -> int:
        """Acts on the answer to a fetch; returns the pause in ms after it."""
        broker = self._broker
        now_ms = broker.context.now_ms
        result = receive_fetch(broker.replica, response, broker.rules, now_ms + broker.skew_ms)
        if result.events:
            broker.context.emit_all(result.events)
            if result.committed:
                broker.high_watermark_moved()
        if response.answer in of.SUCCESSFUL:
            broker.heard_ms = now_ms
            self.fetched = True
        if response.answer is of.RECORDS and broker.context.retention is not None:
            broker.context.emit_all(take_log_start(broker.replica, response.log_start_offset))
        elif result.rebuilt:
            broker.membership.rebuilt(response.fetch_offset)
        return self._retry_ms if result.retry_later else self.slow_ms

    def _take_chunk(self, response: of.FetchSnapshotResponse) -> int:
        """Takes a chunk of a snapshot, or an error; returns the pause in ms after it."""
        broker = self._broker
        if response.error in (of.NO_ERROR, of.ErrorCode.SNAPSHOT_NOT_FOUND):
            broker.heard_ms = broker.context.now_ms
            self.fetched = True
        crash = broker.crashes.get("install")
        result = receive_snapshot_chunk(
            broker.replica, response, rules=broker.rules, crash_before_install=crash is not None
        )
        broker.context.emit_all(result.events)
        if crash is not None and result.complete:
            del broker.crashes["install"]
            crash.happen()
        elif result.installed:
            self._loader.begin()
        return 0 if result.events else self._retry_ms
