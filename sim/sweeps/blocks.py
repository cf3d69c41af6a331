"""Blocks on their way to the tables: written by workers, moved into place when a wave is whole.

A worker writes the rows of its block into the staging folder, as one file per table and one of
their digests, and answers with nothing but the time it took. Once all blocks of a wave are there,
their folder is renamed: a wave comes into place as a whole or not at all, and no row passes through
the leading process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sim.plugins import NO_PLUGINS, Plugins, load_in_worker
from sim.sweeps.digests import digests_file_of, digests_text
from sim.sweeps.layout import Wave, block_file_name, blocks_of
from sim.sweeps.output import RUNS, STAGING, VIOLATIONS, commit_wave
from sim.sweeps.plan import Sweep
from sim.sweeps.row import (
    VIOLATIONS_SCHEMA,
    batch_of,
    runs_schema,
    split_tables,
    worker_schema,
)
from sim.sweeps.work import OpenCase, batches_of_cases

ROW_GROUP_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive cases of one wave: what one task simulates."""

    wave: Wave
    cases: range

    def file_name(self, sweep: Sweep) -> str:
        """Of its file in each table."""
        return block_file_name(sweep.run_id(self.cases.start, 0))


@dataclass(frozen=True, slots=True)
class Work:
    """What an engine is given."""

    sweep: Sweep
    out: Path
    """The folder, prepared; absolute, and the same on every machine."""
    open_case: OpenCase
    runs_per_second: float
    """Of one process."""
    partitions: int | None
    """Blocks per wave; None = as `sim.sweeps.layout` thinks best."""
    plugins: Plugins = NO_PLUGINS
    """What workers import first, so that they know the same rules."""

    def blocks(self, waves: Sequence[Wave], *, cores: int) -> tuple[Block, ...]:
        """The blocks of some waves, in order."""
        return tuple(
            Block(wave, cases)
            for wave, cases in blocks_of(
                waves,
                self.sweep,
                runs_per_second=self.runs_per_second,
                cores=cores,
                blocks=self.partitions,
            )
        )


def get_ready(work: Work) -> None:
    """Loads what a worker's first block would: plugins, and what Arrow imports with its first row.

    That is pandas, where it is installed: half a second.
    """
    load_in_worker(work.plugins)
    batch_of([], worker_schema(work.sweep))


def simulate_block(work: Work, block: Block) -> float:
    """Runs a block and writes its files; real ms spent in its runs. This is all a worker does.

    It stops when the staging folder is gone: the sweep was interrupted.
    """
    load_in_worker(work.plugins)
    files = {
        table: _BlockFile(work, block, table, schema)
        for table, schema in ((RUNS, runs_schema(work.sweep)), (VIOLATIONS, VIOLATIONS_SCHEMA))
    }
    digests: list[str | None] = []
    busy_ms = 0.0
    for batch in batches_of_cases(work.sweep, block.cases, open_case=work.open_case):
        if not (work.out / STAGING).is_dir():
            return busy_ms
        busy_ms += sum(batch.column("wall_ms").to_pylist())
        digests += batch.column("digest").to_pylist()
        for table, rows in zip(files, split_tables(batch), strict=True):
            files[table].add(rows)
    digests_file_of(files[RUNS].path).write_text(digests_text(digests), encoding="ascii")
    for table in (VIOLATIONS, RUNS):  # runs last: its file says that the block is there
        files[table].close()
    return busy_ms


class _BlockFile:
    """One Parquet file of a block, written under another name until it is whole."""

    def __init__(self, work: Work, block: Block, table: str, schema: pa.Schema) -> None:
        self.path = _staged(work.out, table, block.wave) / block.file_name(work.sweep)
        self.path.parent.mkdir(exist_ok=True)  # in the staging folder, or the sweep is over
        self._draft = self.path.with_name(f".{os.getpid()}-{self.path.name}")
        self._writer = pq.ParquetWriter(self._draft, schema)
        self._waiting: list[pa.Table] = [schema.empty_table()]

    def add(self, rows: pa.Table) -> None:
        self._waiting.append(rows)
        if sum(part.num_rows for part in self._waiting) >= ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        rows = pa.concat_tables(self._waiting)
        self._writer.write_table(rows)
        self._waiting = [rows.slice(0, 0)]

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._draft.replace(self.path)


def _staged(out: Path, table: str, wave: Wave) -> Path:
    return out / STAGING / table / wave.folder_name


@dataclass(slots=True)
class StagedWaves:
    """The waves that workers are writing."""

    work: Work
    blocks: Sequence[Block]
    _done: int = 0
    """Runs in waves that are in place."""
    _waiting: dict[Wave, list[Block]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for block in self.blocks:
            self._waiting.setdefault(block.wave, []).append(block)

    @property
    def complete(self) -> bool:
        """Whether every wave is in place."""
        return not self._waiting

    def commit(self) -> int:
        """Moves whole waves into place. The number of runs that are done, in whole waves or not."""
        sweep = self.work.sweep
        started = 0
        for wave, blocks in list(self._waiting.items()):
            folder = _staged(self.work.out, RUNS, wave)
            there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
            runs = [
                len(block.cases) * len(sweep.rule_sets)
                for block in blocks
                if block.file_name(sweep) in there
            ]
            if len(runs) < len(blocks):
                started += sum(runs)
                continue
            violations = _staged(self.work.out, VIOLATIONS, wave)
            commit_wave(self.work.out, wave, runs=folder, violations=violations)
            self._done += sum(runs)
            del self._waiting[wave]
        return self._done + started
