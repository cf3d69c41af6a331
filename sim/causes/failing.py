"""The failing runs of a sweep, read from its tables; of older tables their causes by replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from sim.errors import BadInput
from sim.scenario.generate import generate
from sim.sweeps.caused import run_with_causes
from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.output import read_sweep
from sim.sweeps.parquet import shape_of
from sim.sweeps.parts import Parts, parts_there
from sim.sweeps.plan import Sweep
from sim.sweeps.reading import batches_of
from sim.sweeps.storage import LocalStorage

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
    "cause",
)
_JUDGED = ("holds", "violated")


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
class Group:
    """The runs that fail for one cause first: how many, and which fails earliest.

    Attributes:
        first: The one that fails earliest; ties: fewest events, lowest number.
        runs: How many there are.
        invariants: What they violate first -> how many.
        cells: Their rule sets and environments -> how many.
    """

    first: FailingRun
    runs: int = 0
    invariants: Counter[str] = field(default_factory=Counter)
    cells: Counter[int] = field(default_factory=Counter)

    def add(self, run: FailingRun) -> None:
        """Count one more."""
        self.runs += 1
        self.invariants[run.invariant] += 1
        self.cells[run.cell] += 1
        self.first = min(self.first, run, key=_shortness)


def _shortness(run: FailingRun) -> tuple[int, int, int]:
    return run.at_ms, run.events, run.run_id


@dataclass(slots=True)
class FailingRuns:
    """What the tables of a sweep say of its failing runs. It grows with the causes alone.

    Attributes:
        sweep: The sweep.
        failing: How many there are.
        groups: Cause -> its runs.
        judged: Cell -> how many of its runs held or violated something.
    """

    sweep: Sweep
    failing: int = 0
    groups: dict[str, Group] = field(default_factory=dict)
    judged: Counter[int] = field(default_factory=Counter)

    def add(self, run: FailingRun) -> None:
        """Count one more."""
        self.failing += 1
        self.groups.setdefault(run.cause, Group(run)).add(run)


def read_failing(out: Path, *, told: Told | None = None) -> FailingRuns:
    """The failing runs of a finished or interrupted sweep.

    Where the table has no causes, since it is older than they are, each failing run is run again.

    Raises:
        BadInput: There is no sweep, no wave of it is finished, its tables are damaged, or its runs
            come out otherwise now.
    """
    sweep = read_sweep(out)
    parts = parts_there(LocalStorage(out))
    if not parts.of(RUNS):
        raise BadInput(f"{out}: no wave of this sweep is finished yet; --resume continues it")
    found = FailingRuns(sweep)
    unexplained = _unexplained(parts, sweep) if told is not None else 0
    done = 0
    for row in _rows(parts, sweep, _COLUMNS):
        cell = sweep.cell_of(row["case_id"], row["rule_set"])
        found.judged[cell] += row["verdict"] in _JUDGED
        if row["verdict"] != "violated":
            continue
        cause = row["cause"]
        if cause is None:
            if told is not None:
                told(done, unexplained)
            done += 1
            cause = _cause_again(out, sweep, row)
        found.add(_failing(row, cell, cause))
    return found


def _unexplained(parts: Parts, sweep: Sweep) -> int:
    """How many failing runs have no cause in the table."""
    rows = _rows(parts, sweep, ("run_id", "verdict", "cause"))
    return sum(row["verdict"] == "violated" and row["cause"] is None for row in rows)


def _rows(parts: Parts, sweep: Sweep, columns: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    for batch in batches_of(parts, RUNS, shape_of(sweep), columns):
        yield from batch.to_pylist()


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
    columns = ("run_id", "position", "sentence")
    for batch in batches_of(parts_there(LocalStorage(out)), VIOLATIONS, shape_of(sweep), columns):
        firsts = batch.filter(pc.equal(batch.column("position"), 0))
        found |= {
            row["run_id"]: row["sentence"] for row in firsts.to_pylist() if row["run_id"] in run_ids
        }
    return found
