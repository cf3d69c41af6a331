"""Names in the folder of a sweep, and how its cases are cut into blocks; no row depends on either.

A *block* is the unit of scheduling: consecutive cases, simulated by one worker. To start a task
takes 50 to 100 ms on Spark, so blocks are long; but a core that finishes early waits for the
others' last blocks, so they get shorter towards the end. A *wave* is what was written at once: the
blocks that workers answered within some seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from sim.sweeps.plan import Sweep

PLAN_FILE: Final = "plan.json"
FINISHED_FILE: Final = "finished.json"
TALLIES_FILE: Final = "tallies.json"
SUMMARY_FILE: Final = "summary.csv"
RUNS: Final = "runs"
VIOLATIONS: Final = "violations"
WAVES: Final = "waves"
STAGING: Final = ".staging"
"""What is being written; a folder in it for each attempt."""
SET_ASIDE: Final = "set-aside"
"""What was found damaged or foreign; nothing reads it."""
LOCK_FILE: Final = ".lock"

BLOCK_SECONDS_MAX = 8.0
"""Of one process."""
BLOCK_SECONDS_MIN = 1.0
BLOCKS_LEFT_PER_CORE = 4
"""A block is at most so large that this many of its size are left for every core."""


def set_aside_now() -> str:
    """The folder for what is set aside at this moment, by its time (UTC)."""
    return f"{SET_ASIDE}/{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"


def wave_name(number: int) -> str:
    """Of a wave's folder under `runs/` and of the one under `violations/`, in Hive's style."""
    return f"wave={number:05d}"


def manifest_name(number: int) -> str:
    """Of the file that says what a wave consists of."""
    return f"{WAVES}/{wave_name(number)}.json"


def part_name(table: str, number: int, first_run: int) -> str:
    """Of a block's part of a table, in a wave."""
    return f"{table}/{wave_name(number)}/{block_file_name(first_run)}"


def block_file_name(first_run: int) -> str:
    """Of the files of a block, by its first `run_id`; in order of the names, rows are in order."""
    return f"part-{first_run:015d}.parquet"


def first_run_of(block_file: str) -> int:
    """The `run_id` in the name of a block's file."""
    return int(block_file.removeprefix("part-").removesuffix(".parquet"))


def not_in(covered: Iterable[range], count: int) -> tuple[range, ...]:
    """What of `range(count)` is in none of the ranges, in order."""
    found, after = [], 0
    for cases in sorted(covered, key=lambda one: (one.start, one.stop)):
        if cases.start > after:
            found.append(range(after, min(cases.start, count)))
        after = max(after, cases.stop)
    found.append(range(after, count))
    return tuple(cases for cases in found if cases)


def joined(ranges: Iterable[range]) -> tuple[range, ...]:
    """Ranges without overlap, in order, those that touch made one."""
    found: list[range] = []
    for cases in sorted(ranges, key=lambda one: one.start):
        if found and found[-1].stop == cases.start:
            found[-1] = range(found[-1].start, cases.stop)
        else:
            found.append(cases)
    return tuple(found)


def blocks_of(
    missing: Sequence[range],
    sweep: Sweep,
    *,
    runs_per_second: float,
    cores: int,
    blocks: int | None = None,
) -> Iterator[range]:
    """The blocks of some ranges of cases, in order, never empty.

    `runs_per_second` is the rate of one process. `blocks` forces how many there are, as far as the
    gaps between the ranges allow; there is never more than one per case.
    """
    left = sum(map(len, missing))
    if blocks is not None:
        yield from _equal(missing, -(-left // blocks))
        return
    seconds_per_case = len(sweep.rule_sets) / runs_per_second
    for cases in missing:
        first = cases.start
        while first < cases.stop:
            fair = left * seconds_per_case / (BLOCKS_LEFT_PER_CORE * cores)
            seconds = min(max(fair, BLOCK_SECONDS_MIN), BLOCK_SECONDS_MAX)
            size = max(1, round(seconds / seconds_per_case))
            end = first + size if first + size * 1.5 < cases.stop else cases.stop
            yield range(first, end)
            left -= end - first
            first = end


def _equal(missing: Sequence[range], size: int) -> Iterator[range]:
    for cases in missing:
        yield from split(cases, -(-len(cases) // size))


def split(cases: range, parts: int) -> Iterator[range]:
    """`cases` in `parts` consecutive ranges whose lengths differ by at most one."""
    size = len(cases)
    for first, end in pairwise(cases.start + size * part // parts for part in range(parts + 1)):
        yield range(first, end)
