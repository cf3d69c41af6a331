"""Blocks: consecutive cases, simulated by one worker and written as one file of the table.

To start a task takes 50 to 100 ms on Spark, so blocks are long; but a core that finishes early
waits for the others' last blocks, so they get shorter towards the end. No row depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sim.plugins import NO_PLUGINS, Plugins, load_in_worker
from sim.study.sweep.columns import runs_schema
from sim.study.sweep.plan import Sweep
from sim.study.sweep.row import batch_of
from sim.study.sweep.storage import putting
from sim.study.sweep.work import OpenCase, batches_of_cases

BLOCK_SECONDS_MAX = 8.0
"""Of one process; a kill costs no more."""
BLOCK_SECONDS_MIN = 1.0
ROW_GROUP_ROWS = 5_000
BLOCKS_LEFT_PER_CORE = 4
"""A block is at most so large that this many of its size are left for every core."""


@dataclass(frozen=True, slots=True)
class Work:
    """What an engine is given."""

    sweep: Sweep
    open_case: OpenCase
    plugins: Plugins = NO_PLUGINS
    """What workers import first, so that they know the same rules."""


def not_in(covered: Iterable[range], count: int) -> tuple[range, ...]:
    """What of `range(count)` is in none of the ranges, in order."""
    found, after = [], 0
    for cases in sorted(covered, key=lambda one: (one.start, one.stop)):
        if cases.start > after:
            found.append(range(after, min(cases.start, count)))
        after = max(after, cases.stop)
    found.append(range(after, count))
    return tuple(cases for cases in found if cases)


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
        for cases in missing:
            yield from _split(cases, -(-len(cases) // -(-left // blocks)))
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


def _split(cases: range, parts: int) -> Iterator[range]:
    """`cases` in `parts` consecutive ranges whose lengths differ by at most one."""
    size = len(cases)
    for first, end in pairwise(cases.start + size * part // parts for part in range(parts + 1)):
        yield range(first, end)


def get_ready(work: Work) -> None:
    """Loads what a worker's first block would: plugins, and what Arrow needs for a row."""
    load_in_worker(work.plugins)
    batch_of([], runs_schema(work.sweep))


def write_block(work: Work, cases: range, folder: Path) -> int:
    """Runs a block and puts its file in place; how many runs. This is all a worker does here."""
    load_in_worker(work.plugins)
    rows, schema, size = 0, runs_schema(work.sweep), len(work.sweep.rule_sets)
    batches = batches_of_cases(work.sweep, cases, open_case=work.open_case)
    with (
        putting(folder / f"part-{cases.start:012d}.parquet") as file,
        pq.ParquetWriter(file, schema, write_page_checksum=True) as writer,
    ):
        for group in whole_cases(batches, size, ROW_GROUP_ROWS):
            writer.write_table(group)
            rows += group.num_rows
    return rows


def whole_cases(batches: Iterable[pa.RecordBatch], size: int, rows: int) -> Iterator[pa.Table]:
    """Rows by the thousands.

    Args:
        batches: Consecutive runs.
        size: How many of them are a case, none of which is divided.
        rows: About how many are wanted together.
    """
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) < rows:
            continue
        found = pa.Table.from_batches(waiting)
        whole = found.num_rows - found.num_rows % size
        yield found.slice(0, whole)
        waiting = found.slice(whole).to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)
