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

ONE_ARGUMENT, ARGUMENTS = 5, 6
"""Sizes of the entries of the queue that are calls; those of SimPy's events have 4."""

Action = Callable[..., object]
"""What is called when a moment has come; its result is ignored."""


class EventLimitReached(Exception):
    """The run went through more simulator events than its scenario allows."""


class Clock(simpy.Environment):
    """Simulated time. Events of one moment happen in the order in which they were scheduled.

    A call at a later moment is an entry of SimPy's own queue with the function and its argument, or
    a tuple of them, in the place of the event, so that it costs no object with callbacks; events,
    timeouts and processes of SimPy work as ever.

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
        entry = (self.now_ms + delay_ms, NORMAL, next(self._eid), action, arguments, True)
        heappush(self._queue, entry)  # type: ignore[misc]  # no two entries have the same number

    def call(self, delay_ms: int, action: Callable[[Any], object], argument: Any) -> None:
        """Call `action(argument)` when `delay_ms` ms (at least 0) have passed."""
        entry = (self.now_ms + delay_ms, NORMAL, next(self._eid), action, argument)
        heappush(self._queue, entry)  # type: ignore[misc]  # as above

    def step(self) -> None:
        """Go through the next event or call, so that `run` of SimPy works, too.

        Raises:
            EmptySchedule: There is none.
        """
        if not self._queue:
            raise simpy.core.EmptySchedule
        entry: Any = heappop(self._queue)
        self._now = self.now_ms = entry[0]
        self.processed += 1
        if len(entry) == ONE_ARGUMENT:
            entry[3](entry[4])
        elif len(entry) == ARGUMENTS:
            entry[3](*entry[4])
        else:
            _happen(entry[3])

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
                size = len(entry)
                if size == ONE_ARGUMENT:
                    entry[3](entry[4])
                elif size == ARGUMENTS:
                    entry[3](*entry[4])
                else:
                    _happen(entry[3])
        finally:
            self.processed = self.limit - left
        self._now = self.now_ms = end_ms


def _happen(event: simpy.Event) -> None:
    """Call back those who wait for an event of SimPy, as `simpy.Environment.step` does."""
    callbacks, event.callbacks = event.callbacks, None  # type: ignore[assignment]
    for callback in callbacks:
        callback(event)
    failure = None if event.ok or event.defused else event.value
    if failure is not None:
        raise failure
