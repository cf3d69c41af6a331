"""Takes the events of a timed run one by one, and takes the steps of a story that do the same.

The story runs along: a step is taken only where the story has not got there by itself, so that
what a fetch brings, a leader commits or a quorum decides comes out of the story's own rules, and
what is left out of it moves the rest no further than it has to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sim.rules import Rules
from sim.shrink.from_events_cluster import Following, Leading, Writing
from sim.shrink.from_events_making import Choice, Making
from sim.shrink.from_events_upkeep import Breaking, Cleaning, Reading, Snapping
from sim.story.format import Story
from sim.trace import Event


class Translation(Making):
    """A story in the making out of the events of a run."""

    def __init__(
        self,
        story: Story,
        events: Sequence[tuple[int, Event]],
        *,
        rules: Rules,
        choice: Choice,
        invariants: Sequence[str],
    ) -> None:
        """A story without steps; `rules` are those of the run, `invariants` judge the story."""
        super().__init__(story, rules=rules, choice=choice, invariants=invariants)
        parts = (
            Leading(self),
            Following(self),
            Breaking(self),
            Snapping(self),
            Writing(self, events),
            Cleaning(self, events),
            Reading(self),
        )
        self._handlers: dict[type, list[Callable[[Any], None]]] = {}
        for part in parts:
            for kind, take in part.handlers.items():
                self._handlers.setdefault(kind, []).append(take)

    def on(self, event: Event) -> None:
        """Take what steps the event needs."""
        for take in self._handlers.get(type(event), ()):
            take(event)
