"""A simulated cluster seen from above: its replicas, which may join and leave, and its elections.

Faults, administrators and the end of a run act from above: they read the true state of replicas,
and need no message to change it. Brokers do not import this module. Who leads is decided in
`controller` and `quorum`, by the rules of `sim.protocol.replication.elections`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sim.protocol.events import ConfigChanged, Event, ReplicaAdded, ReplicaRemoved
from sim.protocol.replication.leader import can_do_without
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.controller import Controller
from sim.simulate.cluster.elections import Elections
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.quorum import QuorumMembership
from sim.simulate.cluster.removal import RemovalCoordination
from sim.simulate.scenario.model import Scenario


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
        disk count no more, those to a leader that is down and resumes included.
        """
        for member in self._members.values():
            member.disks[node.name] = node.incarnation
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
        """True when a majority of the other voters has all committed records, or it is no voter.

        Each of them has a record, since the smaller set is one (KIP-853): not so after the loss of
        its disk, even if nothing was committed then.
        """
        leader, committed = self.leading(), max(1, self._context.committed)
        able = leader is not None and can_do_without(leader.replica, node.name, committed)
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
        self.elections: Controller | QuorumElections = (
            Controller(context, self.nodes)
            if by_controller
            else QuorumElections(context, self.nodes)
        )
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
