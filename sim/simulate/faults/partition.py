"""A replica and others hear nothing of each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from sim.files.bounds import Name, Within
from sim.files.limits import REPLICAS
from sim.simulate.faults.fault import Fault, Life

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.network import Link
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class Partition(Fault):
    """Cut off from all others for `for_ms`."""

    peers: Annotated[tuple[Name, ...], Within(REPLICAS)] = ()
    """A partition is between the target and these replicas only; default: all others."""

    place = 3
    source = "Jepsen: Kafka; KIP-595"
    weight = 2.0
    outage = True
    which = "from and to it"
    """The messages that are lost."""

    def links(self, faults: Faults, node: Node) -> list[Link]:
        """What is cut."""
        network = faults.context.network
        outgoing = network.outgoing(node.name, self.peers)
        return outgoing + network.incoming(node.name, self.peers)

    def happen(self, faults: Faults, node: Node) -> Life:
        """The links are cut."""
        others = f", {' and '.join(self.peers)} being the other end" if self.peers else ""
        detail = f"messages {self.which} are lost for {self.duration_ms} ms{others}"
        faults.tell(self, node.name, detail)
        links = self.links(faults, node)
        faults.context.network.cut(links)
        faults.cluster.elections.cut_off(node)
        yield
        faults.context.network.mend(links)
        faults.cluster.elections.reconnected(node)
