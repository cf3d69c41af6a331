"""The table of a sweep in a folder of this machine: which blocks are there, and what they say.

A Parquet file under `runs` is a block, whoever wrote it; which cases it holds, its rows say. A file
that is damaged, doubled or of another sweep is named, and none of its rows are counted.

To start a task takes 50 to 100 ms on Spark, so blocks are long; but a core that finishes early
waits for the others' last blocks, so they get shorter towards the end. No row depends on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.plugins import NO_PLUGINS, Plugins, load_in_worker
from sim.study.sweep.columns import VIOLATION, VIOLATIONS, VIOLATIONS_SCHEMA, batch_of, runs_schema
from sim.study.sweep.folder import RUNS, clear_errors, putting, read_sweep
from sim.study.sweep.plan import Sweep
from sim.study.sweep.work import OpenCase, batches_of_cases

if TYPE_CHECKING:
    import pandas as pd


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


NUMBERS: Final = ("run_id", "seed")
"""What says which runs there are."""
BATCH_ROWS = 2_048


class Damage(NamedTuple):
    """Something in the folder that is not as the sweep wrote it.

    Attributes:
        name: A file, or `runs` for cases that are in none.
        what: What is wrong with it.
    """

    name: str
    what: str


class Block(NamedTuple):
    """A file of the table, with the cases that it holds, in order."""

    name: str
    cases: tuple[range, ...]


def cases_in(sweep: Sweep, batches: Iterable[pa.RecordBatch]) -> list[range]:
    """Which cases some rows hold, out of their `NUMBERS`; in the order of the rows.

    Raises:
        ValueError: A case is not whole, or the sweep has no such runs.
    """
    rows = pa.Table.from_batches(batches, pa.schema([(name, pa.int64()) for name in NUMBERS]))
    if any(rows.column(name).null_count for name in NUMBERS):
        raise ValueError(f"a row without one of {', '.join(NUMBERS)}")
    # Arrow's own `to_numpy` imports pandas.
    run_ids, seeds = (np.from_dlpack(rows.column(name).combine_chunks()) for name in NUMBERS)
    size = len(sweep.rule_sets)
    cases = run_ids[::size] // size
    whole = (cases[:, None] * size + np.arange(size)).ravel()
    wrong = np.flatnonzero(run_ids != whole[: len(run_ids)])
    if len(wrong) or len(run_ids) != len(whole):
        first = cases[wrong[0] // size if len(wrong) else -1]
        raise ValueError(f"case {first} is not whole, or holds a run twice")
    for case_id, seed in zip(cases.tolist(), seeds[::size].tolist(), strict=True):
        if not 0 <= case_id < sweep.count:
            raise ValueError(f"case {case_id} is none of the sweep's")
        if seed != sweep.case_seed(case_id):
            raise ValueError(f"case {case_id} is of another sweep, by its seed")
    parts = np.split(cases, np.flatnonzero(np.diff(cases) != 1) + 1)
    return [range(int(one[0]), int(one[-1]) + 1) for one in parts if len(one)]


@dataclass(frozen=True, slots=True)
class State:
    """The state of a sweep in a folder.

    Attributes:
        out: The folder.
        sweep: What it is of.
        blocks: The files of the table that are as they should be, in order.
        damage: What is wrong. A sweep that was interrupted is not damaged.
    """

    out: Path
    sweep: Sweep
    blocks: tuple[Block, ...]
    damage: tuple[Damage, ...]

    @property
    def missing(self) -> tuple[range, ...]:
        """The cases that are in no block."""
        there = (cases for one in self.blocks for cases in one.cases)
        return not_in(there, self.sweep.count)

    @property
    def files(self) -> list[Path]:
        """The files of the table."""
        return [self.out / one.name for one in self.blocks]

    def batches(self, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
        """Some columns, in small batches, in order of `run_id`. Raises BadInput for damage."""
        for block in self.blocks:
            try:
                yield from rows_in(self.out, block.name, self.sweep, columns)
            except ValueError as error:
                raise damaged(self.out, Damage(block.name, str(error))) from None

    def read(self, columns: Collection[str]) -> pa.Table:
        """Some columns in memory, in order of `run_id`. Raises as `batches`."""
        schema = runs_schema(self.sweep)
        wanted = pa.schema([schema.field(name) for name in columns])
        return pa.Table.from_batches(self.batches(columns), wanted)

    def violations(self, columns: Collection[str] = VIOLATIONS_SCHEMA.names) -> pa.Table:
        """A row for each violation, in order of `run_id` and position. Raises as `batches`."""
        rows = self.read(("run_id", VIOLATIONS)).combine_chunks()
        nested = rows.column(VIOLATIONS)
        found = pc.list_flatten(nested)
        own = [pc.struct_field(found, one.name) for one in VIOLATION]
        run_ids = rows.column("run_id").take(pc.list_parent_indices(nested))
        table = pa.Table.from_arrays([run_ids, *own], schema=VIOLATIONS_SCHEMA)
        return table.select(list(columns))

    def of_run(self, run_id: int) -> State:
        """The table with the block of a run alone; with none, where it was not run yet."""
        case = run_id // len(self.sweep.rule_sets)
        own = (one for one in self.blocks if any(case in cases for cases in one.cases))
        return replace(self, blocks=tuple(own))


def state_of(out: Path, *, thorough: bool = False) -> State:
    """Finds the blocks of a sweep in a folder, and damage.

    Args:
        out: The folder.
        thorough: Read all rows, with the checksums of Parquet; otherwise their numbers alone.

    Raises:
        BadInput: It holds no sweep.
    """
    with clear_errors(out):
        sweep = read_sweep(out)
        blocks, damage = _blocks(out, sweep, thorough=thorough)
    return State(out, sweep, blocks, tuple(damage))


def _blocks(out: Path, sweep: Sweep, *, thorough: bool) -> tuple[tuple[Block, ...], list[Damage]]:
    blocks: list[Block] = []
    damage: list[Damage] = []
    for name in names_in(out):
        if name.rpartition("/")[2][0] in "._":
            continue  # drafts, and what Spark notes down
        try:
            cases = tuple(cases_in(sweep, rows_in(out, name, sweep, NUMBERS)))
            _check_rules(sweep, next(rows_in(out, name, sweep, sweep.swept)))
            if thorough:
                for _batch in rows_in(out, name, sweep, runs_schema(sweep).names):
                    pass
        except ValueError as error:
            damage.append(Damage(name, str(error)))
        else:
            blocks.append(Block(name, cases))
    blocks.sort(key=lambda one: one.cases[0].start if one.cases else 0)
    kept: list[Block] = []
    for block in blocks:
        twice = _overlap(kept, block)
        if twice is None:
            kept.append(block)
        else:
            damage.append(Damage(block.name, f"holds case {twice[0]}, which {twice[1]} has, too"))
    return tuple(kept), sorted(damage)


def _check_rules(sweep: Sweep, rows: pa.RecordBatch) -> None:
    """Raises ValueError unless the first case has the rules of the sweep."""
    first = [{name: one[name] for name in sweep.swept} for one in rows.to_pylist()]
    if first[: len(sweep.rule_sets)] != [one.values for one in sweep.rule_sets]:
        raise ValueError("is of another sweep, by its rules")


def _overlap(kept: list[Block], block: Block) -> tuple[int, str] | None:
    """The first case of a block that is there already, and where."""
    end = -1
    for cases in block.cases:  # in itself, or not in order
        if cases.start < end:
            return cases.start, block.name
        end = cases.stop
    if kept and block.cases and kept[-1].cases and block.cases[0].start < kept[-1].cases[-1].stop:
        return block.cases[0].start, kept[-1].name
    return None


def rows_in(
    out: Path, name: str, sweep: Sweep, columns: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """Some columns of a file, checked. Raises ValueError, saying what is wrong with it."""
    schema = runs_schema(sweep)
    wanted = pa.schema([schema.field(column) for column in columns])
    if not (out / name).is_file():
        raise ValueError("is no regular file")
    try:
        with pq.ParquetFile(out / name, page_checksum_verification=True) as file:
            there = {*file.schema_arrow.names}
            missing = [one for one in schema.names if one not in there]
            if missing:
                raise ValueError(f"no column {missing[0]}; not the table of a sweep")
            for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(columns)):
                rows = batch.select(list(columns)).cast(wanted)
                rows.validate(full=True)
                yield rows
    except (pa.ArrowException, KeyError, OSError, MemoryError, UnicodeError) as error:
        words = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"cannot be read as Parquet: {words:.200}") from None


def damaged(out: Path | str, found: Damage, others: int = 0) -> BadInput:
    """The line for something in a sweep's folder that is not as it should be."""
    more = f" (and {others} more)" if others else ""
    return BadInput(f"{out}/{found.name}: {found.what}{more}; --resume of the sweep mends it")


