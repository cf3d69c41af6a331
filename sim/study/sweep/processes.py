"""Running a sweep on a pool of processes: the same table as on Spark, without Java."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from sim.errors import BadInput
from sim.study.sweep.folder import RUNS
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


@dataclass(frozen=True)
class ProcessEngine:
    """Simulates blocks on one process per core; each worker writes its own."""

    work: Work
    out: Path
    """Folder of the sweep."""

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
