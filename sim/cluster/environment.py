"""SimPy's environment on the clock of a cluster: its events and processes beside plain calls.

This module stays interpreted when the others are compiled: a compiled subclass of a SimPy class
does not work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import simpy


class Environment(simpy.Environment):
    """What makes SimPy's events, timeouts and processes; the clock goes through them.

    The queue and the numbers of its entries are the clock's, and so is the time.
    """

    def __init__(
        self,
        queue: list[Any],
        numbers: Iterator[int],
        now_ms: Callable[[], int],
        step: Callable[[], None],
    ) -> None:
        """An environment that shares what is given; `step` goes through the next entry."""
        self._now_ms = now_ms
        self._step = step
        super().__init__(0)
        self._queue = queue
        self._eid = numbers  # type: ignore[assignment]  # all that SimPy asks of it is the next

    @property
    def _now(self) -> int:
        return self._now_ms()

    @_now.setter
    def _now(self, _at: float) -> None:
        """The clock alone moves the time."""

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
