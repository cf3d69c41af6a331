"""The failing runs of a sweep, read from its tables; of older tables their causes by replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sim.errors import BadInput
from sim.scenario.generate import generate
from sim.sweeps.caused import run_with_causes
from sim.sweeps.output import RUNS, VIOLATIONS, clear_errors, files_of, read_sweep
from sim.sweeps.plan import Sweep

Told = Callable[[int, int], None]
"""Told how many of how many are done."""

_COLUMNS = (
    "run_id",
    "case_id",
    "rule_set",
    "verdict",
    "first_invariant",
    "first_violation_ms",
    "events",
    "digest",
)
_JUDGED = ("holds", "violated")
_BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class FailingRun:
    """A run that violated something.

    Attributes:
        run_id: Its number.
        cell: Its rule set in its environment (`Sweep.cell_of`).
        cause: Why its first violation happened.
        invariant: What it violated first.
        at_ms: When, in simulated time.
        events: How many it had in all.
    """

    run_id: int
    cell: int
    cause: str
    invariant: str
    at_ms: int
    events: int


@dataclass(slots=True)
class FailingRuns:
    """What the tables of a sweep say of its failing runs.

    Attributes:
        sweep: The sweep.
        runs: Those that violated something, by number.
        judged: Cell -> how many of its runs held or violated something.
    """

    sweep: Sweep
    runs: list[FailingRun] = field(default_factory=list)
    judged: Counter[int] = field(default_factory=Counter)


def read_failing(out: Path, *, told: Told | None = None) -> FailingRuns:
    """The failing runs of a finished or interrupted sweep.

    Where the table has no causes, since it is older than they are, each failing run is run again.

    Raises:
        BadInput: There is no sweep, no wave of it is finished, or its runs come out otherwise now.
    """
    sweep = read_sweep(out)
    files = files_of(out, RUNS, sweep)
    if not files:
        raise BadInput(f"{out}: no wave of this sweep is finished yet; --resume continues it")
    found = FailingRuns(sweep)
    unexplained: list[dict[str, Any]] = []
    with clear_errors(out):
        for row in _rows(files):
            cell = sweep.cell_of(row["case_id"], row["rule_set"])
            found.judged[cell] += row["verdict"] in _JUDGED
            if row["verdict"] == "violated":
                if row["cause"] is None:
                    unexplained.append(row)
                else:
                    found.runs.append(_failing(row, cell, row["cause"]))
    for done, row in enumerate(unexplained):
        if told is not None:
            told(done, len(unexplained))
        cell = sweep.cell_of(row["case_id"], row["rule_set"])
        found.runs.append(_failing(row, cell, _cause_again(out, sweep, row)))
    found.runs.sort(key=lambda run: run.run_id)
    return found


def _rows(files: list[Path]) -> Iterator[dict[str, Any]]:
    for path in files:
        with pq.ParquetFile(path) as file:
            columns = [*_COLUMNS, *({"cause"} & set(file.schema_arrow.names))]
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
                for row in batch.to_pylist():
                    yield {"cause": None, **row}


def _failing(row: dict[str, Any], cell: int, cause: str) -> FailingRun:
    return FailingRun(
        row["run_id"],
        cell,
        cause,
        row["first_invariant"],
        row["first_violation_ms"],
        row["events"],
    )


def _cause_again(out: Path, sweep: Sweep, row: dict[str, Any]) -> str:
    """Why a run failed whose row does not say so, by running it once more."""
    case_id = row["case_id"]
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    run = run_with_causes(scenario.with_rules(sweep.rule_sets[row["rule_set"]].settings))
    if run.digest != row["digest"]:
        raise BadInput(
            f"{out}: run {row['run_id']} comes out otherwise than when the sweep was made, by "
            "another version of Replog; sweep again to have causes"
        )
    return run.causes[0]


def sentences_of(out: Path, run_ids: set[int]) -> dict[int, str]:
    """What the first violation of each of some runs says."""
    found: dict[int, str] = {}
    sweep = read_sweep(out)
    with clear_errors(out):
        for path in files_of(out, VIOLATIONS, sweep):
            columns = ["run_id", "position", "sentence"]
            for row in pq.read_table(path, columns=columns, partitioning=None).to_pylist():
                if row["position"] == 0 and row["run_id"] in run_ids:
                    found[row["run_id"]] = row["sentence"]
    return found
