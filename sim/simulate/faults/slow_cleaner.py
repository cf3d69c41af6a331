"""A replica's cleaner rests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault, Life

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class SlowCleaner(Fault):
    """Cleans far more slowly for `for_ms`."""

    place = 6
    source = "log.cleaner.io.max.bytes.per.second; KIP-354"
    weight = 1.0
    keeps_position = True

    def happen(self, faults: Faults, node: Node) -> Life:
        """The cleaner rests until nothing makes it rest."""
        faults.tell(self, node.name, f"its cleaner rests for {self.duration_ms} ms")
        node.background.paused += 1
        yield
        node.background.paused -= 1
