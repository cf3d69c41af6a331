"""What processes wait for beside SimPy's own events, and how they are interrupted together.

This module stays interpreted when the others are compiled: a compiled subclass of a SimPy class
does not work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from simpy import Environment, Event, Interrupt, Process, Timeout
from simpy.events import NORMAL, URGENT, ProcessGenerator


class Later(Event):
    """A timeout of which somebody is told: a message on its way, or a timer; nobody yields it.

    Attributes:
        message: What arrives.
    """

    _ok = True

    def __init__(
        self,
        env: Environment,
        delay_ms: int,
        callbacks: list[Any],
        message: Any = None,
    ) -> None:
        """It is triggered at once, as a timeout is; many may share a list of `callbacks`."""
        self.callbacks = callbacks
        self.message = message
        env.schedule(self, NORMAL, delay_ms)


class Before(Event):
    """Happens after a delay in ms, before everything else of that moment."""

    def __init__(self, env: Environment, delay_ms: int, value: object = None) -> None:
        """It is triggered at once, as a timeout is."""
        super().__init__(env)
        self._ok = True
        self._value = value
        env.schedule(self, URGENT, delay_ms)


class Answer(Event):
    """What a process waits for, again and again; it goes on within the event that brings it.

    That a message arrives is one event of the simulator, whoever waits for it.
    """

    _ok = True

    def awaited(self) -> Self:
        """What to yield: whoever does waits from now on."""
        self.callbacks = []
        return self

    def come(self, value: object) -> None:
        """Here it is: whoever waits goes on now."""
        self._value = value
        callbacks, self.callbacks = self.callbacks, None  # type: ignore[assignment]
        for callback in callbacks:
            callback(self)


class Waiting(Answer):
    """One party's wait for one answer at a time; its timer is armed once, not once per request."""

    def __init__(self, env: Environment) -> None:
        """Nobody waits."""
        super().__init__(env)
        self._awaited = False
        self._deadline_ms: float = 0
        self._armed = False
        self._looks = [self._look]

    def begin(self, patience_ms: int) -> Event:
        """What to yield: its value is the answer, or None when `patience_ms` were over before."""
        self.callbacks = []
        self._awaited = True
        self._deadline_ms = self.env.now + patience_ms
        if not self._armed:
            self._arm(patience_ms)
        return self

    @property
    def left_ms(self) -> int:
        """How much patience is left with the last request, answered or not."""
        return int(self._deadline_ms - self.env.now)

    def _arm(self, delay_ms: int) -> None:
        self._armed = True
        Later(self.env, delay_ms, self._looks)

    def end(self, value: object = None) -> None:
        """Let whoever waits go on with an answer; nothing when nobody does."""
        if self._awaited:
            self._awaited = False
            self.come(value)

    def pause(self, delay_ms: int, patience_ms: int) -> Event:
        """What to yield to ask again in `delay_ms`, and then with so much patience."""
        self._deadline_ms = self.env.now + delay_ms + patience_ms
        return Timeout(self.env, delay_ms)

    def forget(self) -> None:
        """Nobody waits any more."""
        self._awaited, self._deadline_ms = False, 0

    def _look(self, _timer: Later) -> None:
        """Patience is over, or was extended by a later request."""
        self._armed = False
        left_ms = self.left_ms
        if left_ms > 0:
            self._arm(left_ms)
        else:
            self.end()


class Lives:
    """The processes of one party, which are interrupted together."""

    def __init__(self, env: Environment) -> None:
        """None yet."""
        self._env = env
        self._processes: list[Process] = []

    def start(self, life: ProcessGenerator) -> Process:
        """Begin a process, which ends quietly when it is interrupted."""
        self._processes = [process for process in self._processes if process.is_alive]
        process = self._env.process(life)
        process.callbacks.append(_forgive_interrupt)
        self._processes.append(process)
        return process

    def interrupt(self) -> None:
        """End all of them; one that does so itself has to return after."""
        processes, self._processes = self._processes, []
        for process in processes:
            if process.is_alive and process is not self._env.active_process:
                process.interrupt()


def regularly(
    env: Environment, act: Callable[[], None], every_ms: int, *, first_ms: int
) -> ProcessGenerator:
    """Do something in `first_ms`, and again every so many ms."""
    yield env.timeout(first_ms)
    while True:
        act()
        yield env.timeout(every_ms)


def _forgive_interrupt(process: Event) -> None:
    """An interrupt that a process does not catch is its end, and nobody's failure."""
    if not process.ok and isinstance(process.value, Interrupt):
        process.defused = True
