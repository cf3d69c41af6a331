"""The files of a suite on several processes; results come in order, each as soon as it may.

A process that ends in the middle of a file, killed or by an exit in it, costs that file alone: the
others are run on a new one.
"""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path

from sim.bounds import Bounds, bound_each_run, bounds_in_force
from sim.errors import BadInput
from sim.plugins import Plugins, in_use, load_in_worker
from sim.suite.cases import run_any, without_result
from sim.suite.result import ERROR, CaseResult
from sim.workers import follow_the_parent, usable_cores, worker_context

NO_START = "no process could be started to run it; try -j 1"
_READY = "ready"
_TO_END_S = 5.0
"""What has closed its end of the pipe is gone at once, or not in order."""


def run_on_processes(paths: list[Path], jobs: int) -> Generator[CaseResult]:
    """The results of `paths` in their order; a file whose process dies is an error.

    `jobs` is the number of processes; 0 = one for each core.
    Closing the generator, as an exception such as Ctrl-C does, ends the processes.
    """
    crew = _Crew(paths, min(jobs or usable_cores(), len(paths)))
    try:
        for index in range(len(paths)):
            yield crew.result_of(index)
    finally:
        crew.end()


class _Crew:
    """Some processes, each at one file or waiting for one."""

    def __init__(self, paths: list[Path], size: int) -> None:
        self._paths = paths
        self._waiting = deque(range(len(paths)))
        self._results: dict[int, CaseResult] = {}
        self._workers = [_Worker() for _ in range(size)]

    def result_of(self, index: int) -> CaseResult:
        """What came of one file; the others are run meanwhile."""
        while index not in self._results:
            if not self._workers:
                self._note(index, NO_START)
                continue
            told = wait([worker.pipe for worker in self._workers])
            for worker in [one for one in self._workers if one.pipe in told]:
                self._hear(worker)
        return self._results.pop(index)

    def end(self) -> None:
        """End the processes, whatever they are at."""
        for worker in self._workers:
            worker.end()

    def _hear(self, worker: _Worker) -> None:
        """Take what a process has to say, and give it the next file."""
        answer = worker.answer()
        if answer is None:
            self._workers.remove(worker)
            if worker.at is not None:
                self._note(worker.at, worker.how_it_ended())
            worker.end()
            if worker.is_ready:  # one that never was will not be the next time either
                self._workers.append(_Worker())
            return
        if isinstance(answer, CaseResult) and worker.at is not None:
            self._results[worker.at] = answer
        worker.at = self._waiting.popleft() if self._waiting else None
        if worker.at is not None:
            worker.give(self._paths[worker.at])

    def _note(self, index: int, why: str) -> None:
        self._results[index] = without_result(self._paths[index], ERROR, why)


class _Worker:
    """A process that runs one file after the other.

    Attributes:
        at: The index of the file that it runs; None = it waits for one.
        is_ready: Whether it came so far as to wait for one.
        pipe: What it says comes out of this.
    """

    def __init__(self) -> None:
        context = worker_context()
        self.pipe, theirs = context.Pipe()
        self.at: int | None = None
        self.is_ready = False
        self._process = context.Process(
            target=_work, args=(theirs, in_use(), bounds_in_force()), daemon=True
        )
        self._process.start()
        theirs.close()  # so that the pipe ends with the process

    def give(self, path: Path) -> None:
        """Have it run a file; one that has ended meanwhile says so when it is asked."""
        with suppress(OSError):
            self.pipe.send(path)

    def answer(self) -> CaseResult | str | None:
        """A result, or that it is ready; None = it has ended."""
        try:
            told: CaseResult | str = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.is_ready = True
        return told

    def end(self) -> None:
        """End it, whatever it is at."""
        self._process.terminate()
        self._process.join()
        self.pipe.close()

    def how_it_ended(self) -> str:
        """Why there is no result."""
        self._process.join(_TO_END_S)
        code = self._process.exitcode or 0
        if code >= 0:
            return f"the process that ran it ended, with status {code}"
        name = signal.Signals(-code).name
        why = ", perhaps for want of memory" if name == "SIGKILL" else ""
        return f"the process that ran it was ended by {name}{why}"


def _work(pipe: Connection, plugins: Plugins, bounds: Bounds) -> None:
    follow_the_parent()
    problem = _problem_of(plugins)
    bound_each_run(bounds)
    pipe.send(_READY)
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        pipe.send(run_any(path) if problem is None else without_result(path, ERROR, problem))


def _problem_of(plugins: Plugins) -> str | None:
    """Why a plugin cannot be loaded in this process, though it could be in the leading one."""
    try:
        load_in_worker(plugins)
    except BadInput as error:
        return str(error)
    return None
