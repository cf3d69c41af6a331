"""A broker under the controller (commit: isr): leads or follows, and proposes in-sync sets.

Sources: Partition.maybeShrinkIsr and .maybeExpandIsr, ReplicaManager.maybeShrinkIsr (looks every
half `replica.lag.time.max.ms`), AlterPartitionManager.
"""

from __future__ import annotations

from simpy.events import ProcessGenerator

from sim.protocol.replication import messages as of
from sim.protocol.replication.joining import caught_up_ms, is_caught_up, wait_for_joining
from sim.protocol.replication.leader import expand_isr, may_join_isr, set_isr
from sim.simulate.cluster.broker import Membership
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Node


class IsrMembership(Membership):
    """A broker's knowledge of the partition's state, and its actions on it.

    Attributes:
        state: The newest state that the controller sent; at first one without replicas.
        asked_ms: Time in ms of its open request for another in-sync set; None without one.
    """

    def __init__(self, node: Node) -> None:
        """Starts without a state of the partition."""
        self._node = node
        self._lag_max_ms = node.context.scenario.timers.replica_lag_max_ms
        self._half_lag_ms = max(1, self._lag_max_ms // 2)
        self._registered = 0
        self.state = of.PartitionState(0, 0, None, (), {})
        self.asked_ms: int | None = None
        node.handlers[of.LeaderAndIsrRequest] = self._receive

    def register(self) -> None:
        """Registers the broker, which has started, with the controller."""
        node = self._node
        node.send(CONTROLLER, of.BrokerRegistrationRequest(node.name, node.incarnation))

    def reconnected(self) -> None:
        """Sends a heartbeat, to learn what was decided, or the registration while it is open."""
        node = self._node
        if not node.replica.up:
            return
        if self._registered == node.incarnation:
            node.send(CONTROLLER, of.BrokerHeartbeatRequest(node.name, node.incarnation))
        else:
            self.register()

    def restarted(self) -> None:
        """Registers the broker again, which does nothing before the controller answers."""
        self._node.fetcher.stop()
        self.register()

    def _receive(self, message: of.LeaderAndIsrRequest) -> None:
        """Acts on the controller's state, unless it is old or for another incarnation.

        Without a leader the replica stops leading or following
        (ReplicaManager.applyLocalFollowersDelta).
        """
        node, state = self._node, message.state
        if message.incarnation != node.incarnation:
            return
        self._registered = node.incarnation
        if state.partition_epoch <= self.state.partition_epoch:
            return
        self.state = state
        fetcher = node.fetcher
        if state.leader == node.name:
            self._lead(state)
            return
        node.sees(state.leader_epoch)
        if state.leader is None:
            node.resign()
            fetcher.stop()
        elif fetcher.leader != state.leader or fetcher.epoch != state.leader_epoch:
            node.resign()
            fetcher.follow(state.leader, state.leader_epoch)

    def _lead(self, state: of.PartitionState) -> None:
        node = self._node
        leader = node.leader
        if leader is None or leader.epoch != state.leader_epoch:
            leader = node.lead(state.leader_epoch, isr=state.isr, replicas=state.replicas)
            leader.processes.start(self._look_for_laggards(leader))
        self.asked_ms = None
        leadership = node.replica.leadership
        assert leadership is not None
        leadership.confirmed = None
        self._await(leader, state.isr)
        if set(leadership.isr) == set(state.isr):
            leadership.isr = state.isr
            leader.commit_what_is_known()
        else:
            leader.react(set_isr(node.replica, state.isr, rules=node.rules))

    def fetched(self, follower: str) -> None:
        """Admits a follower that has caught up, and asks the controller to confirm it."""
        node = self._node
        leader, leadership = node.leader, node.replica.leadership
        if leader is None or leadership is None or follower in leadership.isr:
            return
        if (
            self.asked_ms is None
            and self._is_eligible(leader, follower)
            and may_join_isr(node.replica, follower, rules=node.rules)
        ):
            leadership.confirmed = len(leadership.isr)
            leader.react(expand_isr(node.replica, follower, rules=node.rules))
            self._ask(leader, leadership.isr)
        self._await(leader, leadership.isr)

    def before_commit(self) -> None:
        """Updates which replicas the high watermark waits for, since time has passed."""
        leader, leadership = self._node.leader, self._node.replica.leadership
        if leader is not None and leadership is not None and leadership.awaited:
            self._await(leader, leadership.isr)

    def _is_eligible(self, leader: LeaderState, name: str) -> bool:
        """True when a replica may join: not fenced, in the incarnation that the controller knows.

        Source: Partition.isReplicaIsrEligible.
        """
        progress = leader.progress.get(name)
        return progress is not None and progress.replica_epoch == self.state.eligible.get(name)

    def _await(self, leader: LeaderState, isr: tuple[str, ...]) -> None:
        """Holds the high watermark back for those about to join `isr`, as the rules say."""
        node, state = self._node, self.state
        wait_for_joining(
            node.replica,
            state.replicas,
            isr=isr,
            eligible=[name for name in state.eligible if self._is_eligible(leader, name)],
            now_ms=node.context.now_ms,
            lag_max_ms=self._lag_max_ms,
            rules=node.rules,
        )

    def _look_for_laggards(self, leader: LeaderState) -> ProcessGenerator:
        """The process of a leader that looks for followers that lag behind for too long."""
        looks = 1
        while True:
            yield self._node.env.timeout(looks * self._half_lag_ms)
            # No follower can be late before `late_ms` are over, so looks in between are left out.
            late_ms = self._ask_without_laggards(leader)
            looks = max(1, -(-(late_ms + 1) // self._half_lag_ms))

    def _ask_without_laggards(self, leader: LeaderState) -> int:
        """Asks for a set without laggards, if there are any, or again without an answer in time.

        Returns the ms before whose end no follower can be late; 0 while a request is open.
        """
        node, now_ms, limit_ms = self._node, self._node.context.now_ms, self._lag_max_ms
        leadership = node.replica.leadership
        assert leadership is not None
        if self.asked_ms is not None and now_ms - self.asked_ms <= limit_ms:
            return 0
        followers = [name for name in leadership.isr if name != node.name]
        laggards = [
            name
            for name in followers
            if not is_caught_up(node.replica, name, now_ms=now_ms, lag_max_ms=limit_ms)
        ]
        if laggards or self.asked_ms is not None:
            in_sync = tuple(name for name in leadership.isr if name not in laggards)
            self._ask(leader, in_sync)
            return 0
        caught_up = [caught_up_ms(leadership, name) for name in followers]
        return min(caught_up, default=now_ms) + limit_ms - now_ms

    def _ask(self, leader: LeaderState, isr: tuple[str, ...]) -> None:
        node, known = self._node, self.state.partition_epoch
        self.asked_ms = node.context.now_ms
        node.send(CONTROLLER, of.AlterPartitionRequest(node.name, leader.epoch, known, isr))
