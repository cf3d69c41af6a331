"""Which events of a run a picture shows: those that led to the violation, unless all are wanted."""

from __future__ import annotations

from sim.check import Violation
from sim.draw.frames import Events, position_of
from sim.explain.causality import Cone
from sim.explain.provenance import Provenance
from sim.rules import Rules


def positions_shown(
    events: Events, violation: Violation | None, *, rules: Rules | None, everything: bool
) -> list[int]:
    """Positions in order: of the causal cone, or all; the event that showed the violation, too."""
    if violation is None or everything:
        return list(range(len(events)))
    judged = position_of(events, violation, rules)
    return Cone(Provenance(events), violation, judged=judged).positions
