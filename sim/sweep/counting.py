"""Counting the rows of a sweep in one process: one pass over the files, constant memory."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from sim.check.counters import COUNTERS
from sim.sweep.layout import wave_of_case, waves_of
from sim.sweep.output import RUNS, VIOLATIONS
from sim.sweep.plan import Sweep
from sim.sweep.tally import (
    COSTS,
    NAMES_MAX,
    SHORTEST,
    SHORTEST_COLUMNS,
    Count,
    Counts,
    Pair,
    Sums,
    frequency,
    shortness,
)


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
    """Counts rows one at a time; memory does not grow with them."""

    def __init__(self, sweep: Sweep) -> None:
        indices = range(len(sweep.rule_sets))
        self._seen: dict[tuple[int, str, str], list[int]] = {}
        self._ended: Counter[int] = Counter()
        self._totals: dict[int, Counter[str]] = {index: Counter() for index in indices}
        self._squares: dict[int, Counter[str]] = {index: Counter() for index in indices}
        self._pairs = {pair: _PairCount() for pair in combinations(indices, 2)}
        self._shortest: dict[int, list[dict[str, Any]]] = {index: [] for index in indices}

    def add_case(self, rows: list[dict[str, Any]]) -> None:
        """The rows of one case, in order of their rule sets."""
        for row in rows:
            self._add_run(row)
        for left, right in combinations(rows, 2):
            self._pairs[left["rule_set"], right["rule_set"]].add(left, right)

    def _add_run(self, row: dict[str, Any]) -> None:
        index, run_id = row["rule_set"], row["run_id"]
        self._see(index, "verdict", row["verdict"], run_id)
        for claim in (row["reached"] or "").split():
            self._see(index, "reached", claim, run_id)
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
        if row["first_invariant"] is not None:
            self._see(index, "first_invariant", row["first_invariant"], run_id)
            candidates = [*self._shortest[index], {name: row[name] for name in SHORTEST_COLUMNS}]
            self._shortest[index] = heapq.nsmallest(SHORTEST, candidates, key=shortness)

    def add_violations(self, rule_set: int, run_id: int, rows: Iterable[dict[str, Any]]) -> None:
        """The violations of one run; its own row comes earlier."""
        for invariant in {row["invariant"]: None for row in rows}:
            self._see(rule_set, "invariant", invariant, run_id)

    def _see(self, rule_set: int, measure: str, name: str, run_id: int) -> None:
        entry = self._seen.setdefault((rule_set, measure, name), [0, run_id])
        entry[0] += 1
        entry[1] = min(entry[1], run_id)

    def counts(self) -> Counts:
        """What was counted; the shortest runs still lack their sentences."""
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
            shortest=[run for runs in self._shortest.values() for run in runs],
        )


def count_files(out: Path, sweep: Sweep) -> Counts:
    """Reads the tables of a finished sweep once, in small batches."""
    counting = Counting(sweep)
    for wave in waves_of(sweep):
        runs = _rows(out / RUNS / wave.file_name, _columns_counted())
        for _case, rows in groupby(runs, key=itemgetter("case_id")):
            counting.add_case(list(rows))
        found = _rows(out / VIOLATIONS / wave.file_name, ["run_id", "invariant"])
        for run_id, violations in groupby(found, key=itemgetter("run_id")):
            counting.add_violations(run_id % len(sweep.rule_sets), run_id, violations)
    counts = counting.counts()
    _add_sentences(out, sweep, counts.shortest)
    return counts


def _columns_counted() -> list[str]:
    columns = ["verdict", "reason", "reached", "digest", "weather", "error"]
    return list(dict.fromkeys([*SHORTEST_COLUMNS, *columns, *COUNTERS]))


def _rows(path: Path, columns: list[str]) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=4_096, columns=columns):
            yield from batch.to_pylist()


def _add_sentences(out: Path, sweep: Sweep, shortest: list[dict[str, Any]]) -> None:
    for run in shortest:
        path = out / VIOLATIONS / wave_of_case(sweep, run["case_id"]).file_name
        match = [("run_id", "=", run["run_id"]), ("position", "=", 0)]
        table = pq.read_table(path, columns=["sentence"], filters=match, partitioning=None)
        run["sentence"] = table.column("sentence")[0].as_py()
