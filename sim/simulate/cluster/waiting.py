"""What processes wait for beside time, and how the processes of one party are interrupted together.

A request waits on a fresh event of SimPy's; what succeeds it first, the answer or the patience of
whoever asked, ends the wait.
"""

from __future__ import annotations

from collections.abc import Callable

from simpy import Environment, Event, Interrupt, Process
from simpy.events import ProcessGenerator


def answer_within(env: Environment, patience_ms: int) -> Event:
    """Makes an event for one answer to succeed; after `patience_ms` its value is None."""
    answer = env.event()
    env.timeout(patience_ms, answer).callbacks.append(_give_up)
    return answer


def _give_up(patience: Event) -> None:
    answer: Event = patience.value  # type: ignore[assignment]
    if not answer.triggered:
        answer.succeed()


class ProcessGroup:
    """The processes of one party, which are interrupted together."""

    def __init__(self, env: Environment) -> None:
        """Starts with an empty group."""
        self._env = env
        self._processes: list[Process] = []

    def start(self, generator: ProcessGenerator) -> Process:
        """Begins a process, which ends quietly when it is interrupted."""
        self._processes = [process for process in self._processes if process.is_alive]
        process = self._env.process(generator)
        process.callbacks.append(_forgive_interrupt)
        self._processes.append(process)
        return process

    def interrupt(self) -> None:
        """Ends all of them but the active one, which has to return after."""
        processes, self._processes = self._processes, []
        for process in processes:
            if process.is_alive and process is not self._env.active_process:
                process.interrupt()


def regularly(
    env: Environment, act: Callable[[], None], every_ms: int, *, first_ms: int
) -> ProcessGenerator:
    """Does something in `first_ms`, and again every so many ms."""
    yield env.timeout(first_ms, act)
    while True:
        act()
        yield env.timeout(every_ms, act)


def _forgive_interrupt(process: Event) -> None:
    """Defuses an interrupt that a process did not catch: that is its end, and no failure."""
    if not process.ok and isinstance(process.value, Interrupt):
        process.defused = True
