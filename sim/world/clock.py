"""Simulated time in whole ms: SimPy's event loop with a bound on the number of its events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simpy


class EventLimitReached(Exception):
    """The run scheduled more simulator events than its scenario allows."""


class Call(simpy.Event):
    """One call at one later moment: a message's arrival or a timer's end.

    It is what a `Timeout` with one callback is, without the list of arguments in between.
    """

    def __init__(
        self,
        clock: Clock,
        delay_ms: int,
        action: Callable[..., object],
        arguments: tuple[Any, ...],
    ) -> None:
        """Call `action(*arguments)` when `delay_ms` ms have passed."""
        self.env = clock
        self.callbacks = [_perform]
        self._value = None
        self._ok = True
        self.action = action
        self.arguments = arguments
        clock.schedule(self, delay=delay_ms)


def _perform(call: Any) -> None:
    call.action(*call.arguments)


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

    def after(self, delay_ms: int, action: Callable[..., object], *arguments: Any) -> None:
        """Call `action(*arguments)` when `delay_ms` ms (at least 0) have passed.

        Raises:
            EventLimitReached: That is one event too many.
        """
        self.scheduled += 1
        if self.scheduled > self.limit:
            raise EventLimitReached
        Call(self, delay_ms, action, arguments)
