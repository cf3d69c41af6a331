"""An administrator moves leadership to a replica that need not be in sync."""

from __future__ import annotations

from dataclasses import dataclass

from sim.simulate.faults.migrate import Migrate


@dataclass(frozen=True, slots=True)
class UncleanMigrate(Migrate):
    """Leadership goes there, in sync or not: committed records may be lost."""

    place = 8
    source = "unclean.leader.election.enable"
    weight = 0.0
    """0 unless asked for: it gives up committed records by design, whatever the cleaner does."""
    unclean = True
    detail = "is made leader whatever it has"
