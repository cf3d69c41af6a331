"""Running a sweep on a pool of processes: the same table as on Spark, without Java."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType

from sim.errors import BadInput
from sim.study.sweep.folder import RUNS
from sim.study.sweep.statistics import Ask, on_duckdb
from sim.study.sweep.work import Work
from sim.study.workers import pool_of, starting_workers, usable_cores

WARM_UP_SECONDS = 0.05
"""Sleep of each new worker, long enough that every worker gets one call."""
DIED = "a worker process died (out of memory?); what was finished is kept, --resume continues"


def _get_ready(work: Work) -> None:
    with suppress(BadInput):  # a plugin that raises here alone: the first block says so, in a line
        work.get_ready()


@contextmanager
def _without_main() -> Iterator[None]:
    """Keeps new workers from importing the script that sweeps.

    A new worker imports `__main__`; a script without `if __name__ == "__main__"` would sweep again
    in each of them.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class ProcessEngine:
    """Simulates blocks on one process per core; each worker writes its own."""

    def __init__(self, work: Work, out: Path, pools: ExitStack) -> None:
        """Takes the work, the folder, and the stack that ends the workers."""
        self.work, self.out, self._pools = work, out, pools
        self._pool: ProcessPoolExecutor | None = None

    @property
    def cores(self) -> int:
        """Number of processes that simulate."""
        return usable_cores()

    def warm_up(self) -> None:
        """Starts a worker per core; each imports the simulator."""
        size = min(self.cores, self.work.sweep.count)
        self._pool = self._pools.enter_context(pool_of(size, partial(_get_ready, self.work)))
        with _without_main(), starting_workers():
            begun = [self._pool.submit(time.sleep, WARM_UP_SECONDS) for _ in range(self.cores)]
        wait(begun)

    def simulate(self, blocks: Sequence[Sequence[int]]) -> Generator[int]:
        """Simulates blocks and writes each into the table; yields the number of runs done so far.

        Finished blocks stay in any case. Raises BadInput when a worker dies.
        """
        assert self._pool is not None, "warm_up comes first"
        folder, runs = self.out / RUNS, 0
        try:
            jobs = [self._pool.submit(self.work.write, cases, folder) for cases in blocks]
            for job in as_completed(jobs):
                runs += job.result()
                yield runs
        except BrokenProcessPool:
            raise BadInput(DIED) from None

    def asking(self, files: Sequence[Path]) -> AbstractContextManager[Ask]:
        """Asks the files of the table in SQL, on DuckDB."""
        return on_duckdb(files)
