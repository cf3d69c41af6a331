"""Simulated time in whole ms: SimPy's event loop with a bound on the number of its events."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

import simpy
from simpy.events import NORMAL

Action = Callable[..., object]
"""What is called when a moment has come; its result is ignored."""


class EventLimitReached(Exception):
    """The run scheduled more simulator events than its scenario allows."""


def _perform(call: Any) -> None:
    call.action(*call.arguments)


class Call(simpy.Event):
    """One call at one later moment: a message's arrival or a timer's end.

    What a `Timeout` with one callback is, but a third of its price: it has been triggered from the
    start and nobody else waits for it, so all but the call itself is the same for every one; SimPy
    sets `callbacks` to None in the instance when it has read it.
    """

    callbacks = (_perform,)  # type: ignore[assignment]
    _ok = True
    _value = None

    def __init__(self, action: Action, arguments: tuple[Any, ...]) -> None:
        """Calls `action(*arguments)` when its time has come."""
        self.action = action
        self.arguments = arguments


class Clock(simpy.Environment):
    """Simulated time. Events of one moment happen in the order in which they were scheduled.

    Attributes:
        limit: Most events that may be scheduled.
        scheduled: Events scheduled so far.
    """

    def __init__(self, *, limit: int) -> None:
        """A clock at 0 ms."""
        super().__init__(0)
        self.limit = limit
        self.scheduled = 0

    @property
    def now_ms(self) -> int:
        """Simulated time in ms."""
        return self._now  # type: ignore[return-value]  # only whole delays are ever scheduled

    def after(self, delay_ms: int, action: Action, *arguments: Any) -> None:
        """Call `action(*arguments)` when `delay_ms` ms (at least 0) have passed.

        Raises:
            EventLimitReached: That is one event too many.
        """
        self.put(delay_ms, Call(action, arguments))

    def put(self, delay_ms: int, event: simpy.Event) -> None:
        """Schedule an event that was triggered already (`Environment.schedule`, and counted).

        Raises:
            EventLimitReached: That is one event too many.
        """
        self.scheduled = number = self.scheduled + 1
        if number > self.limit:
            raise EventLimitReached
        heappush(self._queue, (self._now + delay_ms, NORMAL, next(self._eid), event))
