"""Requests that wait at a broker until there is something to say, or their time is over.

Source: DelayedOperationPurgatory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from simpy import Environment, Process
from simpy.events import ProcessGenerator

from sim.cluster.waiting import Lives

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
        self._lives = Lives(env)
        self._expiring: Process | None = None
        self.waiting: dict[str, R] = {}

    def hold(self, name: str, request: R, wait_ms: int) -> None:
        """Let a request wait, in the place of an earlier one of that party."""
        self.waiting[name] = request
        self._deadlines[name] = int(self._env.now) + wait_ms
        if self._expiring is None or not self._expiring.is_alive:
            self._expiring = self._lives.start(self._expire(wait_ms))

    def take_all(self) -> list[R]:
        """All requests that wait; they do no more."""
        requests = list(self.waiting.values())
        self.waiting.clear()
        return requests

    def close(self) -> None:
        """Forget them: nobody gets an answer any more."""
        self.waiting.clear()
        self._lives.interrupt()

    def _expire(self, wait_ms: int) -> ProcessGenerator:
        """Answer those who have waited long enough, as long as anybody waits."""
        while True:
            yield self._env.timeout(wait_ms)
            now_ms, deadlines = int(self._env.now), self._deadlines
            due = [name for name in self.waiting if deadlines[name] <= now_ms]
            self._answer([self.waiting.pop(name) for name in due])
            if not self.waiting:
                return
            wait_ms = max(1, min([deadlines[name] for name in self.waiting]) - now_ms)
