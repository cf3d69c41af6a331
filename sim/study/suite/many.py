"""Runs the files of a suite, one after the other or on several processes, in the same order.

A process that ends in the middle of a file, killed or by an exit in it, costs that file alone.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from functools import partial
from pathlib import Path

from sim.bounds import Bounds, bound_each_run, bounds_in_force
from sim.errors import BadInput
from sim.files.opening import is_pipe
from sim.plugins import Plugins, in_use, load_in_worker
from sim.study.suite.cases import run_any, without_result
from sim.study.suite.result import BAD_INPUT, ERROR, CaseResult
from sim.study.suite.scenario_files import Collected

DIED = "the process that ran it ended, perhaps for want of memory"


def run_suite(found: Collected, *, jobs: int = 1) -> Generator[CaseResult]:
    """The result of each file in order of `found.files`; one that cannot be run has one, too.

    Whoever stops asking for results ends the processes, whatever they are at.

    Args:
        found: The files.
        jobs: Number of processes; 1 = this one, 0 = one for each core.
    """
    wanted = [path for path in found.files if path not in found.refused]
    # What came through a pipe is in this process, and comes a second time in none.
    alone = jobs == 1 or len(wanted) < 2 or any(map(is_pipe, wanted))
    running = (run_any(path) for path in wanted) if alone else _on_processes(wanted, jobs)
    with closing(running) as results:
        for path in found.files:
            refused = found.refused.get(path)
            yield next(results) if refused is None else without_result(path, BAD_INPUT, refused)


def _on_processes(paths: list[Path], jobs: int) -> Generator[CaseResult]:
    """The results of `paths` in their order; a file whose process dies is an error.

    Closing the generator, as an exception such as Ctrl-C does, ends the processes.
    """
    # These take longer to import than a story to run.
    from concurrent.futures.process import BrokenProcessPool

    from sim.study.workers import pool_of, usable_cores

    run = partial(_in_worker, in_use(), bounds_in_force())
    left, alone = list(paths), False
    while left:
        with pool_of(1 if alone else min(jobs or usable_cores(), len(left))) as pool:
            try:
                for job in [pool.submit(run, path) for path in (left[:1] if alone else left)]:
                    yield job.result()
                    del left[0]
                alone = False
            except BrokenProcessPool:  # by one of those under way, perhaps by the first of them
                if alone:
                    yield without_result(left.pop(0), ERROR, DIED)
                alone = not alone


def _in_worker(plugins: Plugins, bounds: Bounds, path: Path) -> CaseResult:
    try:
        load_in_worker(plugins)
    except BadInput as error:  # though the leading process could load it
        return without_result(path, ERROR, str(error))
    bound_each_run(bounds)
    return run_any(path)
