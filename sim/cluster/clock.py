"""Simulated time in whole ms: plain calls, and SimPy's events beside them."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush, nsmallest
from typing import Any, Final

from simpy.core import EmptySchedule

from sim.cluster.environment import Environment

CALL: Final = 2
CALL_WITH_ARGUMENTS: Final = 3
URGENT_EVENT: Final = 4
"""Sizes of the entries of a moment; those of SimPy's other events have 1."""

Action = Callable[..., object]
"""What is called when a moment has come; its result is ignored."""


class EventLimitReached(Exception):
    """The run went through more simulator events than its scenario allows."""


class Clock:
    """Simulated time. Events of one moment happen in the order in which they were scheduled.

    Each moment has a list of what happens in it, so that only the moments have to be sorted: calls,
    which are a function and its argument or a tuple of them, and so cost no object with callbacks,
    and the events, timeouts and processes of SimPy, which work as ever.

    Attributes:
        now_ms: Simulated time in ms; only whole delays are ever scheduled.
        limit: Most events that the simulator may go through.
        processed: Events it went through so far.
        environment: SimPy's, which makes its events, timeouts and processes.
    """

    __slots__ = ("_done", "_moments", "_times", "environment", "limit", "now_ms", "processed")

    def __init__(self, *, limit: int) -> None:
        """A clock at 0 ms."""
        self.now_ms = 0
        self.limit = limit
        self.processed = 0
        self._moments: dict[int, list[Any]] = {}
        self._times: list[int] = []  # the moments, as a heap
        self._done = 0  # entries of the first moment
        self.environment = Environment(self._read, self._schedule, self._next_ms, self.step)

    def _read(self) -> int:
        return self.now_ms

    def after(self, delay_ms: int, action: Action, *arguments: Any) -> None:
        """Call `action(*arguments)` when `delay_ms` ms (at least 0) have passed."""
        self._add(self.now_ms + delay_ms, (action, arguments, True))

    def call(self, delay_ms: int, action: Callable[[Any], object], argument: Any) -> None:
        """Call `action(argument)` when `delay_ms` ms (at least 0) have passed."""
        self._add(self.now_ms + delay_ms, (action, argument))

    def _add(self, at_ms: int, entry: tuple[Any, ...]) -> None:
        entries = self._moments.get(at_ms)
        if entries is None:
            self._moments[at_ms] = [entry]
            heappush(self._times, at_ms)
        else:
            entries.append(entry)

    def _schedule(self, event: Any, delay_ms: int, *, urgent: bool) -> None:
        """Let an event of SimPy happen; an urgent one before what is left of its moment."""
        at_ms = self.now_ms + delay_ms
        if not urgent or at_ms not in self._moments:
            self._add(at_ms, (event, None, None, None) if urgent else (event,))
            return
        entries = self._moments[at_ms]
        place = self._done if at_ms == self._times[0] else 0
        while place < len(entries) and len(entries[place]) == URGENT_EVENT:
            place += 1
        entries.insert(place, (event, None, None, None))

    def _first(self) -> list[Any]:
        """What is left of the first moment that is not over; empty = nothing happens any more."""
        times, moments = self._times, self._moments
        while times:
            entries = moments[times[0]]
            if self._done:
                del entries[: self._done]
                self._done = 0
            if entries:
                return entries
            del moments[heappop(times)]
        return []

    def _next_ms(self) -> int | None:
        """When something happens next; None = never."""
        for at_ms in nsmallest(2, self._times):
            if at_ms > self._times[0] or self._done < len(self._moments[at_ms]):
                return at_ms
        return None

    def step(self) -> None:
        """Go through the next event or call.

        Raises:
            EmptySchedule: There is none.
        """
        entries = self._first()
        if not entries:
            raise EmptySchedule
        self.now_ms = self._times[0]
        self.processed += 1
        self._done = 1
        self._happen(entries[0])

    def run_until(self, end_ms: int) -> None:
        """Go through everything that is to happen before `end_ms`, which is the time then.

        Raises:
            EventLimitReached: That is one event too many; the clock stops before it.
        """
        times, moments = self._times, self._moments
        left = self.limit - self.processed
        try:
            self._first()
            while times and times[0] < end_ms:
                now_ms = times[0]
                for entry in moments[now_ms]:  # which grows by what is to happen at once
                    if left <= 0:
                        raise EventLimitReached
                    left -= 1
                    self.now_ms = now_ms
                    self._done += 1
                    if len(entry) == CALL:
                        entry[0](entry[1])
                    else:
                        self._happen(entry)
                self._done = 0
                del moments[heappop(times)]
        finally:
            self.processed = self.limit - left
        self.now_ms = end_ms

    def _happen(self, entry: Any) -> None:
        size = len(entry)
        if size == CALL:
            entry[0](entry[1])
        elif size == CALL_WITH_ARGUMENTS:
            entry[0](*entry[1])
        else:
            self.environment.happen(entry[0])
