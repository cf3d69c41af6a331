"""One sweep out of several: parts of one that was interrupted, or sweeps under different seeds.

All have the same plan and were made by the same code. Parts of one sweep are put together as they
are. Seeds follow one another in the order given: runs are numbered anew, and nothing else of a row
changes. The tallies are counted anew, from the tables.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.sweeps.append import check_confirmation, check_same
from sim.sweeps.blocks import ROW_GROUP_ROWS, Block, BlockAnswer
from sim.sweeps.counting import count_files
from sim.sweeps.layout import FINISHED_FILE, RUNS, STAGING, VIOLATIONS, WAVES
from sim.sweeps.lock import this_process
from sim.sweeps.manifest import Part, Table, Wave
from sim.sweeps.output import clear_errors, prepare_folder, sweep_in
from sim.sweeps.parquet import File, batches, shape_of
from sim.sweeps.parts import (
    Parts,
    missing_cases,
    parts_there,
    plan_content,
    waves_and_problems,
)
from sim.sweeps.plan import Sweep, number_parts
from sim.sweeps.row import VIOLATIONS_SCHEMA, runs_schema
from sim.sweeps.storage import LocalStorage, Storage
from sim.sweeps.tally import write_tallies
from sim.sweeps.waves import WaveWriter, code_problem
from sim.sweeps.whole import damage_in, write_finished


@dataclass(frozen=True, slots=True)
class Source:
    """A sweep that is to be part of another one.

    Attributes:
        folder: Where it is.
        content: Of its `plan.json`.
        sweep: What it is.
        waves: What is there of it.
    """

    folder: Path
    content: dict[str, Any]
    sweep: Sweep
    waves: tuple[Wave, ...]

    @property
    def cases(self) -> list[range]:
        """The cases that are there."""
        return sorted(
            (cases for wave in self.waves for cases in wave.ranges), key=lambda one: one.start
        )


@dataclass(frozen=True, slots=True)
class Merged:
    """What came out of merging.

    Attributes:
        sweep: What the folder holds.
        missing: How many runs it does not have yet; 0 = it is finished.
        tallies: The content of its `tallies.json`; None = it is not finished.
    """

    sweep: Sweep
    missing: int
    tallies: dict[str, Any] | None


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Write the sweeps in some folders as one into a new folder.

    Raises:
        BadInput: Before anything is written: they are fewer than two, one is no sweep, damaged,
            another plan's or made by other code, not finished (unless all are parts of one sweep),
            or has a case that another one has; `out` is there already. Later for a disk that
            cannot be written any more.
    """
    if len(folders) < 2:
        raise BadInput("merge: give two folders or more")
    with clear_errors(out):
        if out.is_symlink() or (out.exists() and not (out.is_dir() and not any(out.iterdir()))):
            raise BadInput(f"{out}: is there already; give a new folder")
    sources = [_source(folder) for folder in folders]
    for one in sources:
        if out.resolve().is_relative_to(one.folder.resolve()):
            raise BadInput(f"{out}: lies in {one.folder}, which is to be merged")
        check_same(
            str(one.folder), one.content, number_parts(sources[0].sweep.plan, one.sweep.parts)
        )
    groups = _groups(sources)
    sweep = _sweep_of(out, groups)
    storage = LocalStorage(out)
    with clear_errors(out), storage.lock(this_process()):
        prepare_folder(storage, sweep, plan_file=_plan_file(sources))
        try:
            _copy(groups, sweep, storage)
            return _summed_up(storage, sweep)
        finally:
            storage.remove(STAGING)


def _plan_file(sources: Sequence[Source]) -> str | None:
    return next((name for one in sources if (name := one.content.get("plan_file"))), None)


def _source(folder: Path) -> Source:
    """A sweep with all that is there of it, compared with its checksums."""
    storage = LocalStorage(folder)
    with clear_errors(folder):
        content = plan_content(storage)
        sweep = sweep_in(str(folder), content)
        check_same(str(folder), content, sweep)
        finished = FINISHED_FILE in storage.entries()
        for name, what in damage_in(storage, thorough=True):
            if finished or name not in (WAVES, FINISHED_FILE):
                raise BadInput(f"{folder}/{name}: {what}; --resume of that sweep mends it")
        waves, _ = waves_and_problems(storage, content)
    problem = code_problem(str(folder), waves)
    if problem is not None:
        raise BadInput(problem)
    return Source(folder, content, sweep, tuple(waves))


