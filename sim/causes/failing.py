"""The failing runs of a sweep, read from its tables; of older tables their causes by replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sim.errors import BadInput
from sim.sweeps.caused import run_with_causes
from sim.sweeps.evidence import sentence_of
from sim.sweeps.folder import read_sweep
from sim.sweeps.one_run import scenario_of_run
from sim.sweeps.plan import Sweep
from sim.sweeps.statistics import JUDGED
from sim.sweeps.table import State, open_rows

Told = Callable[[int, int], None]
"""Told how many of how many are done."""
Row = dict[str, Any]

_FIRST = ("first_invariant", "first_violation_ms")
_COLUMNS = ("run_id", "case_id", "rule_set", "verdict", *_FIRST, "events", "digest", "cause")


@dataclass(slots=True)
class Group:
    """The runs that fail for one cause first.

    Attributes:
        first: The row of the one that fails earliest; ties: fewest events, lowest number.
        invariants: What they violate first -> how many.
        cells: Their rule sets and environments (`Sweep.cell_of`) -> how many.
    """

    first: Row
    invariants: Counter[str] = field(default_factory=Counter)
    cells: Counter[int] = field(default_factory=Counter)

    def add(self, row: Row, cell: int) -> None:
        """Count one more."""
        self.invariants[row["first_invariant"]] += 1
        self.cells[cell] += 1
        self.first = min(self.first, row, key=itemgetter("first_violation_ms", "events", "run_id"))


class FailingRuns(NamedTuple):
    """What the tables of a sweep say of its failing runs. It grows with the causes alone.

    Attributes:
        sweep: The sweep.
        groups: Cause -> its runs.
        judged: Cell -> how many of its runs held or violated something.
    """

    sweep: Sweep
    groups: dict[str, Group]
    judged: Counter[int]


def read_failing(out: Path, *, told: Told | None = None) -> FailingRuns:
    """The failing runs of a finished or interrupted sweep.

    Where the table has no causes, since it is older than they are, each failing run is run again.

    Raises:
        BadInput: There is no sweep, no wave of it is finished, its tables are damaged, or its runs
            come out otherwise now.
    """
    sweep, table = read_sweep(out), open_rows(out)
    found = FailingRuns(sweep, {}, Counter())
    unexplained = 0 if told is None else sum(map(_is_unexplained, _rows(table)))
    done = 0
    for row in _rows(table):
        cell = sweep.cell_of(row["case_id"], row["rule_set"])
        found.judged[cell] += row["verdict"] in JUDGED
        if _is_unexplained(row):
            if told is not None:
                told(done, unexplained)
            done += 1
            row["cause"] = _cause_again(out, row)
        if row["verdict"] == "violated":
            found.groups.setdefault(row["cause"], Group(row)).add(row, cell)
    return found


def _rows(table: State) -> Iterator[Row]:
    for batch in table.batches(_COLUMNS):
        yield from batch.to_pylist()


def _is_unexplained(row: Row) -> bool:
    """Whether the table does not say why a run failed."""
    return row["verdict"] == "violated" and row["cause"] is None


def _cause_again(out: Path, row: Row) -> str:
    """Why a run failed whose row does not say so, by running it once more."""
    run = run_with_causes(scenario_of_run(out, row["run_id"]))
    if run.digest != row["digest"]:
        raise BadInput(
            f"{out}: run {row['run_id']} comes out otherwise than when the sweep was made, by "
            "another version of Replog; sweep again to have causes"
        )
    return run.causes[0]


def sentences_of(out: Path, run_ids: set[int]) -> dict[int, str]:
    """What the first violation of each of some runs says."""
    found = open_rows(out).violations(("run_id", "position", "evidence"))
    return {
        row["run_id"]: sentence_of(row["evidence"])
        for row in found.to_pylist()
        if row["position"] == 0 and row["run_id"] in run_ids
    }
