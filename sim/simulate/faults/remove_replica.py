"""A replica is removed from the partition, up or down, when the others can do without it.

Its name does not come back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults


@dataclass(frozen=True, slots=True)
class RemoveReplica(Fault):
    """Leaves for good, up or down, if it does not lead and the others can do without it."""

    place = 11
    source = "KIP-455; KIP-853"
    instant = True
    roles = ("follower",)

    def strike(self, faults: Faults) -> None:
        """It leaves, unless it led last, or the others need it."""
        node, leader = faults.target_of(self), faults.context.leader
        if node is None or leader is None or leader[1] == node.name:
            return
        if faults.cluster.elections.may_remove(node):
            faults.tell(self, node.name, "leaves for good")
            faults.gone.add(node.name)
            faults.cluster.remove(node)
