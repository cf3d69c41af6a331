"""Which steps of a story did nothing: no event, and all is as it was.

Much does nothing by the format: an election without a majority, an append to a replica that does
not lead, a chunk of a snapshot that nobody offered. The author of a story wants to know.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from enum import Enum
from typing import Any

from sim.story.driver import StoryDriver
from sim.story.format import Story
from sim.story.steps import Step

_ATOMS = (str, bytes, int, float, type(None), tuple, frozenset, Enum)
"""Compared as they are; tuples, with names or without, hold what never changes."""
_DECLARED = ("__slots__", "__mypyc_attrs__")
"""What names the attributes of an object without a `__dict__`; the second: of a compiled one."""
_FETCHED_TO = "acknowledged_end"
"""A refused fetch moves it, too; only a loss of power makes a difference of it."""


def idle_steps(story: Story) -> list[Step]:
    """The steps that did nothing, in order; the story is run once more to see them."""
    driver = _Watched(story)
    driver.run()
    return driver.idle


class _Watched(StoryDriver):
    """Compares what a step may change with what it was before."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self.idle: list[Step] = []
        self._ignored = (
            () if any(step.get("power_loss") for step in story.steps) else (_FETCHED_TO,)
        )

    def take(self, step: Step) -> None:
        seen, before = len(self.events), self._state()
        super().take(step)
        if len(self.events) == seen and self._state() == before:
            self.idle.append(step)

    def _state(self) -> object:
        parts = (self.replicas, self.delayed, self.coordinator, self.consumers, self.coordinators)
        copies = [_plain(part, self._ignored) for part in parts]
        return self.now_ms, self.isr, self.leader, len(self.moments), copies


def _plain(value: Any, ignored: tuple[str, ...]) -> object:
    """A copy to compare with later, without the attributes to ignore."""
    if isinstance(value, _ATOMS):
        return value
    if isinstance(value, Mapping):
        return [(key, _plain(item, ignored)) for key, item in value.items()]
    if isinstance(value, list | deque):
        return [_plain(item, ignored) for item in value]
    if isinstance(value, set):
        return frozenset(value)
    names = [
        name
        for kind in type(value).__mro__
        for declared in _DECLARED
        for name in getattr(kind, declared, ())
    ]
    names += getattr(value, "__dict__", ())
    return [
        (name, _plain(getattr(value, name, None), ignored)) for name in names if name not in ignored
    ]
