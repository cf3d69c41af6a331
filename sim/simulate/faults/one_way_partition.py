"""What a replica sends is lost, while it hears the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.partition import Partition

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.network import Link
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class OneWayPartition(Partition):
    """What it sends is lost for `for_ms`; it hears the others."""

    place = 4
    source = "KIP-595, KIP-996"
    weight = 1.5
    which = "from it"

    def links(self, faults: Faults, node: Node) -> list[Link]:
        """What is cut."""
        return faults.context.network.outgoing(node.name, self.peers)
