"""SimPy's environment on the clock of a cluster: its events and processes beside plain calls.

This module stays interpreted when the others are compiled: a compiled subclass of a SimPy class
does not work.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Protocol

import simpy
from simpy.events import NORMAL, URGENT, EventPriority


class Schedule(Protocol):
    """What takes an event that is to happen."""

    def __call__(self, event: simpy.Event, delay_ms: int, *, urgent: bool) -> None:
        """It happens when `delay_ms` have passed; an urgent one before others of that moment."""


class Environment(simpy.Environment):
    """What makes SimPy's events, timeouts and processes; the clock goes through them.

    What is to happen, and the time, are the clock's.
    """

    def __init__(
        self,
        now_ms: Callable[[], int],
        schedule: Schedule,
        next_ms: Callable[[], int | None],
        step: Callable[[], None],
    ) -> None:
        """An environment of what is given; `step` goes through the next event or call."""
        self._now_ms = now_ms
        self._schedule = schedule
        self._next_ms = next_ms
        self._step = step
        super().__init__(0)

    @property
    def _now(self) -> int:
        return self._now_ms()

    @_now.setter
    def _now(self, _at: float) -> None:
        """The clock alone moves the time."""

    def schedule(
        self, event: simpy.Event, priority: EventPriority = NORMAL, delay: float = 0
    ) -> None:
        """Let an event happen after a delay in whole ms, in the clock's order."""
        self._schedule(event, int(delay), urgent=priority == URGENT)

    def peek(self) -> float:
        """When something happens next, in ms; infinity = never."""
        next_ms = self._next_ms()
        return inf if next_ms is None else next_ms

    def step(self) -> None:
        """Go through the next event or call, so that SimPy's `run` works, too."""
        self._step()

    def happen(self, event: simpy.Event) -> None:
        """Call back those who wait for an event, as SimPy's own `step` does."""
        callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(event)
        failure = None if event.ok or event.defused else event.value
        if failure is not None:
            raise failure