def _groups(sources: Sequence[Source]) -> list[list[Source]]:
    """The parts of each sweep, in the order of the first ones; no case is in two."""
    groups: dict[tuple[Any, ...], list[Source]] = {}
    for one in sources:
        groups.setdefault(one.sweep.segments, []).append(one)
    for of_one in groups.values():
        held: list[tuple[range, Source]] = []
        for source in of_one:
            held += [(cases, source) for cases in source.cases]
        held.sort(key=lambda entry: entry[0].start)
        for (before, first), (after, second) in pairwise(held):
            if before.stop > after.start:
                raise _twice(of_one[0].sweep, after.start, first, second)
    found = list(groups.values())
    _check_seeds(found)
    for of_one in found:
        sweep = of_one[0].sweep
        missing = missing_cases(sweep, [wave for one in of_one for wave in one.waves])
        if missing and len(found) > 1:
            runs = sum(map(len, missing)) * len(sweep.rule_sets)
            raise BadInput(
                f"{of_one[0].folder}: is not finished ({runs:,} of {sweep.runs:,} runs missing); "
                "--resume finishes it, then it can be merged with another seed's"
            )
    return found


def _check_seeds(groups: Sequence[Sequence[Source]]) -> None:
    seen: dict[int, Source] = {}
    for source, *_ in groups:
        for segment in source.sweep.segments:
            if segment.seed in seen:
                raise _twice(source.sweep, segment.first, seen[segment.seed], source)
            seen[segment.seed] = source


def _twice(sweep: Sweep, case_id: int, first: Source, second: Source) -> BadInput:
    segment = sweep.segment_of(case_id)
    draw = (case_id - segment.first) // len(sweep.environments)
    return BadInput(
        f"{second.folder}: seed {segment.seed}, draw {draw} is in {first.folder}, too; "
        "it would count twice"
    )


def _sweep_of(out: Path, groups: Sequence[Sequence[Source]]) -> Sweep:
    first = groups[0][0].sweep
    sweep = number_parts(first.plan, [part for (one, *_) in groups for part in one.sweep.parts])
    check_confirmation(str(out), sweep)
    return sweep


def _copy(groups: Sequence[Sequence[Source]], sweep: Sweep, storage: Storage) -> None:
    first_case = 0
    with WaveWriter(storage, sweep, plan_content(storage), ()) as writer:
        for of_one in groups:
            for source in of_one:
                for answer in _answers(source, first_case):
                    writer.add(answer)
            first_case += of_one[0].sweep.count


def _answers(source: Source, first_case: int) -> Iterator[BlockAnswer]:
    """The blocks of a source with their cases numbered from `first_case` on."""
    parts = Parts(LocalStorage(source.folder), source.waves)
    size = len(source.sweep.rule_sets)
    tables: tuple[Table, ...] = (RUNS, VIOLATIONS, "digests")
    for runs, violations, digests in zip(*(parts.of(table) for table in tables), strict=True):
        block = Block(first_case + runs.first_run // size, first_case + runs.last_run // size + 1)
        yield BlockAnswer(
            block=block,
            busy_ms=0.0,
            runs=_renumbered(source, parts, RUNS, runs, first_case),
            violations=_renumbered(source, parts, VIOLATIONS, violations, first_case),
            digests=parts.read(digests),
            run_rows=runs.rows,
            violation_rows=violations.rows,
        )


def _renumbered(source: Source, parts: Parts, table: str, part: Part, first_case: int) -> bytes:
    """A part, its rows checked; the same bytes where no number changes."""
    content = parts.read(part)
    sweep = source.sweep
    schema = runs_schema(sweep) if table == RUNS else VIOLATIONS_SCHEMA
    more = {"run_id": first_case * len(sweep.rule_sets), "case_id": first_case}
    name = f"{source.folder}/{part.path}"
    file = File(name, content, range(part.first_run, part.last_run + 1), part.rows)
    waiting: list[pa.RecordBatch] = []
    written = io.BytesIO()
    with pq.ParquetWriter(written, schema) as writer:
        for batch in batches(table, [file], shape_of(sweep), schema.names):
            waiting.append(_shifted(batch, schema, more))
            if sum(one.num_rows for one in waiting) >= ROW_GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(waiting, schema))
                waiting = []
        writer.write_table(pa.Table.from_batches(waiting, schema))
    return written.getvalue() if first_case else content


def _shifted(batch: pa.RecordBatch, schema: pa.Schema, more: dict[str, int]) -> pa.RecordBatch:
    columns = [
        pc.add(batch.column(name), more[name]) if name in more else batch.column(name)
        for name in schema.names
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _summed_up(storage: Storage, sweep: Sweep) -> Merged:
    """Finish the folder, if all its runs are there."""
    parts = parts_there(storage)
    missing = sum(map(len, missing_cases(sweep, list(parts.waves)))) * len(sweep.rule_sets)
    if missing:
        return Merged(sweep, missing, None)
    content = write_tallies(storage, sweep, count_files(parts, sweep))
    write_finished(storage)
    return Merged(sweep, 0, content)
