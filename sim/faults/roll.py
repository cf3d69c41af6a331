"""A manual roll, as retention does it too: the tail of the log can be cleaned after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sim.faults.fault import Fault

if TYPE_CHECKING:
    from sim.cluster.faults import Faults
    from sim.cluster.node import Node


@dataclass(frozen=True, slots=True)
class Roll(Fault):
    """Starts a new, empty active segment."""

    kind: ClassVar[str] = "roll"
    place: ClassVar[int] = 10
    source: ClassVar[str] = "segment.ms; UnifiedLog.roll"
    weight: ClassVar[float | None] = 2.5
    instant: ClassVar[bool] = True
    keeps_position: ClassVar[bool] = True

    def begin(self, faults: Faults, node: Node) -> None:
        """Unless the active segment is empty already."""
        log = node.replica.log
        if log.active.batches:
            faults.tell(self, node.name, f"a new segment starts at {log.log_end_offset}")
            log.roll(now_ms=node.now_ms)
