"""Which event showed a violation, and what was known then."""

from __future__ import annotations

from sim.check import Violation
from sim.explain.provenance import Recorded


def judged_at(events: Recorded, violation: Violation) -> int:
    """Position of the event that showed a violation.

    One that was not found by a checker has no position: then the last event of its time.
    """
    if violation.position >= 0:
        return min(violation.position, len(events) - 1)
    return max((place for place, (at, _) in enumerate(events) if at <= violation.at), default=0)
