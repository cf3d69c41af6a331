"""Running a sweep on a pool of processes: the same tables as on Spark, without Java."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from types import ModuleType

from sim.errors import BadInput
from sim.sweeps.blocks import Block, StagedWaves, Work, get_ready, simulate_block
from sim.sweeps.counting import count_files
from sim.sweeps.layout import Wave
from sim.sweeps.output import clear_errors, close_folder, worker_died
from sim.sweeps.runs_progress import Reporter
from sim.sweeps.tally import Counts
from sim.workers import follow_the_parent, usable_cores

BLOCKS_IN_FLIGHT_PER_CORE = 3
WARM_UP_SECONDS = 0.05
"""How long a worker sleeps when it is new, so that none of them gets the others' call to start."""


def _start_worker(work: Work) -> None:
    follow_the_parent()
    get_ready(work)


@contextmanager
def _without_main() -> Iterator[None]:
    """Workers that start in here do not run the script that sweeps once more.

    A new worker would import `__main__`, for functions defined there; it is given none of those. A
    script without `if __name__ == "__main__"` would sweep again in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class ProcessEngine:
    """Runs waves on one process per core and moves each into place when it is whole."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._pool: ProcessPoolExecutor | None = None

    @property
    def cores(self) -> int:
        """How many processes simulate."""
        return usable_cores()

    def warm_up(self) -> None:
        """Starts a worker per core; each imports the simulator."""
        self._pool = ProcessPoolExecutor(
            max_workers=min(self.cores, self.work.sweep.count),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_start_worker,
            initargs=(self.work,),
        )
        with _without_main():
            wait([self._pool.submit(time.sleep, WARM_UP_SECONDS) for _ in range(self.cores)])

    def count(self) -> Counts:
        """Sums up the finished tables."""
        return count_files(self.work.out, self.work.sweep)

    def run(self, waves: tuple[Wave, ...], report: Reporter) -> float:
        """Runs `waves`; the real ms that workers spent in runs.

        An exception or Ctrl-C drops what is under way; finished waves stay.
        """
        if not waves:
            return 0.0
        if self._pool is None:
            self.warm_up()
        assert self._pool is not None
        blocks = self.work.blocks(waves, cores=self.cores)
        staged = StagedWaves(self.work, blocks)
        try:
            with clear_errors(self.work.out):
                return self._run(self._pool, iter(blocks), staged, report)
        except BrokenProcessPool:
            raise BadInput(worker_died(self.work.out)) from None
        except BaseException:
            close_folder(self.work.out)  # which workers take as the sign to stop
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Ends the workers; what they were not yet given is dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _run(
        self,
        pool: ProcessPoolExecutor,
        blocks: Iterator[Block],
        staged: StagedWaves,
        report: Reporter,
    ) -> float:
        pending: set[Future[float]] = set()
        busy_ms = 0.0
        while True:
            room = BLOCKS_IN_FLIGHT_PER_CORE * self.cores - len(pending)
            for block in islice(blocks, room):
                pending.add(pool.submit(simulate_block, self.work, block))
            report(staged.commit())
            if not pending:
                return busy_ms
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            busy_ms += sum(future.result() for future in done)
