"""A replica goes down to get an empty disk.

A disk is replaced only when nobody counts on what is on it, so after the replica left the in-sync
set; else the old one comes back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sim.faults.fault import Fault, Undo

if TYPE_CHECKING:
    from sim.cluster.faults import Faults
    from sim.cluster.node import Node


@dataclass(frozen=True, slots=True)
class Wipe(Fault):
    """Down for `for_ms`, back with an empty log."""

    place = 2
    source = "KIP-858; KIP-966"
    weight = 1.0
    outage = True
    draws_role = False

    def begin(self, faults: Faults, node: Node) -> Undo:
        """It goes down."""
        faults.tell(self, node.name, f"down for {self.duration_ms} ms, to get an empty disk")
        node.crash(lost_batches=0)
        faults.cluster.elections.crashed(node)
        return partial(_replace_disk, faults, node)


def _replace_disk(faults: Faults, node: Node) -> None:
    elections = faults.cluster.elections
    if elections.may_wipe(node):
        node.wipe()
        elections.wiped(node)
        node.replica.up = False
    faults.bring_back(node)
