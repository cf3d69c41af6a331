"""Running a sweep on a pool of processes: the same table as on Spark, without Java."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from sim.errors import BadInput
from sim.study.sweep.folder import RUNS, SET_ASIDE, plan_content
from sim.study.sweep.statistics import BRIEF, on_duckdb, statistics_of
from sim.study.sweep.table import Work, get_ready, open_table, state_of, write_block
from sim.study.workers import pool_of, starting_workers, usable_cores

WARM_UP_SECONDS = 0.05
"""How long a worker sleeps when it is new, so that none of them gets the others' call to start."""
DIED = "a worker process died (out of memory?); what was finished is kept, --resume continues"


def _get_ready(work: Work) -> None:
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


class LocalTable:
    """The table in a folder of this machine, as an engine finds it and counts it."""

    def __init__(self, work: Work, out: Path) -> None:
        self.work = work
        self.out = out

    def there(self, tell: Callable[[str], None]) -> tuple[range, ...]:
        """The cases that are in the table. Removes unfinished files of killed workers.

        `tell` gets a line for each damaged file, which is set aside.
        """
        aside = f"{SET_ASIDE}/{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
        for path in (self.out / RUNS).glob(".*.draft"):
            path.unlink()
        # The next job of Spark's would commit what a killed one has left there.
        shutil.rmtree(self.out / RUNS / "_temporary", ignore_errors=True)
        state = state_of(self.out, thorough=True)
        for name, what in state.damage:
            if name != RUNS:
                target = self.out / aside / name
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.out / name).replace(target)
                tell(f"{self.out}/{name}: {what}; its runs are made again, it is kept in {aside}")
        return tuple(cases for block in state.blocks for cases in block.cases)

    def count(self) -> dict[str, Any]:
        """The verdicts in the table, and the sums of its counters."""
        with on_duckdb(open_table(self.out).files) as ask:
            return statistics_of(plan_content(self.out), ask, questions=BRIEF)


class ProcessEngine(LocalTable):
    """Simulates blocks on one process per core; each worker writes its own."""

    def __init__(self, work: Work, out: Path, pools: ExitStack) -> None:
        """The workers end with `pools`."""
        super().__init__(work, out)
        self._pools = pools
        self._pool: ProcessPoolExecutor | None = None

    @property
    def cores(self) -> int:
        """How many processes simulate."""
        return usable_cores()

    def warm_up(self) -> None:
        """Starts a worker per core; each imports the simulator."""
        size = min(self.cores, self.work.sweep.count)
        self._pool = self._pools.enter_context(pool_of(size, partial(_get_ready, self.work)))
        with _without_main(), starting_workers():
            begun = [self._pool.submit(time.sleep, WARM_UP_SECONDS) for _ in range(self.cores)]
        wait(begun)

    def simulate(self, blocks: Sequence[range]) -> Generator[int]:
        """Simulates blocks and writes each into the table; yields the number of runs done so far.

        Blocks that were finished stay, whatever comes. Raises BadInput when a worker dies.
        """
        assert self._pool is not None, "warm_up comes first"
        folder, runs = self.out / RUNS, 0
        try:
            jobs = [self._pool.submit(write_block, self.work, cases, folder) for cases in blocks]
            for job in as_completed(jobs):
                runs += job.result()
                yield runs
        except BrokenProcessPool:
            raise BadInput(DIED) from None
