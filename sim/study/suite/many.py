"""Runs the files of a suite, one after the other or on several processes, in the same order."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from sim.files.opening import is_pipe
from sim.study.suite.cases import run_any, without_result
from sim.study.suite.result import BAD_INPUT, CaseResult
from sim.study.suite.scenario_files import Collected


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
    running = (run_any(path) for path in wanted) if alone else _elsewhere(wanted, jobs)
    with closing(running) as results:
        for path in found.files:
            refused = found.refused.get(path)
            yield next(results) if refused is None else without_result(path, BAD_INPUT, refused)


def _elsewhere(paths: list[Path], jobs: int) -> Generator[CaseResult]:
    from sim.study.suite.processes import (
        run_on_processes,  # takes longer to import than a story to run
    )

    yield from run_on_processes(paths, jobs)
