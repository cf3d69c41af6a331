"""Running a sweep on a pool of processes: the same table as on Spark, without Java."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import ModuleType

from sim.errors import BadInput
from sim.study.sweep.folder import RUNS
from sim.study.sweep.statistics import Ask, on_duckdb
from sim.study.sweep.work import Work
from sim.study.workers import pool_of, usable_cores

DIED = "a worker process died (out of memory?); what was finished is kept, --resume continues"


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

    def __init__(self, work: Work, out: Path) -> None:
        """Takes the work and the folder."""
        self.work, self.out = work, out

    @property
    def cores(self) -> int:
        """Number of processes that simulate."""
        return usable_cores()

    def simulate(self, blocks: Sequence[Sequence[int]]) -> Generator[int]:
        """Simulates blocks and writes each into the table; yields the number of runs done so far.

        Finished blocks stay in any case. Raises BadInput when a worker dies.
        """
        folder, runs = self.out / RUNS, 0
        try:
            with pool_of(min(self.cores, len(blocks))) as pool:
                with _without_main():
                    jobs = [pool.submit(self.work.write, cases, folder) for cases in blocks]
                for job in as_completed(jobs):
                    runs += job.result()
                    yield runs
        except BrokenProcessPool:
            raise BadInput(DIED) from None

    def asking(self, files: Sequence[Path]) -> AbstractContextManager[Ask]:
        """Asks the files of the table in SQL, on DuckDB."""
        return on_duckdb(files)
