"""The controller (commit: isr): elects leaders and keeps the in-sync set; a broker's part in both.

The controller itself never fails, and its links lose nothing; but a partition cuts a replica off
from it, too. Sources: ReplicationControlManager, PartitionChangeBuilder, KIP-497 (AlterPartition),
KIP-966 (a restarted replica is out of the set); of a broker Partition.maybeShrinkIsr and
.maybeExpandIsr, ReplicaManager.maybeShrinkIsr (looks every half `replica.lag.time.max.ms`),
AlterPartitionManager.

Heartbeats that would say nothing new are not sent: they would arrive as long as the broker is up
and its link is not cut. So a session is at risk only when a fault ends one of the two, and the
controller looks at the end of the session timeout whether heartbeats would arrive again. That, and
what it does for faults and administrators, is all for which it looks at the replicas themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace
from simpy.events import ProcessGenerator

from sim.protocol.events import UncleanElection
from sim.protocol.events.cluster import ADMINISTRATOR, ANY_REPLICA, LAST_KNOWN_LEADER
from sim.protocol.replication import messages as of
from sim.protocol.replication.elections import (
    alone_in_sync,
    alter_partition,
    clean_choice,
    last_resort,
    led_by,
    with_isr,
)
from sim.protocol.replication.joining import caught_up_ms, is_caught_up, wait_for_joining
from sim.protocol.replication.leader import expand_isr, may_join_isr, set_isr
from sim.protocol.replication.messages import PartitionState
from sim.simulate.cluster.broker import Membership
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.elections import Elections
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.waiting import ProcessGroup


class Controller(Elections):
    """The controller of the partition: decides which replica leads, and which are in sync.

    Replicas learn of it after a latency. A replica that has sent nothing for `election_timeout_ms`
    is fenced: it leads no more, and leaves the in-sync set unless no other replica is in it. A
    leader that is cut off goes on as a zombie until it hears of its successor. With
    `eligible_leaders: elr` the set may become empty, and a replica that crashed counts as one that
    may have lost something. The loss of a disk makes no difference: a restarted replica is out of
    the set anyway.

    Attributes:
        state: Newest state of the partition.
    """

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts without registered replicas."""
        super().__init__(context, nodes)
        self._network = context.network
        self._rules = context.rules
        self._random = context.random("controller")
        self.state = PartitionState(0, 0, None, (), {})
        self._incarnations: dict[str, int] = {}
        self._sessions = defaultdict[str, ProcessGroup](lambda: ProcessGroup(context.env))
        self._handlers: dict[type, Callable[[Any], None]] = {
            of.BrokerRegistrationRequest: self._register,
            of.BrokerHeartbeatRequest: self._heartbeat,
            of.AlterPartitionRequest: self._alter,
        }

    def start(self) -> None:
        """Registers the replicas, all in sync, and makes the first one lead."""
        for node in self._nodes.values():
            node.membership = IsrMembership(node)
        names = tuple(self._nodes)
        self._network.add(CONTROLLER, self.receive)
        self._incarnations = dict.fromkeys(names, 1)
        self.state = PartitionState(1, 1, names[0], names, dict(self._incarnations), replicas=names)
        self._inform_all()

    def added(self, node: Node) -> None:
        """Lets a new replica register."""
        node.membership = IsrMembership(node)
        node.membership.register()

    def removed(self, node: Node) -> None:
        """Unassigns a replica that has left; it is in no set, and not informed any more."""
        name = node.name
        self._incarnations.pop(name, None)
        self._sessions[name].interrupt()
        self._change(self._without(name), fenced=(name,), unclean=(name,))

    def silenced(self, node: Node) -> None:
        """Starts the session timeout of a broker if its heartbeats do not arrive."""
        if not self._hears(node):
            lowest_ms, highest_ms = self._context.scenario.timers.election_timeout_ms
            timeout_ms = max(1, self._random.randint(lowest_ms, highest_ms))
            self._sessions[node.name].start(self._session(node, timeout_ms))

    def _session(self, node: Node, timeout_ms: int) -> ProcessGenerator:
        """The session timeout of a broker, which is fenced at its end; a message interrupts it."""
        yield self._context.env.timeout(timeout_ms)
        if not self._hears(node):
            self._change(self._without(node.name), fenced=(node.name,))

    def _hears(self, node: Node) -> bool:
        """True when heartbeats of a broker arrive: it is up, and its link is not cut."""
        return node.replica.up and self._network.reaches(node.name, CONTROLLER)

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Makes a replica lead for an administrator (ElectLeaders); False where it may not.

        Without `unclean` only a replica of the in-sync set may; with it, it is alone in the set.
        """
        name, state = node.name, self.state
        if not node.replica.up or name not in state.eligible or name == state.leader:
            return False
        if name in state.isr:
            state = alone_in_sync(state, name) if unclean else state
            self._set(led_by(state, name, rules=self._rules))
        elif unclean:
            self._set(self._elect_uncleanly(state, name, ADMINISTRATOR))
        else:
            return False
        self._inform_all()
        return True

    def may_wipe(self, node: Node) -> bool:
        """True when `node` is in no in-sync set that the controller or a leader knows.

        A replica that may be elected later for the records that it has keeps its disk, too.
        """
        name, state = node.name, self.state
        if name in state.isr or name in state.elr or name == state.last_known_leader:
            return False
        leaderships = [other.replica.leadership for other in self._nodes.values()]
        return not any(known is not None and name in known.isr for known in leaderships)

    def may_remove(self, node: Node) -> bool:
        """True when another replica leads, and enough are left to commit records."""
        leader, left = self.state.leader, len(self._nodes) - 1
        return leader not in (None, node.name) and left >= self._rules.topic.min_isr

    def receive(self, message: Any) -> None:
        """Takes a message of a broker."""
        self._handlers[type(message)](message)

    def _without(self, name: str) -> PartitionState:
        """The state in which a replica is not eligible."""
        left = {other: epoch for other, epoch in self.state.eligible.items() if other != name}
        return replace(self.state, eligible=left)

    def _register(self, request: of.BrokerRegistrationRequest) -> None:
        """Registers a broker that has started; one that restarted leaves the in-sync set."""
        name, incarnation = request.broker, request.incarnation
        known = self._incarnations.get(name)
        if known is not None and incarnation < known:
            return
        self._incarnations[name] = incarnation
        self._contact(name, fenced=(name,) if known not in (None, incarnation) else ())

    def _heartbeat(self, request: of.BrokerHeartbeatRequest) -> None:
        """Takes the heartbeat of a broker that can be heard again: unfences or informs it."""
        name = request.broker
        if request.incarnation != self._incarnations.get(name):
            return
        if name in self.state.eligible:
            self._sessions[name].interrupt()
            self._inform(name)
        else:
            self._contact(name)

    def _contact(self, name: str, fenced: tuple[str, ...] = ()) -> None:
        self._sessions[name].interrupt()
        eligible = {**self.state.eligible, name: self._incarnations[name]}
        self._change(replace(self.state, eligible=eligible), fenced=fenced, unclean=fenced)

    def _change(
        self,
        state: PartitionState,
        *,
        fenced: tuple[str, ...] = (),
        unclean: tuple[str, ...] = (),
    ) -> None:
        """Changes the partition, elects a leader if there is none, and informs all brokers.

        Args:
            state: The state with its eligible replicas.
            fenced: Replicas that leave the in-sync set, and lead no more, if possible.
            unclean: Those of them that may have lost records: they crashed, or were removed.
        """
        isr = tuple(n for n in state.isr if n not in fenced and n in state.eligible)
        state = with_isr(state, isr, unclean=unclean, rules=self._rules)
        leader = state.leader
        if leader is None or leader in fenced or leader not in state.eligible:
            state = self._elect(state)
        self._set(state)
        self._inform_all()

    def _set(self, state: PartitionState) -> None:
        self.state = replace(
            state, partition_epoch=state.partition_epoch + 1, replicas=tuple(self._incarnations)
        )

    def _elect(self, state: PartitionState) -> PartitionState:
        """Makes one of the replicas that may lead cleanly the leader of the next epoch.

        Without one the last leader leads, if the rules remember it; with `unclean_election` any
        replica that the controller hears from; otherwise the partition has no leader.
        """
        able = clean_choice(state)
        if able:
            return led_by(state, self._random.choice(able), rules=self._rules)
        last = last_resort(state)
        if last is not None:
            return self._elect_uncleanly(state, last, LAST_KNOWN_LEADER)
        if self._rules.election.unclean_election and state.eligible:
            chosen = self._random.choice(tuple(state.eligible))
            return self._elect_uncleanly(state, chosen, ANY_REPLICA)
        return replace(state, leader=None)

    def _elect_uncleanly(self, state: PartitionState, name: str, because: str) -> PartitionState:
        """Makes a replica the leader, alone in sync, whether it has all records or not."""
        self._context.emit(UncleanElection(name, state.leader_epoch + 1, because))
        return led_by(alone_in_sync(state, name), name, rules=self._rules)

    def _inform_all(self) -> None:
        for name in self._incarnations:
            self._inform(name)

    def _inform(self, name: str) -> None:
        message = of.LeaderAndIsrRequest(self._incarnations[name], self.state)
        self._network.send(CONTROLLER, name, message)

    def _alter(self, request: of.AlterPartitionRequest) -> None:
        """Accepts another in-sync set from the leader, or not, and answers with the state.

        The partition epoch grows either way, so that the leader takes the answer.
        """
        self._set(alter_partition(self.state, request, rules=self._rules))
        if request.leader in self._incarnations:
            self._inform(request.leader)


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
        self.state = PartitionState(0, 0, None, (), {})
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

    def _lead(self, state: PartitionState) -> None:
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
