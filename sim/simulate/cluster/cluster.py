"""A simulated cluster seen from above: its replicas, which may join and leave, and its elections.

Faults, administrators and the end of a run act from above: they read the true state of replicas,
and need no message to change it. Brokers do not import this module. Who leads is decided in
`controller` and `quorum`, by the rules of `sim.protocol.replication.elections`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sim.protocol.events import ConfigChanged, Event, ReplicaAdded, ReplicaRemoved
from sim.protocol.replication.leader import can_do_without
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.controller import Controller, IsrMembership
from sim.simulate.cluster.network import CONTROLLER
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from sim.simulate.cluster.removal import RemovalCoordination
from sim.simulate.scenario.model import Scenario


class Elections(ABC):
    """Elections by a controller (commit: isr) or by the voters themselves (majority).

    Each kind overrides the methods that it needs.
    """

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts before the first election; `nodes` are those of the cluster, by name."""
        self._context = context
        self._nodes = nodes

    def leading(self) -> Node | None:
        """The newest leader if it is up and still leads."""
        newest = self._context.leader
        node = None if newest is None else self._nodes[newest[1]]
        return node if node is not None and node.leader is not None else None

    @abstractmethod
    def start(self) -> None:
        """Elects the first leader."""

    @abstractmethod
    def added(self, node: Node) -> None:
        """Takes in a replica that has joined."""

    @abstractmethod
    def removed(self, node: Node) -> None:
        """Drops a replica that has left for good."""

    def silenced(self, node: Node) -> None:
        """Notes that a replica went down, or that some of its messages do not arrive any more."""

    def wiped(self, node: Node) -> None:
        """Notes that a replica lost its disk."""

    @abstractmethod
    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Makes `node` lead for an administrator; False when that is not possible now."""

    @abstractmethod
    def may_wipe(self, node: Node) -> bool:
        """True when no committed record or vote depends on the disk of `node`."""

    @abstractmethod
    def may_remove(self, node: Node) -> bool:
        """True when the other replicas can do without `node` and its disk for good."""


class ControllerElections(Elections):
    """Elections by a controller.

    The loss of a disk makes no difference here: a restarted replica is out of the in-sync set
    anyway.

    Attributes:
        controller: The controller of the partition.
    """

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts without registered replicas."""
        super().__init__(context, nodes)
        self.controller = Controller(context, self._hears)

    def _hears(self, name: str) -> bool:
        """True when heartbeats of a replica arrive: it is up, and its link is not cut."""
        node = self._nodes.get(name)
        return (
            node is not None and node.replica.up and self._context.network.reaches(name, CONTROLLER)
        )

    def start(self) -> None:
        """Puts all replicas in sync, and makes the first one lead."""
        for node in self._nodes.values():
            node.membership = IsrMembership(node)
        self.controller.start(tuple(self._nodes))

    def added(self, node: Node) -> None:
        """Lets a new replica register."""
        node.membership = IsrMembership(node)
        node.membership.register()

    def silenced(self, node: Node) -> None:
        """Puts the session of a replica at risk if its heartbeats do not arrive."""
        if not self._hears(node.name):
            self.controller.session_at_risk(node.name)

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Makes `node` lead; cleanly only from within the in-sync set."""
        return node.replica.up and self.controller.elect(node.name, unclean=unclean)

    def may_wipe(self, node: Node) -> bool:
        """True when `node` is in no in-sync set that the controller or a leader knows.

        A replica that may be elected later for the records that it has keeps its disk, too.
        """
        name, state = node.name, self.controller.state
        if name in state.isr or name in state.elr or name == state.last_known_leader:
            return False
        leaderships = [other.replica.leadership for other in self._nodes.values()]
        return not any(known is not None and name in known.isr for known in leaderships)

    def may_remove(self, node: Node) -> bool:
        """True when another replica leads, and enough are left to commit records."""
        leader, left = self.controller.state.leader, len(self._nodes) - 1
        return leader not in (None, node.name) and left >= self._context.rules.topic.min_isr

    def removed(self, node: Node) -> None:
        """Unassigns a replica that has left for good."""
        self.controller.unassign(node.name)


class QuorumElections(Elections):
    """Elections by the voters, which find out by themselves which replicas can be reached."""

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts with an empty set of voters."""
        super().__init__(context, nodes)
        self._voters: tuple[str, ...] = ()
        self._members: dict[str, QuorumMembership] = {}

    def _join(self, node: Node) -> QuorumMembership:
        member = QuorumMembership(node, self._voters)
        node.membership = self._members[node.name] = member
        return member

    def start(self) -> None:
        """Makes every replica a voter; the first one campaigns at once."""
        self._voters = tuple(self._nodes)
        for node in self._nodes.values():
            self._join(node).wait_for_leader()
        next(iter(self._members.values())).campaign()

    def added(self, node: Node) -> None:
        """Takes in an observer, to which the leader announces itself.

        In Kafka the observer finds the leader by its first fetch, which goes to any voter.
        """
        self._join(node)
        leader = self.leading()
        if leader is not None:
            self._members[leader.name].announce(node.name)

    def wiped(self, node: Node) -> None:
        """Replaces the disk of a voter, which may not vote before it has caught up.

        A voter is known by its disk, too (KIP-853, directory ids), so acknowledgements of the old
        disk count no more.
        """
        for other in self._nodes.values():
            if other.leader is not None:
                other.leader.forget(node.name, node.incarnation)
        self._members[node.name].rebuilt(self._context.committed)

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Lets the leader resign for `node`, or for others, as the rule `successors` says."""
        del unclean
        leader = self.leading()
        if leader is None:
            return False
        if self._context.rules.election.successors == "named" and not node.replica.up:
            return False
        return self._members[leader.name].hand_over(node.name)

    def may_wipe(self, node: Node) -> bool:
        """True with two other voters or more, none of which has yet to recover from a lost disk."""
        others = [self._members[name] for name in self._voters if name != node.name]
        return len(others) > 1 and not any(member.barred for member in others)

    def may_remove(self, node: Node) -> bool:
        """True when a majority of the other voters has all committed records, or it is no voter."""
        leader = self.leading()
        able = leader is not None and can_do_without(
            leader.replica, node.name, self._context.committed
        )
        return able or node.name not in self._voters

    def removed(self, node: Node) -> None:
        """Counts majorities over the other voters from now on (KIP-853, RemoveVoter)."""
        del self._members[node.name]
        self._voters = tuple(name for name in self._voters if name != node.name)
        for member in self._members.values():
            member.voters = self._voters
        leader = self.leading()
        if leader is not None and leader.leader is not None:
            leader.leader.count_over(self._voters)


class Cluster:
    """The replicas of one simulated cluster.

    Replicas know each other by name, and communicate by messages alone. Faults, changes of settings
    and settling act from above: they look at the replicas here.

    Attributes:
        context: Shared services of the cluster.
        nodes: The replicas by name, in the order in which they joined.
        elections: The elections of leaders.
        observers: The observers of plugins (`sim.plugins.register_observer`).
    """

    def __init__(
        self,
        scenario: Scenario,
        record: Callable[[int, Iterable[Event]], None],
        observe: Sequence[Callable[[Cluster], Any]] = (),
    ) -> None:
        """Starts with the replicas of a scenario, all inactive; `observe` makes observers."""
        self.observers: list[Any] = []
        self._record = record
        self.context = context = Context(scenario, self._show if observe else record)
        self.nodes: dict[str, Node] = {}
        self.observers += [make(self) for make in observe]
        context.network.watching = [observer.over for observer in self.observers]
        by_controller = scenario.rules.replication.commit == "isr"
        kind: type[Elections] = ControllerElections if by_controller else QuorumElections
        self.elections = kind(context, self.nodes)
        for spec in scenario.replicas:
            self._connect(Node(context, spec))

    def _show(self, at_ms: int, events: Iterable[Event]) -> None:
        """Records events, and shows them to the observers."""
        self._record(at_ms, events)
        for observer in self.observers:
            observer.after(at_ms, events)

    def start(self) -> None:
        """Elects the first leader, and begins the background work of every replica."""
        self.elections.start()
        for index, node in enumerate(self.nodes.values()):
            self._begin(node, index, len(self.nodes))

    def _connect(self, node: Node) -> None:
        self.nodes[node.name] = node
        self.context.replicas[node.name] = node.replica
        self.context.network.add(node.name, node.receive)
        self.context.emit(ReplicaAdded(node.name))
        own = node.own_settings()
        if own:
            self.context.emit(ConfigChanged(node.name, own, initial=True))

    def _begin(self, node: Node, index: int, of: int) -> None:
        node.background.start(index, of)
        node.snapshots.start(index, of)
        if self.context.rules.cleaner.removal.gates_markers:
            RemovalCoordination(node)

    def add(self, name: str) -> None:
        """Adds a new replica without clock skew, with the present settings of the first one."""
        first = next(iter(self.nodes.values()))
        node = Node(self.context, replace(first.spec, name=name, clock_skew_ms=0))
        node.configure(first.settings)
        self._connect(node)
        self._begin(node, 0, 1)
        self.elections.added(node)

    def remove(self, node: Node) -> None:
        """Removes a replica for good; what is on its way to or from it does not arrive."""
        node.leave()
        del self.nodes[node.name]
        del self.context.replicas[node.name]
        self.context.network.remove(node.name)
        for other in self.nodes.values():
            if other.leader is not None:
                other.leader.fetches.waiting.pop(node.name, None)
        self.context.emit(ReplicaRemoved(node.name))
        self.elections.removed(node)
