"""What a signature says where no detector knows: at which event a law broke, and what decided.

What decided are the kinds of event in the causal cone of the violation that take something away,
change who leads or change settings: without order and without counts, so that repeats in a large
run change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sim.check import Violation
from sim.explain.causality import causal_cone
from sim.trace import (
    Cleaned,
    CleaningFailed,
    ConfigChanged,
    Event,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
    UncleanElection,
)

FOUND_AT: Final = "found at"
"""What the first of these facts begins with; an event's class in words follows."""

AFTER: Final = "after"
"""What the others begin with."""

_DECIDING: Final = (
    Cleaned,
    CleaningFailed,
    ConfigChanged,
    LogEmptied,
    LogStartedAfresh,
    LogStartMoved,
    PrefixDeleted,
    ReplicaCrashed,
    ReplicaRestarted,
    ReplicaWiped,
    SegmentsLost,
    SnapshotInstalled,
    Truncated,
    UncleanElection,
)


def found_at(events: Sequence[tuple[int, Event]], violation: Violation) -> tuple[str, ...]:
    """The class of the last of `events`, which showed a violation, and what decided before it."""
    if not events:
        return (FOUND_AT,)
    last = events[-1][1]
    kinds = {
        type(events[position][1])
        for position in causal_cone(events, violation)
        if isinstance(events[position][1], _DECIDING) and events[position][1] is not last
    }
    decided = sorted(f"{AFTER} {_words(kind)}" for kind in kinds)
    return (f"{FOUND_AT} {_words(type(last))}", *decided)


def _words(kind: type) -> str:
    """`LogStartMoved` -> `log start moved`."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__).lower()
