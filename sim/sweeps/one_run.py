"""One run of a sweep: its row, its scenario, and the run again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.errors import BadInput
from sim.scenario.generate import generate
from sim.scenario.model import Scenario
from sim.sweeps.digests import digest_in, digests_file_of
from sim.sweeps.layout import block_file_name, first_run_of, wave_of_case
from sim.sweeps.output import RUNS, clear_errors, read_sweep
from sim.sweeps.plan import Sweep
from sim.timed_run import Run, run_scenario
from sim.trace import Event

if TYPE_CHECKING:
    from sim.files.trace_file import TraceHeader


def find_run(out: Path, run_id: int) -> dict[str, Any]:
    """The row of a run by column. Reads one file; imports nothing but pyarrow.parquet.

    Raises BadInput when there is no such run, or its wave has not been run yet.
    """
    import pyarrow.parquet as pq

    sweep = read_sweep(out)
    path = _block_file(out, sweep, run_id)
    rows: list[dict[str, Any]] = []
    with clear_errors(out), pq.ParquetFile(path) as file:
        for batch in file.iter_batches():
            places = batch.column("run_id").to_pylist()
            rows += [
                batch.slice(place, 1).to_pylist()[0]
                for place, there in enumerate(places)
                if there == run_id
            ]
    if len(rows) != 1:
        raise BadInput(f"{path}: run {run_id} occurs {len(rows)} times; the table is damaged")
    return rows[0]


def has_runs(out: Path) -> bool:
    """Whether a sweep was begun in the folder; one with `plan.json` alone holds no row."""
    return (out / RUNS).is_dir()


def digest_of_run(out: Path, run_id: int) -> str | None:
    """The digest in the row of a run; None = the run did not end.

    Reads one line, and the row itself only where that line is missing. Raises like `find_run`.
    """
    path = _block_file(out, read_sweep(out), run_id)
    try:
        return digest_in(digests_file_of(path), run_id - first_run_of(path.name))
    except (OSError, ValueError):
        digest: str | None = find_run(out, run_id)["digest"]
        return digest


def trace_header_of_run(out: Path | str, run_id: int) -> TraceHeader:
    """What the trace of a run says first; its rates hold for what its case was drawn from.

    Raises BadInput as `scenario_of_run` does.
    """
    from sim.scenario.trace_header import header_of  # only a trace needs it

    sweep = read_sweep(Path(out))
    mix = sweep.environment_of(sweep.place_of(run_id)[0]).mix
    return header_of(scenario_of_run(out, run_id), mix=mix)


def _block_file(out: Path, sweep: Sweep, run_id: int) -> Path:
    """The file of `runs` that a run is in."""
    case_id, _rule_set = sweep.place_of(run_id)
    folder = out / RUNS / wave_of_case(sweep, case_id).folder_name
    if not folder.exists():
        raise BadInput(f"{out}: run {run_id} is in a wave that was not finished; --resume makes it")
    names = sorted(path.name for path in folder.glob("part-*.parquet"))
    earlier = [name for name in names if name <= block_file_name(run_id)]
    if not earlier:
        raise BadInput(f"{folder}: run {run_id} occurs 0 times; the table is damaged")
    return folder / earlier[-1]


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
