"""An administrator moves leadership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class Migrate(Fault):
    """Leadership goes there if it may lead; `leader`: to a follower, or see rule `successors`."""

    place = 7
    source = "KIP-460, preferred leader election"
    weight = 2.5
    instant = True
    keeps_position = True
    unclean = False
    """Whether it may lead out of sync."""
    detail = "is asked to lead"
    """What is told of who is asked."""

    def happen(self, faults: Faults, node: Node) -> None:
        """The first that can lead does."""
        for heir in self._heirs(faults, node):
            if faults.cluster.elections.migrate(heir, unclean=self.unclean):
                faults.tell(self, heir.name, self.detail)
                return

    def _heirs(self, faults: Faults, node: Node) -> list[Node]:
        """Who is asked to lead, until one can: the target, or with target `leader` the others.

        With majorities the leader is asked itself; whom it names, the rule `successors` says.
        """
        if self.target != "leader" or faults.context.rules.replication.commit == "majority":
            return [node]
        others = [other for _, other in sorted(faults.cluster.nodes.items()) if other is not node]
        first = self.pick % len(others) if others else 0
        return others[first:] + others[:first]
