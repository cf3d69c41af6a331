"""What a sweep is summed up to: one function over rows, wherever they are, and sums of its results.

`facts_in` counts whole cases, a few thousand rows at a time. Facts of different cases are added up
(`Facts.add`), in any order: a process reads the table's files one after another, Spark's executors
count what they hold and send facts. From them come `tallies.json`, which reports read, and
`summary.csv` for everybody else.
"""

from __future__ import annotations

import csv
import heapq
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sim.check.counters import COSTS, COUNTERS
from sim.errors import BadInput
from sim.sweeps.columns import RUN, VIOLATIONS
from sim.sweeps.evidence import sentence_of
from sim.sweeps.plan import Sweep
from sim.sweeps.shapes import MEASURES, TALLIES_FORMAT, VERDICTS

JUDGED: Final = ("holds", "violated")
"""Verdicts that say something about the rules."""
SHORTEST: Final = 3
NAMES_PER_MEASURE_MAX: Final = 100
"""The most frequent names kept per rule set and measure: error texts can differ in every run."""
COMPARED: Final = ("invariant", "family", "about")
"""Measures by which pairs of rule sets are compared case by case; judged runs alone count in the
last two."""
ANY: Final = "any"
"""The name in the measure `about`: something that the plan is about was violated."""
SUMMARY_COLUMNS: Final = ("measure", "name", "runs", "value")
SHORTEST_COLUMNS: Final = (
    "first_violation_ms",
    "events",
    "run_id",
    "case_id",
    "seed",
    "first_invariant",
    "violation_count",
)
"""In the order by which the shortest of the violating runs are found."""
_COUNTED: Final = [one for one in RUN if one.counted not in ("", "sum")]
COLUMNS: Final = tuple(
    dict.fromkeys(
        (
            *("run_id", "rule_set", "digest", "weather", "wall_ms"),
            *SHORTEST_COLUMNS,
            *(one.name for one in _COUNTED),
            *COUNTERS,
            VIOLATIONS,
        )
    )
)
"""What `facts_in` reads."""
ROWS_AT_A_TIME: Final = 8_192

_Numbers = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]
Key = tuple[Any, ...]
"""The environment's number first, then what is counted, of which rule sets, and under what name."""


@dataclass(slots=True)
class Facts:
    """What was counted of some cases. It grows with the plan, not with the runs.

    Attributes:
        sums: Whatever adds up.
        least: Whatever has a lowest one: the first run in which something was seen, the earliest
            violation of an invariant.
        shortest: Of each rule set in each environment the violating runs that fail earliest.
        busy_ms: Real time spent in the runs.
    """

    sums: Counter[Key] = field(default_factory=Counter)
    least: dict[Key, Any] = field(default_factory=dict)
    shortest: dict[Key, list[Any]] = field(default_factory=dict)
    busy_ms: float = 0.0

    def add(self, other: Facts) -> None:
        """Count other cases, too."""
        self.sums.update(other.sums)
        for key, value in other.least.items():
            self.lower(key, value)
        for key, runs in other.shortest.items():
            self.shorten(key, runs)
        self.busy_ms += other.busy_ms

    def lower(self, key: Key, value: Any) -> None:
        """Remember a value, if it is the lowest so far."""
        self.least[key] = min(value, self.least.get(key, value))

    def shorten(self, key: Key, runs: Iterable[Any]) -> None:
        """Remember the shortest runs."""
        self.shortest[key] = heapq.nsmallest(SHORTEST, [*self.shortest.get(key, ()), *runs])

    def of(self, environments: Iterable[int]) -> Facts:
        """What some environments have together; keys without the environment."""
        wanted, found = set(environments), Facts()
        for key, number in self.sums.items():
            if key[0] in wanted:
                found.sums[key[1:]] += number
        for key, value in self.least.items():
            if key[0] in wanted:
                found.lower(key[1:], value)
        for key, runs in self.shortest.items():
            if key[0] in wanted:
                found.shorten(key[1:], runs)
        return found


def facts_of(sweep: Sweep, batches: Iterable[pa.RecordBatch]) -> Facts:
    """What the rows of whole cases add up to. Raises BadInput for a case that is not whole."""
    found = Facts()
    for rows in _chunks(batches, len(sweep.rule_sets)):
        found.add(facts_in(sweep, rows))
    return found


