"""Lets events out of a cluster, and looks after some of them at what replicas keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sim.cluster.node import Node
from sim.replication.audit import LOOKED_AFTER, Audit
from sim.rules import Rules
from sim.trace import Event


class Audited:
    """A way out for events, which adds what an audit finds.

    Attributes:
        nodes: Who is looked at.
    """

    def __init__(self, record: Callable[[int, Iterable[Event]], None], rules: Rules) -> None:
        """Events go on to `record`."""
        self._record = record
        self._audit = Audit(rules)
        self.nodes: Mapping[str, Node] = {}

    def take(self, at_ms: int, events: Iterable[Event]) -> None:
        """Hand events on, and what differs after them."""
        self._record(at_ms, events)
        for event in events:
            if type(event) in LOOKED_AFTER:
                replicas = {name: node.replica for name, node in self.nodes.items()}
                found = self._audit.after(events, replicas)
                if found:
                    self._record(at_ms, found)
                return
