"""A manual roll, as retention does it too: the tail of the log can be cleaned after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class Roll(Fault):
    """Starts a new, empty active segment."""

    place = 10
    source = "segment.ms; UnifiedLog.roll"
    weight = 2.5
    instant = True
    keeps_position = True

    def happen(self, faults: Faults, node: Node) -> None:
        """Unless the active segment is empty already."""
        log = node.replica.log
        if log.active.batches:
            faults.tell(self, node.name, f"a new segment starts at {log.log_end_offset}")
            log.roll(now_ms=node.now_ms)
