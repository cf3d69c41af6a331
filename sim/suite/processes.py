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
    waiting = deque(paths)
    results: dict[Path, CaseResult] = {}
    workers = [_Worker() for _ in range(min(jobs or usable_cores(), len(paths)))]
    try:
        for path in paths:
            while path not in results and workers:
                told = wait([worker.pipe for worker in workers])
                for worker in [one for one in workers if one.pipe in told]:
                    _hear(worker, workers, waiting, results)
            if path not in results:
                results[path] = without_result(path, ERROR, NO_START)
            yield results.pop(path)
    finally:
        for worker in workers:
            worker.end()


def _hear(
    worker: _Worker,
    workers: list[_Worker],
    waiting: deque[Path],
    results: dict[Path, CaseResult],
) -> None:
    """Take what a process has to say, and give it the next file; another one for one that died."""
    answer = worker.answer()
    if answer is None:
        workers.remove(worker)
        if worker.at is not None:
            results[worker.at] = without_result(worker.at, ERROR, worker.how_it_ended())
        worker.end()
        if worker.is_ready:  # one that never was will not be the next time either
            workers.append(_Worker())
        return
    if isinstance(answer, CaseResult):
        results[answer.path] = answer
    worker.give(waiting.popleft() if waiting else None)


class _Worker:
    """A process that runs one file after the other.

    Attributes:
        at: The file that it runs; None = it waits for one.
        is_ready: Whether it came so far as to wait for one.
        pipe: What it says comes out of this.
    """

    def __init__(self) -> None:
        context = worker_context()
        self.pipe, theirs = context.Pipe()
        self.at: Path | None = None
        self.is_ready = False
        self._process = context.Process(
            target=_work, args=(theirs, in_use(), bounds_in_force()), daemon=True
        )
        self._process.start()
        theirs.close()  # so that the pipe ends with the process

    def give(self, path: Path | None) -> None:
        """Have it run a file, or wait; one that has ended meanwhile says so when it is asked."""
        self.at = path
        if path is not None:
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
    problem = None
    try:
        load_in_worker(plugins)
    except BadInput as error:  # though the leading process could load it
        problem = str(error)
    bound_each_run(bounds)
    pipe.send(_READY)
    while True:
        try:
            path = pipe.recv()
        except EOFError:
            return
        pipe.send(run_any(path) if problem is None else without_result(path, ERROR, problem))
