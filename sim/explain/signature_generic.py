"""What a signature says where no detector knows: at which event a law broke.

The kinds of event that led there would say more, and be others in a large run than in its witness:
there is always some crash or some pass among them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sim.trace import Event

FOUND_AT: Final = "found at"
"""What such a fact begins with; an event's class in words follows."""


def found_at(events: Sequence[tuple[int, Event]]) -> tuple[str, ...]:
    """The class of the last event, which showed a violation: `found at log start moved`."""
    if not events:
        return (FOUND_AT,)
    name = type(events[-1][1]).__name__
    return (f"{FOUND_AT} {re.sub(r'(?<!^)(?=[A-Z])', ' ', name).lower()}",)
