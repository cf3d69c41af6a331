"""Waiting for answers with a time limit, and groups of processes that are interrupted together.

A request waits for a fresh event of SimPy, which either the answer or a timer succeeds.
"""

from __future__ import annotations

from collections import deque

from simpy import Environment, Event, Interrupt, Process
from simpy.events import ProcessGenerator


class Patience:
    """The open requests of one client or follower; one timer ends the waits that last too long.

    Deadlines should ascend, as where every wait is equally long: a time limit takes effect no
    sooner than those of earlier waits.
    """

    def __init__(self, env: Environment) -> None:
        """Starts without open requests."""
        self._env = env
        self._waits: deque[tuple[float, Event]] = deque()

    def answer_within(self, patience_ms: int) -> Event:
        """Makes an event that an answer succeeds; after `patience_ms` it succeeds with None."""
        answer = self._env.event()
        self._waits.append((self._env.now + patience_ms, answer))
        if len(self._waits) == 1:
            self._env.timeout(patience_ms).callbacks.append(self._end_waits)
        return answer

    def _end_waits(self, _timer: Event) -> None:
        """Ends the waits whose time is over, and sets the timer for the next one."""
        now, waits = self._env.now, self._waits
        while waits:
            deadline, answer = waits[0]
            if not answer.triggered:
                if deadline > now:
                    self._env.timeout(deadline - now).callbacks.append(self._end_waits)
                    return
                answer.succeed()
            waits.popleft()


class ProcessGroup:
    """The processes of one replica or client, which are interrupted together."""

    def __init__(self, env: Environment) -> None:
        """Starts with an empty group."""
        self._env = env
        self._processes: list[Process] = []

    def start(self, generator: ProcessGenerator) -> Process:
        """Starts a process, which ends without an error when it is interrupted."""
        self._processes = [process for process in self._processes if process.is_alive]
        process = self._env.process(generator)
        process.callbacks.append(_forgive_interrupt)
        self._processes.append(process)
        return process

    def interrupt(self) -> None:
        """Interrupts all processes but the active one, which has to return itself."""
        processes, self._processes = self._processes, []
        for process in processes:
            if process.is_alive and process is not self._env.active_process:
                process.interrupt()


def _forgive_interrupt(process: Event) -> None:
    """Marks an interrupt that ended a process as handled, so that SimPy raises no error."""
    if not process.ok and isinstance(process.value, Interrupt):
        process.defused = True