def _chunks(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.Table]:
    """Rows by the thousands, whole cases each."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(one.num_rows for one in waiting) < ROWS_AT_A_TIME:
            continue
        rows = pa.Table.from_batches(waiting)
        whole = rows.num_rows - rows.num_rows % size
        yield rows.slice(0, whole)
        waiting = rows.slice(whole).to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)


def facts_in(sweep: Sweep, rows: pa.Table) -> Facts:
    """What some rows add up to: whole cases, each with its runs in order of their rule sets."""
    return _Counting(sweep, rows.combine_chunks()).facts()


class _Found(NamedTuple):
    """A violation; `row` is the place of its run among the rows."""

    row: int
    position: int
    invariant: str
    at_ms: int
    evidence: str
    family: str


class _Counting:
    """Counts some rows, a column at a time; as arrays they are cases by rule sets."""

    def __init__(self, sweep: Sweep, rows: pa.Table) -> None:
        self._sweep, self._rows = sweep, rows
        self._size, self._turns = len(sweep.rule_sets), len(sweep.environments)
        self._found = Facts()
        run_ids = rows.column("run_id").to_numpy()
        if len(run_ids) % self._size or (run_ids % self._size).tolist() != [*range(self._size)] * (
            len(run_ids) // self._size
        ):
            raise BadInput(f"a case without one of its {self._size} runs")
        self._run_ids = run_ids.reshape(-1, self._size)
        self._environment = self._run_ids[:, 0] // self._size % self._turns
        verdicts = pc.index_in(rows.column("verdict"), pa.array(VERDICTS)).to_numpy()
        self._verdicts = verdicts.reshape(-1, self._size)
        self._judged = self._verdicts < len(JUDGED)
        self._ended = self._array(pc.is_valid(rows.column("digest")))

    def facts(self) -> Facts:
        """All that there is to count."""
        self._count_columns()
        self._count_sums()
        self._count_violations()
        self._found.busy_ms = pc.sum(self._rows.column("wall_ms")).as_py() or 0.0
        return self._found

    def _array(self, column: Any) -> Any:
        return np.asarray(column).reshape(-1, self._size)

    def _see(self, measure: str, name: str, seen: _Flags) -> None:
        """Something was seen in some runs."""
        for environment in range(self._turns):
            here = seen & (self._environment == environment)[:, None]
            for rule_set in np.flatnonzero(here.any(axis=0)).tolist():
                key = (environment, "seen", rule_set, measure, name)
                self._found.sums[key] += int(here[:, rule_set].sum())
                self._found.lower(key, int(self._run_ids[here[:, rule_set], rule_set].min()))

    def _count_columns(self) -> None:
        """Names by column, in a table of one row for each name that a run has."""
        for one in _COUNTED:
            column = self._rows.column(one.name)
            if one.counted == "flag":
                column = pc.if_else(column, one.name, None)
            elif one.counted == "last line":
                texts = (text and text.strip().split("\n")[-1] for text in column.to_pylist())
                column = pa.chunked_array([pa.array(texts, pa.string())])
            words = pc.split_pattern(column, " ") if one.counted == "words" else None
            values = column if words is None else pc.list_flatten(words)
            places = None if words is None else pc.list_parent_indices(words).to_numpy()
            coded = pc.dictionary_encode(values).combine_chunks()
            codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            for code, name in enumerate(coded.dictionary.to_pylist()):
                if name:
                    seen = np.zeros(self._rows.num_rows, np.bool_)
                    at = np.flatnonzero(codes == code)
                    seen[at if places is None else places[at]] = True
                    self._see(one.name, name, seen.reshape(-1, self._size))

    def _count_sums(self) -> None:
        """Sums of counters over runs that ended; of costs also of squares, and of differences."""
        counters = np.stack(
            [self._rows.column(name).fill_null(0).to_numpy() for name in COUNTERS], axis=-1
        ).reshape(-1, self._size, len(COUNTERS))
        costs = counters[:, :, [COUNTERS.index(cost) for cost in COSTS]]
        weather = self._array(
            pc.dictionary_encode(self._rows.column("weather"))
            .combine_chunks()
            .indices.fill_null(-1)
        )
        for environment in range(self._turns):
            here = self._environment == environment
            for place in range(self._size):
                ended = here & self._ended[:, place]
                self._add((environment, "ended", place), int(ended.sum()))
                self._add_all(
                    (environment, "total", place), COUNTERS, _sums(counters[ended, place])
                )
                self._add_all((environment, "square", place), COSTS, _squares(costs[ended, place]))
            for left, right in combinations(range(self._size), 2):
                self._count_pair(environment, here, left, right, costs, weather)

    def _count_pair(
        self,
        environment: int,
        here: _Flags,
        left: int,
        right: int,
        costs: _Numbers,
        weather: _Numbers,
    ) -> None:
        both = self._verdicts[here][:, [left, right]]
        for (one, other), cases in Counter(map(tuple, both.tolist())).items():
            name = f"{VERDICTS[one]}/{VERDICTS[other]}"
            self._add((environment, "verdicts", left, right, name), cases)
        ended = here & self._ended[:, left] & self._ended[:, right]
        self._add((environment, "both ended", left, right), int(ended.sum()))
        apart = int((weather[ended, left] != weather[ended, right]).sum())
        self._add((environment, "other weather", left, right), apart)
        more = costs[ended, right] - costs[ended, left]
        self._add_all((environment, "difference", left, right), COSTS, _sums(more))
        self._add_all((environment, "squared difference", left, right), COSTS, _squares(more))

    def _add(self, key: Key, number: int) -> None:
        if number:
            self._found.sums[key] += number

    def _add_all(self, key: Key, names: Iterable[str], numbers: Iterable[int]) -> None:
        for name, number in zip(names, numbers, strict=True):
            self._add((*key, name), number)

    def _violations(self) -> Iterator[_Found]:
        """Every violation, with the place of its run among the rows."""
        nested = self._rows.column(VIOLATIONS)
        found = pc.list_flatten(nested)
        columns = [pc.struct_field(found, name).to_pylist() for name in _Found._fields[1:]]
        return map(_Found, pc.list_parent_indices(nested).to_pylist(), *columns)

    def _count_violations(self) -> None:
        seen: dict[tuple[str, str], _Flags] = {}
        firsts: dict[int, str] = {}
        about = set(self._sweep.plan.about)
        for one in self._violations():
            case, place = divmod(one.row, self._size)
            named = [("invariant", one.invariant), ("family", one.family)]
            named += [("about", ANY)] if about & {one.invariant, one.family} else []
            for key in named:
                if key not in seen:
                    seen[key] = np.zeros(self._run_ids.shape, np.bool_)
                seen[key][case, place] = True
            environment, run_id = int(self._environment[case]), int(self._run_ids[case, place])
            when = (one.at_ms, run_id, one.position, one.evidence)
            self._found.lower((environment, "earliest", place, one.invariant), when)
            firsts.setdefault(one.row, one.evidence)
        for (measure, name), runs in sorted(seen.items()):
            self._see(measure, name, runs if measure == "invariant" else runs & self._judged)
            self._compare(measure, name, runs & self._judged)
        self._count_shortest(firsts)

    def _count_shortest(self, firsts: dict[int, str]) -> None:
        """`firsts`: row of a violating run -> the evidence of its first violation."""
        rows = self._rows.select(SHORTEST_COLUMNS).take(pa.array(list(firsts), pa.int64()))
        for (row, evidence), run in zip(firsts.items(), rows.to_pylist(), strict=True):
            case, place = divmod(row, self._size)
            key = (int(self._environment[case]), place)
            self._found.shorten(key, [(*run.values(), evidence)])

    def _compare(self, measure: str, name: str, violated: _Flags) -> None:
        """Of each ordered pair of rule sets: cases in which one violated it, and both did."""
        for environment in range(self._turns):
            here = self._environment == environment
            ours, judged = violated[here].astype(np.int64), self._judged[here].astype(np.int64)
            faced, both = ours.T @ judged, ours.T @ ours
            for one, other in zip(*map(np.ndarray.tolist, np.nonzero(faced)), strict=True):
                if one != other:
                    alone = int(faced[one, other] - both[one, other])
                    key = (environment, "alone", one, other, measure, name)
                    self._found.sums[key] += alone  # 0 says that it was compared
                    self._add(
                        (environment, "both", one, other, measure, name), int(both[one, other])
                    )


def _sums(values: _Numbers) -> list[int]:
    """Of each column, exactly: 64 bits do not hold each."""
    if _most(values) * len(values) < 2**63:
        return list(map(int, values.sum(axis=0)))
    return [sum(column) for column in values.T.tolist()]


def _squares(values: _Numbers) -> list[int]:
    """Sums of the squares of each column, exactly."""
    if _most(values) ** 2 * len(values) < 2**63:
        return list(map(int, (values * values).sum(axis=0)))
    return [sum(one * one for one in column) for column in values.T.tolist()]


def _most(values: _Numbers) -> int:
    return int(np.abs(values).max(initial=0))


def tallies(sweep: Sweep, facts: Facts) -> dict[str, Any]:
    """The content of `tallies.json`: everything in a fixed order.

    `rule_sets` and `pairs` are over all cases; each of `environments` has its own, and is the
    same where there is one.
    """
    numbers = range(len(sweep.environments))
    return {
        "format": TALLIES_FORMAT,
        "cases": sweep.count,
        **_table(sweep, facts.of(numbers), sweep.count),
        "environments": [
            {
                "name": sweep.environments[number].name,
                "cases": sweep.cases_in(number),
                **_table(sweep, facts.of([number]), sweep.cases_in(number)),
            }
            for number in numbers
        ],
    }


def _table(sweep: Sweep, facts: Facts, cases: int) -> dict[str, Any]:
    pairs = combinations(range(len(sweep.rule_sets)), 2)
    return {
        "rule_sets": [
            {"index": one.index, "label": one.label, "runs": cases, **_rule_set(facts, one.index)}
            for one in sweep.rule_sets
        ],
        "pairs": [_pair(facts, left, right) for left, right in pairs],
    }


def _rule_set(facts: Facts, index: int) -> dict[str, Any]:
    return {
        "counts": {measure: _named(facts, index, measure) for measure in MEASURES},
        "ended": facts.sums["ended", index],
        "totals": {name: facts.sums["total", index, name] for name in COUNTERS},
        "squares": {cost: facts.sums["square", index, cost] for cost in COSTS},
        "shortest": [
            {
                "rule_set": index,
                **dict(zip(SHORTEST_COLUMNS, run, strict=False)),
                "sentence": sentence_of(run[-1]),
            }
            for run in facts.shortest.get((index,), ())
        ],
        "earliest": [
            {
                "invariant": invariant,
                "at_ms": at_ms,
                "run_id": run_id,
                "sentence": sentence_of(evidence),
            }
            for (at_ms, run_id, _, evidence), invariant in sorted(
                (value, key[2])
                for key, value in facts.least.items()
                if key[:2] == ("earliest", index)
            )
        ],
    }


def _named(facts: Facts, index: int, measure: str) -> dict[str, dict[str, int | None]]:
    """The most frequent names of a measure: in how many runs, and the first of them."""
    found = [
        (-runs, key[3], facts.least[key])
        for key, runs in facts.sums.items()
        if key[:3] == ("seen", index, measure)
    ]
    named: dict[str, dict[str, int | None]] = {
        name: {"runs": -runs, "first_run": first}
        for runs, name, first in sorted(found)[:NAMES_PER_MEASURE_MAX]
    }
    if measure != "verdict":
        return named
    never: dict[str, int | None] = {"runs": 0, "first_run": None}
    return {verdict: named.get(verdict, never) for verdict in VERDICTS}


def _pair(facts: Facts, left: int, right: int) -> dict[str, Any]:
    sums = facts.sums
    verdicts = {
        key[3]: cases for key, cases in sums.items() if key[:3] == ("verdicts", left, right)
    }
    of_measure: dict[str, dict[str, dict[str, int]]] = {measure: {} for measure in COMPARED}
    compared = {
        key[3:] for key in sums if key[0] == "alone" and key[1:3] in ((left, right), (right, left))
    }
    for measure, name in sorted(compared):
        of_measure[measure][name] = {
            "both": sums["both", left, right, measure, name],
            "only_left": sums["alone", left, right, measure, name],
            "only_right": sums["alone", right, left, measure, name],
        }
    never = {"both": 0, "only_left": 0, "only_right": 0}
    return {
        "left": left,
        "right": right,
        "verdicts": dict(sorted(verdicts.items())),
        "other_weather": sums["other weather", left, right],
        "ended": sums["both ended", left, right],
        "differences": {cost: sums["difference", left, right, cost] for cost in COSTS},
        "squares": {cost: sums["squared difference", left, right, cost] for cost in COSTS},
        "invariants": of_measure["invariant"],
        "families": of_measure["family"],
        "about": of_measure["about"].get(ANY, never),
    }


def summary_csv(sweep: Sweep, content: dict[str, Any]) -> str:
    """The tidy summary: a line for each rule set, measure and name (`replog list columns`)."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["rule_set", *sweep.swept, *SUMMARY_COLUMNS, "environment"])
    environments = [("", content), *((one["name"], one) for one in content["environments"])]
    for environment, table in environments:
        for rule_set, entry in zip(sweep.rule_sets, table["rule_sets"], strict=True):
            axes = [rule_set.label, *rule_set.values.values()]
            for measure, names in entry["counts"].items():
                for name, seen in names.items():
                    row = [measure, name, entry["runs"], seen["runs"]]
                    lines.writerow([*axes, *row, environment])
            for name, total in entry["totals"].items():
                lines.writerow([*axes, "total", name, entry["ended"], total, environment])
    return text.getvalue()
