"""Running a sweep on a pool of processes: the same tables as on Spark, without Java."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing.connection import Connection
from types import ModuleType

from sim.errors import BadInput
from sim.sweeps.blocks import Block, BlockAnswer, Work, get_ready, simulate_block
from sim.sweeps.counting import count_files
from sim.sweeps.output import worker_died
from sim.sweeps.parts import Parts
from sim.sweeps.tally import Counts
from sim.workers import Lifeline, follow_the_parent, starting_workers, usable_cores, worker_context

BLOCKS_IN_FLIGHT_PER_CORE = 3
WARM_UP_SECONDS = 0.05
"""How long a worker sleeps when it is new, so that none of them gets the others' call to start."""


def _start_worker(work: Work, lifeline: Connection) -> None:
    follow_the_parent(lifeline)
    with suppress(BadInput):  # a plugin that raises here alone: the first block says so, in a line
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
    """Simulates blocks on one process per core."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._pool: ProcessPoolExecutor | None = None
        self._lifeline: Lifeline | None = None

    @property
    def cores(self) -> int:
        """How many processes simulate."""
        return usable_cores()

    def warm_up(self) -> None:
        """Starts a worker per core; each imports the simulator."""
        self._lifeline = Lifeline()
        self._pool = ProcessPoolExecutor(
            max_workers=min(self.cores, self.work.sweep.count),
            mp_context=worker_context(),
            initializer=_start_worker,
            initargs=(self.work, self._lifeline.end),
        )
        with _without_main(), starting_workers():
            begun = [self._pool.submit(time.sleep, WARM_UP_SECONDS) for _ in range(self.cores)]
        wait(begun)

    def count(self, parts: Parts) -> Counts:
        """Sums up the finished tables."""
        return count_files(parts, self.work.sweep)

    def answers(self, blocks: Iterable[Block]) -> Generator[BlockAnswer]:
        """See `Engine`."""
        if self._pool is None:
            self.warm_up()
        assert self._pool is not None
        upcoming = iter(blocks)
        pending: set[Future[BlockAnswer]] = set()
        try:
            while True:
                room = BLOCKS_IN_FLIGHT_PER_CORE * self.cores - len(pending)
                for block in islice(upcoming, room):
                    pending.add(self._pool.submit(simulate_block, self.work, block))
                if not pending:
                    return
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise BadInput(worker_died()) from None
        finally:
            self.close(at_once=bool(pending))

    def close(self, *, at_once: bool = True) -> None:
        """Ends the workers, in the middle of what they are at if need be."""
        if self._pool is not None and self._lifeline is not None:
            if at_once:
                self._lifeline.cut()
            self._pool.shutdown(cancel_futures=True)
            self._lifeline.cut()
            self._pool = None
