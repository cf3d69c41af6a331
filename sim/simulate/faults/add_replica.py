"""A replica is added to the partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults


@dataclass(frozen=True, slots=True)
class AddReplica(Fault):
    """A new replica of that name joins with an empty log."""

    place = 9
    source = "KIP-455; KIP-853"
    weight = 1.0
    instant = True
    joins = True
    roles = ()

    def strike(self, faults: Faults) -> None:
        """It joins, unless somebody has or had its name."""
        if self.target not in faults.cluster.nodes and self.target not in faults.gone:
            faults.cluster.add(self.target)
            faults.tell(self, self.target, "joins with an empty log")
