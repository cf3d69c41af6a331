"""Coordinated removal: tombstones go only below what every replica has cleanly compacted.

Each replica reports its maximum cleanly compacted offset (MCCO); the minimum over all replicas is
the maximum tombstone removal offset (MTRO). Source: Redpanda's compaction_coordinator, PR 28087.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.replication.replica import Replica
from sim.trace import Event, RemovalBoundMoved


@dataclass(slots=True)
class RemovalCoordinator:
    """What the replicas reported last, and the bound that follows from it.

    Attributes:
        known: Replica name -> last reported cleanly compacted offset; survives a wipe of the
            replica and a change of leader.
        bound: The removal bound (exclusive); it never falls.
    """

    known: dict[str, int] = field(default_factory=dict)
    bound: int = 0

    def report(self, replica: str, cleanly_compacted_offset: int) -> None:
        """Note what a replica says."""
        self.known[replica] = cleanly_compacted_offset

    def advance(self, replicas: list[str]) -> int | None:
        """The bound over `replicas`; None while one of them has never reported."""
        if any(name not in self.known for name in replicas):
            return None
        self.bound = max(self.bound, min(self.known[name] for name in replicas))
        return self.bound


def accept_removal_bound(replica: Replica, bound: int) -> list[Event]:
    """Take over a bound; what lies below it is cleanly compacted everywhere, so also here."""
    replica.cleanly_compacted_offset = max(replica.cleanly_compacted_offset, bound)
    if bound <= replica.removal_bound:
        return []
    replica.removal_bound = bound
    return [RemovalBoundMoved(replica.name, bound)]
