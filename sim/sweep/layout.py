"""How the cases of a sweep are cut into waves and blocks; no row depends on it.

A *wave* is the unit that survives: one folder per table, there completely or not at all. Its
size follows from the number of runs alone, so that a sweep can be resumed with another engine.
A *block* is the unit of scheduling: consecutive cases worth about two seconds of work, so that the
cost of starting a task (50 to 100 ms on Spark) stays below 5 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from sim.sweep.plan import Sweep

BLOCK_SECONDS = 2.0
WAVE_RUNS_MIN = 1_000
"""Small sweeps have few waves, so that their files are not tiny."""
WAVE_RUNS_MAX = 200_000
"""Large sweeps have many: no more is lost when one is killed."""
WAVES_USUAL = 16


@dataclass(frozen=True, slots=True)
class Wave:
    """Cases [first, end) of a sweep."""

    number: int
    first: int
    end: int

    @property
    def folder_name(self) -> str:
        """Of its folder under `runs/` and of the one under `violations/`, in Hive's style."""
        return f"wave={self.number:05d}"

    @property
    def cases(self) -> range:
        """The numbers of its cases."""
        return range(self.first, self.end)


def waves_of(sweep: Sweep) -> tuple[Wave, ...]:
    """All waves, in the order of their cases."""
    usual = min(WAVES_USUAL, sweep.runs // WAVE_RUNS_MIN)
    count = min(sweep.count, max(1, usual, math.ceil(sweep.runs / WAVE_RUNS_MAX)))
    ranges = split(range(sweep.count), count)
    return tuple(Wave(number, cases.start, cases.stop) for number, cases in enumerate(ranges))


def wave_of_case(sweep: Sweep, case_id: int) -> Wave:
    """The wave a case belongs to."""
    return next(wave for wave in waves_of(sweep) if case_id in wave.cases)


def blocks_of(
    wave: Wave, sweep: Sweep, *, runs_per_second: float, cores: int, blocks: int | None = None
) -> tuple[range, ...]:
    """The blocks of a wave as ranges of cases, none empty.

    `runs_per_second` is the rate of one process. `blocks` forces their number; there is never
    more than one per case.
    """
    if blocks is None:
        seconds = len(wave.cases) * len(sweep.rule_sets) / runs_per_second
        blocks = math.ceil(seconds / BLOCK_SECONDS)
        blocks = math.ceil(blocks / cores) * cores  # no core waits for another's last block
    return split(wave.cases, max(1, min(blocks, len(wave.cases))))


def split(cases: range, parts: int) -> tuple[range, ...]:
    """`cases` in `parts` consecutive ranges whose lengths differ by at most one."""
    size = len(cases)
    bounds = [cases.start + size * part // parts for part in range(parts + 1)]
    return tuple(range(first, end) for first, end in pairwise(bounds))
