"""What is drawn: a run, what to look at in it, and what it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sim.check import Violation
from sim.draw.frames import Events
from sim.rules import Rules


@dataclass(frozen=True, slots=True)
class Case:
    """A run to be drawn.

    Attributes:
        events: (when, event) in order.
        violation: What to look at; None = the end.
        rules: Of the run; None = not known, and so neither is which version decides.
        labels: Of a story: uid -> label.
        name: What tells it from the case beside it: `fix=none`.
        verdict: What came of it, in a sentence.
    """

    events: Events
    violation: Violation | None = None
    rules: Rules | None = None
    labels: Mapping[int, str] | None = None
    name: str = ""
    verdict: str = ""
