"""Simulated time in whole ms: SimPy's event loop with plain calls beside its events.

This module stays interpreted when others are compiled: a compiled subclass of a SimPy class does
not work.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import simpy
from simpy.events import NORMAL

Action = Callable[..., object]
"""What is called when a moment has come; its result is ignored."""


class EventLimitReached(Exception):
    """The run went through more simulator events than its scenario allows."""


class Clock(simpy.Environment):
    """Simulated time. Events of one moment happen in the order in which they were scheduled.

    A call at a later moment is an entry of SimPy's own queue with the function and its arguments in
    the place of the event, so that it costs no object with callbacks; events, timeouts and
    processes of SimPy work as ever.

    Attributes:
        now_ms: Simulated time in ms; only whole delays are ever scheduled.
        limit: Most events that the simulator may go through.
        processed: Events it went through so far.
    """

    def __init__(self, *, limit: int) -> None:
        """A clock at 0 ms."""
        super().__init__(0)
        self.now_ms = 0
        self.limit = limit
        self.processed = 0

    def after(self, delay_ms: int, action: Action, *arguments: Any) -> None:
        """Call `action(*arguments)` when `delay_ms` ms (at least 0) have passed."""
        entry = (self.now_ms + delay_ms, NORMAL, next(self._eid), action, arguments)
        heappush(self._queue, entry)  # type: ignore[misc]  # no two entries have the same number

    def run_until(self, end_ms: int) -> None:
        """Go through everything that is to happen before `end_ms`, which is the time then.

        Raises:
            EventLimitReached: That is one event too many; the clock stops before it.
        """
        queue: list[Any] = self._queue
        left = self.limit - self.processed
        try:
            while queue and queue[0][0] < end_ms:
                if left <= 0:
                    raise EventLimitReached
                left -= 1
                entry = heappop(queue)
                self._now = self.now_ms = entry[0]
                if len(entry) == 5:
                    entry[3](*entry[4])
                else:
                    _perform(entry[3])
        finally:
            self.processed = self.limit - left
        self._now = self.now_ms = end_ms


def _perform(event: simpy.Event) -> None:
    """What `simpy.Environment.step` does with an event of its own."""
    callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
    for callback in callbacks:
        callback(event)
    if not event._ok and not hasattr(event, "_defused"):  # noqa: SLF001  # as SimPy itself asks
        raise event._value  # noqa: SLF001
