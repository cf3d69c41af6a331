"""The steps of a run, bounded by `limits.max_events`: each is one of `simpy.Environment`'s own."""

from __future__ import annotations

from itertools import repeat
from operator import length_hint

from simpy import Environment, Event
from simpy.core import StopSimulation


class UsedUp(Exception):
    """A run has taken all the steps that its limit allows."""


class Steps:
    """The steps of one simulation."""

    def __init__(self, env: Environment, limit: int) -> None:
        """Starts at the first event; there are at most `limit`."""
        self._env = env
        self._limit = limit
        self._left = repeat(None, limit)

    @property
    def taken(self) -> int:
        """Number of steps taken so far."""
        return self._limit - length_hint(self._left)

    def go_on_until(self, event: Event) -> None:
        """Takes steps until an event has happened.

        Raises:
            UsedUp: The limit was reached before.
        """
        step = self._env.step
        event.callbacks.append(StopSimulation.callback)
        try:
            for _ in self._left:
                step()
        except StopSimulation:
            return
        raise UsedUp
