"""How the cases of a sweep are cut into waves and blocks; no row depends on it.

A *wave* is the unit that survives: one folder per table, there completely or not at all. Its
size follows from the number of runs alone, so that a sweep can be resumed with another engine.
A *block* is the unit of scheduling: consecutive cases of one wave. To start a task takes 50 to 100
ms on Spark, so blocks are long; but a core that finishes early waits for the others' last blocks,
so they get shorter towards the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from sim.sweeps.plan import Sweep

BLOCK_SECONDS_MAX = 8.0
"""Of one process."""
BLOCK_SECONDS_MIN = 1.0
BLOCKS_LEFT_PER_CORE = 4
"""A block is at most so large that this many of its size are left for every core."""
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
    waves: Iterable[Wave],
    sweep: Sweep,
    *,
    runs_per_second: float,
    cores: int,
    blocks: int | None = None,
) -> Iterator[tuple[Wave, range]]:
    """The blocks of some waves, in order: the wave and a range of its cases, never empty.

    `runs_per_second` is the rate of one process. `blocks` forces their number in each wave; there
    is never more than one per case.
    """
    waves = tuple(waves)
    seconds_per_case = len(sweep.rule_sets) / runs_per_second
    cases_left = sum(len(wave.cases) for wave in waves)
    for wave in waves:
        if blocks is not None:
            for cases in split(wave.cases, min(blocks, len(wave.cases))):
                yield wave, cases
            continue
        first = wave.first
        while first < wave.end:
            fair = cases_left * seconds_per_case / (BLOCKS_LEFT_PER_CORE * cores)
            seconds = min(max(fair, BLOCK_SECONDS_MIN), BLOCK_SECONDS_MAX)
            size = max(1, round(seconds / seconds_per_case))
            end = first + size if first + size * 1.5 < wave.end else wave.end
            yield wave, range(first, end)
            cases_left -= end - first
            first = end


def block_file_name(first_run: int) -> str:
    """Of the files of a block, by its first `run_id`; in order of the names, rows are in order."""
    return f"part-{first_run:015d}.parquet"


def first_run_of(block_file: str) -> int:
    """The `run_id` in the name of a block's file."""
    return int(block_file.removeprefix("part-").removesuffix(".parquet"))


def split(cases: range, parts: int) -> tuple[range, ...]:
    """`cases` in `parts` consecutive ranges whose lengths differ by at most one."""
    size = len(cases)
    bounds = [cases.start + size * part // parts for part in range(parts + 1)]
    return tuple(range(first, end) for first, end in pairwise(bounds))
