"""Requests that wait at a broker until there is something to say, or their time is over.

Source: DelayedOperationPurgatory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from simpy import Environment

from sim.simulate.cluster.waiting import Later

R = TypeVar("R")


class Delayed(Generic[R]):
    """At most one request of each party that waits.

    Attributes:
        waiting: Name of a party -> its request that waits.
    """

    def __init__(self, env: Environment, answer: Callable[[Iterable[R]], None]) -> None:
        """Nobody waits; `answer` is called with requests that have waited long enough."""
        self._env = env
        self._answer = answer
        self._deadlines: dict[str, int] = {}
        self._timed = False
        self._timers = [self._expire]
        self.waiting: dict[str, R] = {}

    def hold(self, name: str, request: R, wait_ms: int) -> None:
        """Let a request wait, in the place of an earlier one of that party."""
        self.waiting[name] = request
        self._deadlines[name] = int(self._env.now) + wait_ms
        if not self._timed:
            self._arm(wait_ms)

    def _arm(self, wait_ms: int) -> None:
        self._timed = True
        Later(self._env, wait_ms, self._timers)

    def take_all(self) -> list[R]:
        """All requests that wait; they do no more."""
        requests = list(self.waiting.values())
        self.waiting.clear()
        return requests

    def _expire(self, _timer: Later) -> None:
        """Answer those who have waited long enough; come back for the others."""
        self._timed = False
        now_ms, deadlines = int(self._env.now), self._deadlines
        due = [name for name in self.waiting if deadlines[name] <= now_ms]
        self._answer([self.waiting.pop(name) for name in due])
        if self.waiting:
            self._arm(max(1, min([deadlines[name] for name in self.waiting]) - now_ms))
