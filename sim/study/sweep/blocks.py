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

BLOCK_RUNS_MAX = 1_000
"""Of one process; a kill costs no more."""
BLOCK_RUNS_MIN = 100
BLOCKS_LEFT_PER_CORE = 4
"""A block is at most so large that this many of its size are left for every core."""


@dataclass(frozen=True, slots=True)
class Work:
    """The sweep that an engine runs, and how workers run a case."""

    sweep: Sweep
    open_case: OpenCase
    plugins: Plugins = NO_PLUGINS
    """Imported first by workers, so that they know the same rules."""


def not_in(covered: Iterable[range], count: int) -> tuple[range, ...]:
    """The cases of `range(count)` that are in none of the ranges, in order."""
    found, after = [], 0
    for cases in sorted(covered, key=lambda one: (one.start, one.stop)):
        if cases.start > after:
            found.append(range(after, min(cases.start, count)))
        after = max(after, cases.stop)
    found.append(range(after, count))
    return tuple(cases for cases in found if cases)


def blocks_of(
    missing: Sequence[range], rule_sets: int, *, cores: int, blocks: int | None = None
) -> Iterator[range]:
    """The blocks of some ranges of cases, in order, never empty.

    Args:
        missing: The ranges.
        rule_sets: How many runs a case has.
        cores: How many processes simulate.
        blocks: Forces how many there are, as far as the gaps between the ranges allow; there is
            never more than one per case.
    """
    left = sum(map(len, missing))
    for cases in missing:
        if blocks is not None:
            parts = -(-len(cases) // -(-left // blocks))
            ends = [cases.start + len(cases) * part // parts for part in range(parts + 1)]
            yield from (range(first, end) for first, end in pairwise(ends))
            continue
        rest = cases
        while rest:
            fair = left // (BLOCKS_LEFT_PER_CORE * cores)
            size = max(1, min(max(fair, BLOCK_RUNS_MIN // rule_sets), BLOCK_RUNS_MAX // rule_sets))
            yield rest[:size]
            left -= len(rest[:size])
            rest = rest[size:]


def get_ready(work: Work) -> None:
    """Imports plugins, and the modules that Arrow needs for a row, before the first block."""
    load_in_worker(work.plugins)
    batch_of([], runs_schema(work.sweep))


def write_block(work: Work, cases: range, folder: Path) -> int:
    """Runs a block and puts its file in place; returns the number of runs."""
    load_in_worker(work.plugins)
    batches = batches_of_cases(work.sweep, cases, open_case=work.open_case)
    rows = pa.Table.from_batches(batches, runs_schema(work.sweep))
    with putting(folder / f"part-{cases.start:012d}.parquet") as file:
        pq.write_table(rows, file, write_page_checksum=True)
    return len(rows)
