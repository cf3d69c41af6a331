"""Simulated time in whole ms: plain calls, and SimPy's events beside them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any, Final

from simpy.core import EmptySchedule

from sim.cluster.environment import Environment

URGENT: Final = -(2**62)
"""From here on urgent events of SimPy are numbered: below all others."""

Action = Callable[..., object]
"""What is called when a moment has come; its result is ignored."""


class EventLimitReached(Exception):
    """The run went through more simulator events than its scenario allows."""


def _spread(call: tuple[Action, tuple[Any, ...]]) -> None:
    """A call with no argument, or with several."""
    action, arguments = call
    action(*arguments)


class Clock:
    """Simulated time. Events of one moment happen in the order in which they were scheduled.

    What is to happen is a function and its argument, which cost no object with callbacks; the
    events, timeouts and processes of SimPy are among them, and work as ever.

    Attributes:
        now_ms: Simulated time in ms; only whole delays are ever scheduled.
        limit: Most events that the simulator may go through.
        environment: SimPy's, which makes its events, timeouts and processes.
    """

    __slots__ = ("_calls", "_number", "environment", "limit", "now_ms")

    def __init__(self, *, limit: int) -> None:
        """A clock at 0 ms."""
        self.now_ms = 0
        self.limit = limit
        # A heap of (ms, number, action, argument); the number says what was scheduled first.
        self._calls: list[tuple[int, int, Action, Any]] = []
        self._number = 0  # how many were ever scheduled
        self.environment = Environment(self._read, self._schedule, self._next_ms, self.step)

    @property
    def processed(self) -> int:
        """Events it went through so far."""
        return self._number - len(self._calls)

    def _read(self) -> int:
        return self.now_ms

    def after(self, delay_ms: int, action: Action, *arguments: Any) -> None:
        """Call `action(*arguments)` when `delay_ms` ms (at least 0) have passed."""
        if len(arguments) == 1:
            self.call(delay_ms, action, arguments[0])
        else:
            self.call(delay_ms, _spread, (action, arguments))

    def call(self, delay_ms: int, action: Action, argument: Any) -> None:
        """Call `action(argument)` when `delay_ms` ms (at least 0) have passed."""
        self._number = number = self._number + 1
        heappush(self._calls, (self.now_ms + delay_ms, number, action, argument))

    def _schedule(self, event: Any, delay_ms: int, *, urgent: bool) -> None:
        """Let an event of SimPy happen; an urgent one before what is left of its moment."""
        self._number = number = self._number + 1
        place = URGENT + number if urgent else number
        heappush(self._calls, (self.now_ms + delay_ms, place, self.environment.happen, event))

    def _next_ms(self) -> int | None:
        """When something happens next; None = never."""
        return self._calls[0][0] if self._calls else None

    def step(self) -> None:
        """Go through the next event or call.

        Raises:
            EmptySchedule: There is none.
        """
        if not self._calls:
            raise EmptySchedule
        self.now_ms, _, action, argument = heappop(self._calls)
        action(argument)

    def run_until(self, end_ms: int) -> None:
        """Go through everything that is to happen before `end_ms`, which is the time then.

        Raises:
            EventLimitReached: That is one event too many; the clock stops before it.
        """
        calls = self._calls
        for _ in range(self.limit - self.processed):
            if not calls or calls[0][0] >= end_ms:
                break
            self.now_ms, _number, action, argument = heappop(calls)
            action(argument)
        if calls and calls[0][0] < end_ms:
            raise EventLimitReached
        self.now_ms = end_ms
