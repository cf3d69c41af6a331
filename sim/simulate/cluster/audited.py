"""Lets events out of a cluster, and looks after some of them at what replicas keep and decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sim.protocol.events import Event
from sim.protocol.replication.audit import LOOKED_AFTER, Audit
from sim.protocol.rules import Rules
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.decisions import Decisions
from sim.simulate.cluster.node import Node


class Audited:
    """A way out for events, which adds what an audit finds.

    Attributes:
        nodes: Who is looked at.
        decisions: What looks at what they decide; None = nobody does yet.
    """

    def __init__(self, record: Callable[[int, Iterable[Event]], None], rules: Rules) -> None:
        """Events go on to `record`."""
        self._record = record
        self._audit = Audit(rules)
        self.nodes: Mapping[str, Node] = {}
        self.decisions: Decisions | None = None

    def look_at(self, cluster: Cluster) -> None:
        """From now on look at these replicas, and at what they decide."""
        self.nodes = cluster.nodes
        self.decisions = Decisions(cluster.witness, cluster.context.scenario)

    def take(self, at_ms: int, events: Iterable[Event]) -> None:
        """Hand events on, and what differs after them."""
        self._record(at_ms, events)
        decisions = self.decisions
        if decisions is None:
            return
        looked = False
        for event in events:
            kind = type(event)
            look = decisions.handlers.get(kind)
            if look is not None:
                look(event)
            if kind in LOOKED_AFTER and not looked:
                looked = True
                replicas = {name: node.replica for name, node in self.nodes.items()}
                found = self._audit.after(events, replicas)
                if found:
                    self._record(at_ms, found)
