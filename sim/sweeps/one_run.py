"""One run of a sweep: its row, its scenario, and the run again."""

from __future__ import annotations

from bisect import bisect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import BadInput
from sim.scenario.generate import generate
from sim.scenario.model import Scenario
from sim.sweeps.digests import digest_in
from sim.sweeps.layout import FINISHED_FILE, RUNS
from sim.sweeps.manifest import Part, Table
from sim.sweeps.output import clear_errors, read_sweep
from sim.sweeps.parts import Parts, damaged, parts_there
from sim.sweeps.storage import LocalStorage
from sim.sweeps.whole import has_tables, require_whole
from sim.timed_run import Run, run_scenario
from sim.trace import Event

if TYPE_CHECKING:
    from sim.files.trace_file import TraceHeader


def find_run(out: Path, run_id: int) -> dict[str, Any]:
    """The row of a run by column. Reads one file; imports nothing but pyarrow.parquet.

    Raises BadInput when there is no such run, it has not been run yet, or the file is damaged.
    """
    from sim.sweeps.parquet import File, batches, shape_of
    from sim.sweeps.reading import known_columns

    sweep = read_sweep(out)
    parts = _parts(out, run_id)
    part = _part_with(parts, RUNS, run_id)
    with clear_errors(out):
        file = File(f"{out}/{part.path}", parts.read(part))
    shape = shape_of(sweep)
    for batch in batches(RUNS, [file], shape, known_columns(file, RUNS, shape)):
        place = batch.column("run_id").index(run_id).as_py()
        if place >= 0:
            row: dict[str, Any] = batch.slice(place, 1).to_pylist()[0]
            return row
    raise damaged(parts.storage, part.path, f"has no row of run {run_id}")


def has_runs(out: Path) -> bool:
    """Whether a sweep was begun in the folder; one with `plan.json` alone holds no row.

    Raises BadInput when it cannot be read.
    """
    with clear_errors(out):
        storage = LocalStorage(out)
        return FINISHED_FILE in storage.entries() or has_tables(storage)


def is_finished(out: Path) -> bool:
    """Whether the sweep in the folder came to its end. Raises BadInput when it is damaged."""
    return require_whole(out, thorough=False).finished


def digest_of_run(out: Path, run_id: int) -> str | None:
    """The digest in the row of a run; None = the run did not end.

    Reads the lines of its block, and in folders that are older than those the row itself. Raises
    like `find_run`.
    """
    parts = _parts(out, run_id)
    if parts.unchecked:
        digest: str | None = find_run(out, run_id)["digest"]
        return digest
    part = _part_with(parts, "digests", run_id)
    with clear_errors(out):
        content = parts.read(part)
    try:
        return digest_in(content, run_id - part.first_run)
    except ValueError as error:
        raise damaged(parts.storage, part.path, str(error)) from None


def trace_header_of_run(out: Path | str, run_id: int) -> TraceHeader:
    """What the trace of a run says first; its rates hold for what its case was drawn from.

    Raises BadInput as `scenario_of_run` does.
    """
    from sim.scenario.trace_header import header_of  # only a trace needs it

    sweep = read_sweep(Path(out))
    mix = sweep.environment_of(sweep.place_of(run_id)[0]).mix
    return header_of(scenario_of_run(out, run_id), mix=mix)


def _parts(out: Path, run_id: int) -> Parts:
    """The files of the tables, if there is such a run, and they are undamaged by their sizes."""
    read_sweep(out).place_of(run_id)
    require_whole(out, thorough=False)
    with clear_errors(out):
        return parts_there(LocalStorage(out))


def _part_with(parts: Parts, table: Table, run_id: int) -> Part:
    """The part of a table that has a run."""
    there = parts.of(table)
    place = bisect(there, run_id, key=lambda part: part.first_run) - 1
    if place < 0 or (there[place].last_run < run_id and not parts.unchecked):
        raise BadInput(
            f"{parts.storage.label}: run {run_id} was not run yet; --resume of the sweep runs it"
        )
    return there[place]


def scenario_of_run(out: Path | str, run_id: int) -> Scenario:
    """The scenario of a run, with its rules, made again from `plan.json` and the run's number.

    Raises BadInput when the folder holds no sweep or the sweep no such run.
    """
    sweep = read_sweep(Path(out))
    case_id, rule_set = sweep.place_of(run_id)
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    return replace(scenario.with_rules(rule_set.settings), preset=rule_set.preset)


def replay(out: Path | str, run_id: int, *, trace: list[tuple[int, Event]] | None = None) -> Run:
    """A run of a sweep once more, in full; `trace` takes its events as (ms, event).

    With the version that made the sweep its digest equals the row's (`digest_of_run(out, run_id)`).
    """
    return run_scenario(scenario_of_run(out, run_id), trace=trace)
