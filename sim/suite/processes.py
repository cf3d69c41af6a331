"""The files of a suite on several processes; results come in order, each as soon as it may."""

from __future__ import annotations

import multiprocessing
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from sim.plugins import Plugins, in_use, load_in_worker
from sim.suite.cases import run_any, without_result
from sim.suite.result import ERROR, CaseResult
from sim.workers import follow_the_parent, usable_cores

DIED = "the process that was to run it ended, perhaps for want of memory; try -j 1"


def run_on_processes(paths: list[Path], jobs: int) -> Generator[CaseResult]:
    """The results of `paths` in their order; when a process dies, those left are errors.

    `jobs` is the number of processes; 0 = one for each core.
    Closing the generator, as an exception such as Ctrl-C does, ends the processes.
    """
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        max_workers=min(jobs or usable_cores(), len(paths)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(in_use(),),
    )
    done = 0
    try:
        for result in pool.map(_run, paths):
            yield result
            done += 1
    except BrokenProcessPool:
        yield from (without_result(path, ERROR, DIED) for path in paths[done:])
    finally:
        if done < len(paths):
            # What is under way nobody waits for, and it may take as long as it likes.
            for worker in set(multiprocessing.active_children()) - before:
                worker.terminate()
        pool.shutdown(cancel_futures=True)


def _start_worker(plugins: Plugins) -> None:
    follow_the_parent()
    load_in_worker(plugins)


def _run(path: Path) -> CaseResult:
    result = run_any(path)
    return result._replace(detail=dict(result.detail))  # what is read-only cannot be sent
