"""Counting the rows of a sweep in one process: one pass over the files, constant memory."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, groupby, permutations
from operator import itemgetter
from typing import Any, NamedTuple

from sim.check.counters import COSTS, COUNTERS
from sim.sweeps.layout import RUNS, VIOLATIONS
from sim.sweeps.parquet import shape_of
from sim.sweeps.parts import Parts, damaged
from sim.sweeps.plan import Sweep
from sim.sweeps.reading import every_run, rows_of
from sim.sweeps.tally import (
    ANY,
    JUDGED,
    NAMES_MAX,
    SHORTEST,
    SHORTEST_COLUMNS,
    Agreement,
    Count,
    Counts,
    Earliest,
    Pair,
    Sums,
    about,
    frequency,
    shortness,
)

VIOLATION_COLUMNS = ["run_id", "position", "invariant", "at_ms", "evidence", "family"]


class _RunRows(NamedTuple):
    """The row of a run and those of its violations, in order of detection."""

    row: dict[str, Any]
    violations: list[dict[str, Any]]
    cell: int

    @property
    def invariants(self) -> set[str]:
        return {found["invariant"] for found in self.violations}

    @property
    def families(self) -> set[str]:
        return {found["family"] for found in self.violations}

    def compared(self, sweep: Sweep) -> set[tuple[str, str]]:
        """Whatever pairs are compared by: (measure, name)."""
        invariants, families = self.invariants, self.families
        found = {("invariant", name) for name in invariants}
        found |= {("family", name) for name in families}
        return found | ({("about", ANY)} if about(sweep, invariants, families) else set())


@dataclass(slots=True)
class _PairCount:
    verdicts: Counter[str] = field(default_factory=Counter)
    other_weather: int = 0
    ended: int = 0
    differences: Counter[str] = field(default_factory=Counter)
    squares: Counter[str] = field(default_factory=Counter)

    def add(self, left: dict[str, Any], right: dict[str, Any]) -> None:
        self.verdicts[f"{left['verdict']}/{right['verdict']}"] += 1
        if left["digest"] is None or right["digest"] is None:
            return
        self.ended += 1
        self.other_weather += left["weather"] != right["weather"]
        for cost in COSTS:
            difference = right[cost] - left[cost]
            self.differences[cost] += difference
            self.squares[cost] += difference * difference


class Counting:
    """Counts rows one case at a time; memory does not grow with them."""

    def __init__(self, sweep: Sweep) -> None:
        size = len(sweep.rule_sets)
        cells = range(size * len(sweep.environments))
        self._sweep = sweep
        self._seen: dict[tuple[int, str, str], list[int]] = {}
        self._ended: Counter[int] = Counter()
        self._totals: dict[int, Counter[str]] = {cell: Counter() for cell in cells}
        self._squares: dict[int, Counter[str]] = {cell: Counter() for cell in cells}
        self._pairs = {
            pair: _PairCount()
            for first in cells[::size]
            for pair in combinations(range(first, first + size), 2)
        }
        self._alone: Counter[tuple[int, int, str, str]] = Counter()
        self._both: Counter[tuple[int, int, str, str]] = Counter()
        self._shortest: dict[int, list[dict[str, Any]]] = {cell: [] for cell in cells}
        self._earliest: dict[tuple[int, str], Earliest] = {}

    def add_case(self, runs: list[_RunRows]) -> None:
        """The runs of one case, in order of their rule sets."""
        for run in runs:
            self._add_run(run.cell, run.row)
            self._add_violations(run)
        for left, right in combinations(runs, 2):
            self._pairs[left.cell, right.cell].add(left.row, right.row)
        for run, other in permutations(runs, 2):
            if other.row["verdict"] in JUDGED:
                self._compare(run, other)

    def _add_run(self, index: int, row: dict[str, Any]) -> None:
        run_id = row["run_id"]
        self._see(index, "verdict", row["verdict"], run_id)
        if row["hunted"]:
            self._see(index, "hunted", "hunted", run_id)
        for claim in (row["reached"] or "").split():
            self._see(index, "reached", claim, run_id)
        if row["first_invariant"] is not None:
            self._see(index, "first_invariant", row["first_invariant"], run_id)
        if row["reason"] is not None:
            self._see(index, "reason", row["reason"], run_id)
        if row["error"] is not None:
            self._see(index, "error", row["error"].strip().split("\n")[-1], run_id)
        if row["digest"] is not None:
            self._ended[index] += 1
            for name in COUNTERS:
                self._totals[index][name] += row[name]
            for cost in COSTS:
                self._squares[index][cost] += row[cost] ** 2

    def _add_violations(self, run: _RunRows) -> None:
        if not run.violations:
            return
        index, run_id = run.cell, run.row["run_id"]
        judged = run.row["verdict"] in JUDGED
        for measure, name in run.compared(self._sweep):
            if judged or measure == "invariant":
                self._see(index, measure, name, run_id)
        for found in run.violations:
            one = Earliest(
                found["at_ms"],
                run_id,
                found["position"],
                index,
                found["invariant"],
                found["evidence"],
            )
            key = (index, one.invariant)
            self._earliest[key] = min(one, self._earliest.get(key, one))
        shown = {name: run.row[name] for name in SHORTEST_COLUMNS}
        shown |= {"evidence": run.violations[0]["evidence"], "cell": index}
        candidates = [*self._shortest[index], shown]
        self._shortest[index] = heapq.nsmallest(SHORTEST, candidates, key=shortness)

    def _compare(self, run: _RunRows, other: _RunRows) -> None:
        if run.row["verdict"] not in JUDGED:
            return
        theirs = other.compared(self._sweep)
        for one in run.compared(self._sweep):
            count = self._both if one in theirs else self._alone
            count[(run.cell, other.cell, *one)] += 1

    def _see(self, cell: int, measure: str, name: str, run_id: int) -> None:
        entry = self._seen.setdefault((cell, measure, name), [0, run_id])
        entry[0] += 1
        entry[1] = min(entry[1], run_id)

    def counts(self) -> Counts:
        """What was counted."""
        seen = (Count(*key, *entry) for key, entry in self._seen.items())
        return Counts(
            counts=heapq.nsmallest(NAMES_MAX, seen, key=frequency),
            sums=[
                Sums(index, self._ended[index], dict(totals), dict(self._squares[index]))
                for index, totals in self._totals.items()
            ],
            pairs=[
                Pair(
                    left,
                    right,
                    dict(pair.verdicts),
                    pair.other_weather,
                    pair.ended,
                    dict(pair.differences),
                    dict(pair.squares),
                )
                for (left, right), pair in self._pairs.items()
            ],
            agreement=[
                Agreement(*key, self._alone[key], self._both[key])
                for key in self._alone.keys() | self._both.keys()
            ],
            shortest=[run for runs in self._shortest.values() for run in runs],
            earliest=list(self._earliest.values()),
        )


def count_files(parts: Parts, sweep: Sweep) -> Counts:
    """Reads the tables of a finished sweep once, in small batches.

    Raises BadInput unless their runs are exactly those of the sweep.
    """
    counting, shape = Counting(sweep), shape_of(sweep)
    runs = rows_of(parts, RUNS, shape, _columns_counted())
    found = rows_of(parts, VIOLATIONS, shape, VIOLATION_COLUMNS)
    together = _together(parts, sweep, every_run(parts, runs, sweep.runs), found)
    for _case, of_case in groupby(together, key=lambda run: run.row["case_id"]):
        counting.add_case(list(of_case))
    return counting.counts()


def _together(
    parts: Parts, sweep: Sweep, runs: Iterator[dict[str, Any]], found: Iterator[dict[str, Any]]
) -> Iterator[_RunRows]:
    """Each run with its violations; both tables are in order of `run_id`."""
    groups = groupby(found, key=itemgetter("run_id"))
    upcoming = next(groups, None)
    for row in runs:
        violations: list[dict[str, Any]] = []
        if upcoming is not None and upcoming[0] == row["run_id"]:
            violations = list(upcoming[1])
            upcoming = next(groups, None)
        if (row["first_violation_ms"] is None) != (not violations):
            what = f"run {row['run_id']} has {len(violations)} rows, which its own row contradicts"
            raise damaged(parts.storage, VIOLATIONS, what)
        yield _RunRows(row, violations, sweep.cell_of(row["case_id"], row["rule_set"]))


def _columns_counted() -> list[str]:
    columns = ["verdict", "reason", "reached", "digest", "weather", "error", "hunted"]
    return list(dict.fromkeys([*SHORTEST_COLUMNS, *columns, *COUNTERS]))
