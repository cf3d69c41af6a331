"""The files of a suite on several processes; results come in order, each as soon as it may.

A process that ends in the middle of a file, killed or by an exit in it, costs that file alone.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

from sim.bounds import Bounds, bound_each_run, bounds_in_force
from sim.errors import BadInput
from sim.plugins import Plugins, in_use, load_in_worker
from sim.study.suite.cases import run_any, without_result
from sim.study.suite.result import ERROR, CaseResult
from sim.study.workers import pool_of, usable_cores

DIED = "the process that ran it ended, perhaps for want of memory"


def run_on_processes(paths: list[Path], jobs: int) -> Generator[CaseResult]:
    """The results of `paths` in their order; a file whose process dies is an error.

    `jobs` is the number of processes; 0 = one for each core.
    Closing the generator, as an exception such as Ctrl-C does, ends the processes.
    """
    run = partial(_run, in_use(), bounds_in_force())
    left = list(paths)
    while left:
        with pool_of(min(jobs or usable_cores(), len(left))) as pool:
            try:
                for job in [pool.submit(run, path) for path in left]:
                    result = job.result()
                    del left[0]
                    yield result
            except BrokenProcessPool:
                pass  # by one of those that were under way, perhaps by the first of them
        if left:
            yield _alone(run, left.pop(0))


def _alone(run: partial[CaseResult], path: Path) -> CaseResult:
    """The result of a file on a process of its own."""
    with pool_of(1) as pool:
        try:
            return pool.submit(run, path).result()
        except BrokenProcessPool:
            return without_result(path, ERROR, DIED)


def _run(plugins: Plugins, bounds: Bounds, path: Path) -> CaseResult:
    try:
        load_in_worker(plugins)
    except BadInput as error:  # though the leading process could load it
        return without_result(path, ERROR, str(error))
    bound_each_run(bounds)
    return run_any(path)
