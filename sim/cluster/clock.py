"""Simulated time in whole ms: SimPy's queue of events with plain calls beside its events."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final

from simpy.core import EmptySchedule
from simpy.events import NORMAL

from sim.cluster.environment import Environment

ONE_ARGUMENT: Final = 5
ARGUMENTS: Final = 6
"""Sizes of the entries of the queue that are calls; those of SimPy's events have 4."""

Action = Callable[..., object]
"""What is called when a moment has come; its result is ignored."""


class EventLimitReached(Exception):
    """The run went through more simulator events than its scenario allows."""


class Clock:
    """Simulated time. Events of one moment happen in the order in which they were scheduled.

    A call at a later moment is an entry of SimPy's own queue with the function and its argument, or
    a tuple of them, in the place of the event, so that it costs no object with callbacks; events,
    timeouts and processes of SimPy work as ever.

    Attributes:
        now_ms: Simulated time in ms; only whole delays are ever scheduled.
        limit: Most events that the simulator may go through.
        processed: Events it went through so far.
        environment: SimPy's, which makes its events, timeouts and processes.
    """

    __slots__ = ("_numbers", "_queue", "environment", "limit", "now_ms", "processed")

    def __init__(self, *, limit: int) -> None:
        """A clock at 0 ms."""
        self.now_ms = 0
        self.limit = limit
        self.processed = 0
        self._queue: list[Any] = []
        self._numbers = count()
        self.environment = Environment(self._queue, self._numbers, self._read, self.step)

    def _read(self) -> int:
        return self.now_ms

    def after(self, delay_ms: int, action: Action, *arguments: Any) -> None:
        """Call `action(*arguments)` when `delay_ms` ms (at least 0) have passed."""
        entry = (self.now_ms + delay_ms, NORMAL, next(self._numbers), action, arguments, True)
        heappush(self._queue, entry)  # no two entries have the same number

    def call(self, delay_ms: int, action: Callable[[Any], object], argument: Any) -> None:
        """Call `action(argument)` when `delay_ms` ms (at least 0) have passed."""
        entry = (self.now_ms + delay_ms, NORMAL, next(self._numbers), action, argument)
        heappush(self._queue, entry)  # as above

    def step(self) -> None:
        """Go through the next event or call.

        Raises:
            EmptySchedule: There is none.
        """
        if not self._queue:
            raise EmptySchedule
        entry = heappop(self._queue)
        self.now_ms = entry[0]
        self.processed += 1
        size = len(entry)
        if size == ONE_ARGUMENT:
            entry[3](entry[4])
        elif size == ARGUMENTS:
            entry[3](*entry[4])
        else:
            self.environment.happen(entry[3])

    def run_until(self, end_ms: int) -> None:
        """Go through everything that is to happen before `end_ms`, which is the time then.

        Raises:
            EventLimitReached: That is one event too many; the clock stops before it.
        """
        queue = self._queue
        left = self.limit - self.processed
        try:
            while queue and queue[0][0] < end_ms:
                if left <= 0:
                    raise EventLimitReached
                left -= 1
                entry = heappop(queue)
                self.now_ms = entry[0]
                size = len(entry)
                if size == ONE_ARGUMENT:
                    entry[3](entry[4])
                elif size == ARGUMENTS:
                    entry[3](*entry[4])
                else:
                    self.environment.happen(entry[3])
        finally:
            self.processed = self.limit - left
        self.now_ms = end_ms
