"""The table of a sweep in a folder of this machine: which blocks are there, and what they say.

A Parquet file under `runs` is a block, whoever wrote it; which cases it holds, its rows say. A file
that is damaged, doubled or of another sweep is named, and none of its rows are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.study.sweep.blocks import not_in
from sim.study.sweep.columns import VIOLATION, VIOLATIONS, VIOLATIONS_SCHEMA, runs_schema
from sim.study.sweep.folder import RUNS, clear_errors, read_sweep
from sim.study.sweep.plan import Sweep

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
