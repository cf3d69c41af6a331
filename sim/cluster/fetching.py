"""What a follower does in time: greet its leader, fetch in a loop, try again without an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sim.cluster.converting import as_fetched
from sim.replication.follower import ReceiveResult, fetch_request, receive_fetch
from sim.replication.messages import (
    Answer,
    ErrorCode,
    FetchResponse,
    FetchSnapshotResponse,
    SnapshotError,
)
from sim.replication.retention import take_log_start
from sim.replication.snapshots.fetch import receive_snapshot_chunk, snapshot_request
from sim.replication.truncation import (
    answer_offsets_for_leader_epoch,
    receive_offsets_for_leader_epoch,
    start_following,
)

if TYPE_CHECKING:
    from sim.cluster.node import Node


class Fetcher:
    """The fetch loop of one replica; it has at most one request on its way.

    Attributes:
        leader: Whom it follows; None = nobody.
        epoch: The epoch in which it follows.
        slow_ms: While a fault slows it down: pause between two fetches in ms; 0 = none.
        interruption: A crash that waits for the next snapshot: its file is there, the log is not
            emptied for it yet.
        acknowledged: The offset of its last fetch: acknowledged, so flushed before
            (KafkaRaftClient.appendAsFollower).
    """

    __slots__ = (
        "_deadline_ms",
        "_first",
        "_greeted",
        "_node",
        "_number",
        "_timeout_ms",
        "_watching",
        "acknowledged",
        "epoch",
        "interruption",
        "leader",
        "slow_ms",
    )

    def __init__(self, node: Node) -> None:
        """A follower of nobody."""
        self._node = node
        self.leader: str | None = None
        self.epoch = 0
        self.slow_ms = 0
        self.interruption: Callable[[], None] | None = None
        self.acknowledged = 0
        self._greeted = False
        self._first = 0
        self._number = 0
        self._deadline_ms = 0
        self._watching = False
        timers = node.world.scenario.timers
        self._timeout_ms = (
            timers.fetch_wait_ms + timers.fetch_retry_ms + 2 * node.world.network.slowest_ms
        )

    def follow(self, leader: str, epoch: int) -> None:
        """Follow another leader, or the same one in a new epoch."""
        self.leader = leader
        self.epoch = epoch
        self._greeted = False
        self.ask()

    def stop(self) -> None:
        """Follow nobody; an answer on its way is ignored."""
        self.leader = None
        self._number += 1

    def interrupt(self) -> None:
        """Forget the request on its way, as a crash does; `ask` goes on."""
        self._number += 1
        self._first = self._number
        self._greeted = False

    def ask(self) -> None:
        """Send the next request: a greeting first, then fetches, or chunks of a snapshot.

        The greeting stands for what followers ask on becoming one (OffsetsForLeaderEpoch in
        KIP-101); what it leads to is decided by `sim.replication.truncation`.
        """
        node = self._node
        replica, leader = node.replica, self.leader
        if leader is None or not replica.up:
            return
        world = node.world
        self._number = number = self._number + 1
        self._deadline_ms = world.clock.now_ms + self._timeout_ms
        if not self._watching:
            self._watching = True
            world.clock.after(self._timeout_ms, self._watch)
        target = world.nodes.get(leader)
        if target is None:
            return  # it has left, and somebody else leads; the watch goes on
        send = world.network.send
        if not self._greeted:
            send(node.name, leader, target.answer_greeting, node, number, self.epoch)
        elif replica.download is not None:
            chunk = snapshot_request(replica, max_bytes=world.scenario.snapshots.chunk_bytes)
            send(node.name, leader, target.answer_chunk, node, number, chunk)
        else:
            request = fetch_request(
                replica,
                max_batches=1 if self.slow_ms else None,
                max_bytes=world.scenario.topic.replica_fetch_max_bytes,
            )
            self.acknowledged = request.offset
            send(node.name, leader, target.answer_fetch, node, node.incarnation, number, request)

    def waits_for(self, number: int) -> bool:
        """Whether the answer to request `number` would be followed by the same request at once."""
        return number == self._number and not self.slow_ms and self._node.replica.up

    def wait_on(self) -> None:
        """The request on its way goes on waiting, as if it had been asked again."""
        self._deadline_ms = self._node.world.clock.now_ms + self._timeout_ms

    def _watch(self) -> None:
        """Ask again when the deadline of the last request has passed without an answer."""
        self._watching = False
        node = self._node
        if self.leader is None or not node.replica.up:
            return
        clock = node.world.clock
        if clock.now_ms >= self._deadline_ms:
            self.ask()
        else:
            self._watching = True
            clock.after(self._deadline_ms - clock.now_ms, self._watch)

    def _again(self, number: int) -> None:
        if number == self._number:
            self.ask()

    def _later(self, delay_ms: int) -> None:
        clock = self._node.world.clock
        self._deadline_ms = clock.now_ms + delay_ms + self._timeout_ms
        clock.after(delay_ms, self._again, self._number)

    def greeted(self, number: int, leader: Node, epoch: int) -> None:
        """Whom this replica takes for the leader of `epoch` says hello."""
        node = self._node
        if number != self._number or not node.replica.up:
            return
        if leader.replica.epoch < epoch:
            self._later(node.world.scenario.timers.fetch_retry_ms)
            return
        rules = node.rules
        result = start_following(node.replica, leader.replica.epoch, rules=rules)
        node.world.tell(result.events)
        while (request := result.request) is not None:
            response = answer_offsets_for_leader_epoch(leader.replica, request, rules=rules)
            if response.error is not ErrorCode.NONE:
                self._later(node.world.scenario.timers.fetch_retry_ms)
                return
            result = receive_offsets_for_leader_epoch(node.replica, request, response, rules=rules)
            node.world.tell(result.events)
        self._greeted = True
        self.ask()

    def receive(self, number: int, response: FetchResponse) -> None:
        """A fetch was answered."""
        node = self._node
        replica = node.replica
        if number != self._number or not replica.up:
            self._receive_stale(number, response)
            return
        world = node.world
        result = self._take(response)
        events = result.events
        if response.answer is Answer.RECORDS:
            node.heard_ms = world.clock.now_ms
            if events and node.snapshotter.watches:
                node.snapshotter.committed()
            if world.retention is not None:
                world.tell(take_log_start(replica, response.log_start_offset))
        else:
            if result.rebuilt:
                world.elections.wiped(node)
            if result.retry_later:
                self._later(world.scenario.timers.fetch_retry_ms)
                return
        if self.slow_ms:
            self._later(self.slow_ms)
        else:
            self.ask()

    def _receive_stale(self, number: int, response: FetchResponse) -> None:
        """Without `response_fencing` it counts that an answer comes, not to which request."""
        node = self._node
        if node.rules.replication.response_fencing or number < self._first or not node.replica.up:
            return
        node.sees(response.epoch)
        self._take(response)

    def _take(self, response: FetchResponse) -> ReceiveResult:
        """Do what an answer says."""
        node = self._node
        world = node.world
        if response.batches and node.versions is not None:
            batches, told = as_fetched(world.nodes[response.leader], node, response.batches)
            response = response._replace(batches=batches)
            world.tell(told)
        result = receive_fetch(node.replica, response, rules=node.rules, now_ms=node.now_ms)
        world.tell(result.events)
        return result

    def receive_chunk(self, number: int, response: FetchSnapshotResponse) -> None:
        """A chunk of a snapshot arrived, or the reason why there is none."""
        node = self._node
        if number != self._number or not node.replica.up:
            return
        if response.error in (None, SnapshotError.SNAPSHOT_NOT_FOUND):
            node.heard_ms = node.world.clock.now_ms
        crash, replica = self.interruption, node.replica
        result = receive_snapshot_chunk(
            replica, response, rules=node.rules, crash_before_install=crash is not None
        )
        node.world.tell(result.events)
        if crash is not None and result.complete:
            self.interruption = None
            crash()
            return
        if result.installed:
            node.loader.begin()
        if result.events:
            self.ask()
        else:
            self._later(node.world.scenario.timers.fetch_retry_ms)
