"""A simulated cluster seen from above: its replicas, which may join and leave, and elections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from sim.protocol.events import ConfigChanged, Event, ReplicaAdded, ReplicaRemoved
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.elections import ControllerElections, Elections, QuorumElections
from sim.simulate.cluster.node import Node
from sim.simulate.cluster.removal import RemovalCoordination
from sim.simulate.scenario.model import Scenario


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