def open_table(out: Path) -> State:
    """The table in a folder, of a finished or interrupted sweep.

    Raises:
        BadInput: It holds no sweep, or something in it is damaged, doubled or missing.
    """
    state = state_of(out)
    if state.damage:
        raise damaged(out, state.damage[0], len(state.damage) - 1)
    return state


def open_rows(out: Path) -> State:
    """The table with at least one row. Raises BadInput otherwise."""
    state = open_table(out)
    if not state.blocks:
        raise BadInput(f"{out}: no block of this sweep is finished yet; --resume continues it")
    return state


def has_table(out: Path) -> bool:
    """Whether a table was begun in the folder, or somebody keeps its documents alone."""
    with clear_errors(out):
        return bool(names_in(out))


def names_in(out: Path) -> list[str]:
    """Names of all that lies in the folder of the table, in order; none without it."""
    top = out / RUNS
    return sorted(f"{RUNS}/{path.name}" for path in top.iterdir()) if top.is_dir() else []


def load_sweep(out: Path | str) -> pd.DataFrame:
    """The runs of a finished or interrupted sweep as a DataFrame, ordered by `run_id`.

    Integer columns stay integers: int64, or pandas' nullable Int64 where values are missing.
    """
    table = open_rows(Path(out))
    return _frame(
        table.read([name for name in runs_schema(table.sweep).names if name != VIOLATIONS])
    )


def load_violations(out: Path | str) -> pd.DataFrame:
    """A row for each violation, ordered by `run_id` and position in the run."""
    return _frame(open_rows(Path(out)).violations())


def _frame(table: pa.Table) -> pd.DataFrame:
    import pandas as pd  # here alone: replaying a run needs no data frame

    gaps = {
        column
        for column, values in zip(table.column_names, table.columns, strict=True)
        if pa.types.is_integer(values.type) and values.null_count
    }
    frame = table.drop_columns(sorted(gaps)).to_pandas()
    for column in gaps:
        frame[column] = pd.array(table.column(column).to_pylist(), dtype="Int64")
    ordered: pd.DataFrame = frame[table.column_names]
    return ordered
