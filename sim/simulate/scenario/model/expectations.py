"""What a run is expected to show, and when it is given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Gt

from sim.files.bounds import Within
from sim.files.limits import EVENTS


@dataclass(frozen=True, slots=True)
class Expect:
    """What the run is expected to show.

    `violated`: exactly these invariants, among `checked` (None = all safety invariants, and those
    that are in `violated`).
    `reached`: situations that have to occur; without them the run proves nothing. `unreached`:
    situations that must not occur.
    """

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None
    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run; reaching one makes it inconclusive."""

    max_events: Annotated[int, Gt(0), Within(EVENTS)] = 200_000
