"""A replica goes down to get an empty disk.

A disk is replaced only when nobody counts on what is on it, so after the replica left the in-sync
set; else the old one comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault, Life

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class Wipe(Fault):
    """Down for `for_ms`, back with an empty log."""

    place = 2
    source = "KIP-858; KIP-966"
    weight = 1.0
    outage = True
    draws_role = False

    def happen(self, faults: Faults, node: Node) -> Life:
        """It goes down, and comes back without its disk if that may go."""
        elections = faults.cluster.elections
        faults.tell(self, node.name, f"down for {self.duration_ms} ms, to get an empty disk")
        node.crash(lost_batches=0)
        elections.crashed(node)
        yield
        if elections.may_wipe(node):
            node.wipe()
            elections.wiped(node)
            node.replica.up = False
        faults.bring_back(node)
