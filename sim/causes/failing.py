"""The failing runs of a sweep, read from its table."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from sim.sweeps.evidence import sentence_of
from sim.sweeps.folder import read_sweep
from sim.sweeps.plan import Sweep
from sim.sweeps.statistics import JUDGED
from sim.sweeps.table import open_rows

Row = dict[str, Any]

_FIRST = ("first_invariant", "first_violation_ms")
_COLUMNS = ("run_id", "case_id", "rule_set", "verdict", *_FIRST, "events", "cause")


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


def read_failing(out: Path) -> FailingRuns:
    """The failing runs of a finished or interrupted sweep.

    Raises:
        BadInput: There is no sweep, no block of it is finished, or its table is damaged.
    """
    sweep, table = read_sweep(out), open_rows(out)
    found = FailingRuns(sweep, {}, Counter())
    for row in chain.from_iterable(batch.to_pylist() for batch in table.batches(_COLUMNS)):
        cell = sweep.cell_of(row["case_id"], row["rule_set"])
        found.judged[cell] += row["verdict"] in JUDGED
        if row["verdict"] == "violated":
            found.groups.setdefault(row["cause"], Group(row)).add(row, cell)
    return found


def sentences_of(out: Path, run_ids: set[int]) -> dict[int, str]:
    """What the first violation of each of some runs says."""
    found = open_rows(out).violations(("run_id", "position", "evidence"))
    return {
        row["run_id"]: sentence_of(row["evidence"])
        for row in found.to_pylist()
        if row["position"] == 0 and row["run_id"] in run_ids
    }
