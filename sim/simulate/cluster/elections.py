"""The part that both kinds of elections share."""

from __future__ import annotations

from collections.abc import Mapping

from sim.simulate.cluster.context import Context
from sim.simulate.cluster.node import Node


class Elections:
    """Elections by a controller (commit: isr) or by the voters themselves (majority)."""

    def __init__(self, context: Context, nodes: Mapping[str, Node]) -> None:
        """Starts before the first election; `nodes` are those of the cluster, by name."""
        self._context = context
        self._nodes = nodes

    def leading(self) -> Node | None:
        """The newest leader if it is up and still leads."""
        newest = self._context.leader
        node = None if newest is None else self._nodes[newest[1]]
        return node if node is not None and node.leader is not None else None

    def silenced(self, node: Node) -> None:
        """Notes that a replica went down, or that some of its messages do not arrive any more."""

    def wiped(self, node: Node) -> None:
        """Notes that a replica lost its disk."""
