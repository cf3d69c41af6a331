"""An administrator moves leadership to a replica that need not be in sync."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sim.faults.migrate import Migrate


@dataclass(frozen=True, slots=True)
class UncleanMigrate(Migrate):
    """Leadership goes there, in sync or not: committed records may be lost."""

    kind: ClassVar[str] = "unclean_migrate"
    place: ClassVar[int] = 8
    source: ClassVar[str] = "unclean.leader.election.enable"
    weight: ClassVar[float | None] = 0.0
    """0 unless asked for: it gives up committed records by design, whatever the cleaner does."""
    unclean: ClassVar[bool] = True
    detail: ClassVar[str] = "is made leader whatever it has"
