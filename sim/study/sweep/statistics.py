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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sim.check.counters import COSTS, COUNTERS
from sim.errors import BadInput
from sim.study.sweep.blocks import whole_cases
from sim.study.sweep.columns import RUN, VIOLATIONS
from sim.study.sweep.plan import Sweep
from sim.study.sweep.shapes import MEASURES, TALLIES_FORMAT, VERDICTS

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
        twins: Of seeds that were not met in all environments yet: the digests of the runs, a row
            for each environment by its number.
        busy_ms: Real time spent in the runs.
    """

    sums: Counter[Key] = field(default_factory=Counter)
    least: dict[Key, Any] = field(default_factory=dict)
    shortest: dict[Key, list[Any]] = field(default_factory=dict)
    twins: dict[int, dict[int, Sequence[str | None]]] = field(default_factory=dict)
    busy_ms: float = 0.0

    def add(self, other: Facts) -> None:
        """Count other cases, too."""
        self.sums.update(other.sums)
        for key, value in other.least.items():
            self.lower(key, value)
        for key, runs in other.shortest.items():
            self.shorten(key, runs)
        for seed, digests in other.twins.items():
            self.twins.setdefault(seed, {}).update(digests)
        self.busy_ms += other.busy_ms

    def lower(self, key: Key, value: Any) -> None:
        """Remember a value, if it is the lowest so far."""
        self.least[key] = min(value, self.least.get(key, value))

    def shorten(self, key: Key, runs: Iterable[Any]) -> None:
        """Remember the shortest runs."""
        self.shortest[key] = heapq.nsmallest(SHORTEST, [*self.shortest.get(key, ()), *runs])

    def pair_up(self, environments: int, *, last: bool = False) -> None:
        """Count the runs that differ from those of the same seed in the first environment.

        Args:
            environments: How many there are.
            last: Whether the seeds that are not met in all of them never will be.
        """
        for seed in [one for one, met in self.twins.items() if last or len(met) == environments]:
            met = self.twins.pop(seed)
            first = met.pop(0, ())
            for environment, digests in met.items():
                for place, (one, other) in enumerate(zip(first, digests, strict=False)):
                    if one is not None and other is not None:
                        self.sums[environment, "twins", place] += 1
                        self.sums[environment, "changed", place] += one != other

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
    for rows in whole_cases(batches, len(sweep.rule_sets), ROWS_AT_A_TIME):
        found.add(facts_in(sweep, rows))
        found.pair_up(len(sweep.environments))
    return found


class _Runs(NamedTuple):
    """Some rows: whole cases, each with its runs in order of their rule sets."""

    rows: pa.Table
    size: int
    """How many rule sets there are."""
    run_ids: _Numbers
    environments: _Numbers
    """The number of each run's environment."""
    judged: _Flags

    def grid(self, values: Any) -> Any:
        """Values of the rows as an array of cases by rule sets."""
        return np.asarray(values).reshape(-1, self.size)


def facts_in(sweep: Sweep, rows: pa.Table) -> Facts:
    """What some rows add up to: whole cases, each with its runs in order of their rule sets."""
    rows, size = rows.combine_chunks(), len(sweep.rule_sets)
    run_ids = rows.column("run_id").to_numpy()
    if (run_ids % size).tolist() != [*range(size)] * (len(run_ids) // size):
        raise BadInput(f"a case without one of its {size} runs")
    judged = pc.is_in(rows.column("verdict"), pa.array(JUDGED)).to_numpy()
    runs = _Runs(rows, size, run_ids, run_ids // size % len(sweep.environments), judged)
    found = Facts(busy_ms=pc.sum(rows.column("wall_ms")).as_py() or 0.0)
    violations = _violations(rows)
    violated = _violated(runs, violations, sweep.plan.about)
    _count_seen(found, runs, pa.concat_tables([*_words(rows), violated]))
    _count_disagreeing(found, runs, violated)
    _count_sums(found, runs)
    _count_first(found, runs, violations)
    if len(sweep.environments) > 1:
        _count_twins(found, runs, len(sweep.environments))
    return found


def _named(places: Any, measure: str, names: Any) -> pa.Table:
    """What was seen: the place of a run among the rows, the measure, and a name."""
    measures = pa.array([measure] * len(places), pa.string())
    columns = [pa.array(places, pa.int64()), measures, pc.cast(names, pa.string())]
    return pa.Table.from_arrays(columns, ["place", "measure", "name"])


def _words(rows: pa.Table) -> Iterator[pa.Table]:
    """The names that stand in the columns of runs."""
    for one in _COUNTED:
        column = rows.column(one.name).combine_chunks()
        places = np.arange(len(column))
        if one.counted == "flag":
            column = pc.if_else(column, one.name, None)
        elif one.counted == "last line":
            texts = [text and text.strip().split("\n")[-1] for text in column.to_pylist()]
            column = pa.array(texts, pa.string())
        elif one.counted == "words":
            words = pc.split_pattern(column, " ")
            places, column = pc.list_parent_indices(words).to_numpy(), pc.list_flatten(words)
        yield _named(places, one.name, column)


def _violations(rows: pa.Table) -> pa.Table:
    """Every violation, with the place of its run among the rows."""
    nested = rows.column(VIOLATIONS)
    found = pc.list_flatten(nested)
    names = ("position", "invariant", "at_ms", "sentence", "family")
    columns = [pc.list_parent_indices(nested), *(pc.struct_field(found, one) for one in names)]
    return pa.Table.from_arrays(columns, ["place", *names])


def _violated(runs: _Runs, violations: pa.Table, about: Sequence[str]) -> pa.Table:
    """The names that were violated; families, and what the plan is about, by judged runs alone."""
    judged = violations.filter(pa.array(runs.judged[violations.column("place").to_numpy()]))
    wanted = pa.array(about, pa.string())
    hit = pc.or_(*(pc.is_in(judged.column(one), wanted) for one in ("invariant", "family")))
    meant = judged.filter(hit)
    parts = [
        _named(violations.column("place"), "invariant", violations.column("invariant")),
        _named(judged.column("place"), "family", judged.column("family")),
        _named(meant.column("place"), "about", pa.array([ANY] * meant.num_rows)),
    ]
    return pa.concat_tables(parts).group_by(["place", "measure", "name"]).aggregate([])


def _count_seen(found: Facts, runs: _Runs, seen: pa.Table) -> None:
    """In how many runs each name was seen, and the first of them."""
    named = seen.filter(pc.greater(pc.utf8_length(seen.column("name")), 0))
    each = named.group_by(["place", "measure", "name"]).aggregate([])
    places = each.column("place").to_numpy()
    for name, values in (
        ("environment", runs.environments),
        ("rule_set", runs.run_ids % runs.size),
        ("run_id", runs.run_ids),
    ):
        each = each.append_column(name, pa.array(values[places]))
    cells = each.group_by(["environment", "rule_set", "measure", "name"])
    for *cell, first, count in _rows_of(cells.aggregate([("run_id", "min"), ([], "count_all")])):
        key = (cell[0], "seen", *cell[1:])
        found.sums[key] += count
        found.lower(key, first)


def _rows_of(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def _count_disagreeing(found: Facts, runs: _Runs, violated: pa.Table) -> None:
    """Of each ordered pair of rule sets: judged cases in which one violated it, and both did."""
    judged = runs.grid(runs.judged)
    places_of: dict[Key, list[int]] = {}
    for place, measure, name in _rows_of(violated):
        if runs.judged[place]:
            case, rule_set = divmod(place, runs.size)
            places_of.setdefault((case, measure, name), []).append(rule_set)
    for (case, *named), places in places_of.items():
        environment = int(runs.environments[case * runs.size])
        for one, other in product(places, np.flatnonzero(judged[case]).tolist()):
            if one != other:
                alone = other not in places
                found.sums[(environment, "alone", one, other, *named)] += alone  # 0: compared
                found.sums[(environment, "both", one, other, *named)] += not alone


def _count_sums(found: Facts, runs: _Runs) -> None:
    """Sums of counters over runs that ended; of costs also of squares, and of differences."""
    columns = [runs.rows.column(name).fill_null(0).to_numpy() for name in COUNTERS]
    counters = np.stack(columns, axis=-1).reshape(-1, runs.size, len(COUNTERS))
    costs = counters[:, :, [COUNTERS.index(cost) for cost in COSTS]]
    ended = runs.grid(pc.is_valid(runs.rows.column("digest")))
    verdicts = runs.grid(runs.rows.column("verdict"))
    weather = runs.grid(runs.rows.column("weather").to_pylist())
    environments = runs.grid(runs.environments)[:, 0]
    for environment in np.unique(environments).tolist():
        here = environments == environment
        for place in range(runs.size):
            those = here & ended[:, place]
            found.sums[environment, "ended", place] += int(those.sum())
            _add(found, (environment, "total", place), COUNTERS, counters[those, place])
            _add(found, (environment, "square", place), COSTS, costs[those, place], power=2)
        for left, right in combinations(range(runs.size), 2):
            pair = (left, right)
            for both in map("/".join, verdicts[here][:, pair].tolist()):
                found.sums[(environment, "verdicts", *pair, both)] += 1
            those = here & ended[:, left] & ended[:, right]
            apart = (weather[those, left] != weather[those, right]).sum()
            found.sums[(environment, "both ended", *pair)] += int(those.sum())
            found.sums[(environment, "other weather", *pair)] += int(apart)
            more = costs[those, right] - costs[those, left]
            _add(found, (environment, "difference", *pair), COSTS, more)
            _add(found, (environment, "squared difference", *pair), COSTS, more, power=2)
            _add(found, (environment, "differing", *pair), COSTS, more != 0)


def _count_twins(found: Facts, runs: _Runs, environments: int) -> None:
    """The runs of a seed in each environment: what differs there may change nothing."""
    digests = runs.grid(runs.rows.column("digest").to_pylist()).tolist()
    for first_run, of_case in zip(runs.run_ids[:: runs.size].tolist(), digests, strict=True):
        seed, environment = divmod(first_run // runs.size, environments)
        found.twins.setdefault(seed, {})[environment] = of_case
    found.pair_up(environments)


def _add(found: Facts, key: Key, names: Iterable[str], values: _Numbers, power: int = 1) -> None:
    """Sums of powers of each column; as Python's own numbers, since 64 bits do not hold each."""
    sums = (values.astype(object) ** power).sum(axis=0)
    found.sums.update({(*key, name): total for name, total in zip(names, sums, strict=True)})


def _count_first(found: Facts, runs: _Runs, violations: pa.Table) -> None:
    """The earliest violation of each invariant, and the runs that fail earliest."""
    firsts: dict[int, str] = {}
    for place, position, invariant, at_ms, sentence, _family in _rows_of(violations):
        when = (at_ms, int(runs.run_ids[place]), position, sentence)
        key = (int(runs.environments[place]), "earliest", place % runs.size, invariant)
        found.lower(key, when)
        firsts.setdefault(place, sentence)
    rows = runs.rows.select(SHORTEST_COLUMNS).take(pa.array(list(firsts), pa.int64()))
    for (place, sentence), run in zip(firsts.items(), _rows_of(rows), strict=True):
        cell = (int(runs.environments[place]), place % runs.size)
        found.shorten(cell, [(*run, sentence)])


def tallies(sweep: Sweep, facts: Facts) -> dict[str, Any]:
    """The content of `tallies.json`: everything in a fixed order.

    `rule_sets` and `pairs` are over all cases; each of `environments` has its own, and is the
    same where there is one. The `twins` of a rule set are its runs whose seed was run in the first
    environment, too; some of them are `changed`, the others are the same run there.
    """
    numbers = range(len(sweep.environments))
    facts.pair_up(len(numbers), last=True)
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
    """What is told of the sweep, or of an environment."""
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
        "counts": {measure: _names(facts, index, measure) for measure in MEASURES},
        "ended": facts.sums["ended", index],
        "twins": facts.sums["twins", index],
        "changed": facts.sums["changed", index],
        "totals": {name: facts.sums["total", index, name] for name in COUNTERS},
        "squares": {cost: facts.sums["square", index, cost] for cost in COSTS},
        "shortest": [
            {
                "rule_set": index,
                **dict(zip(SHORTEST_COLUMNS, run, strict=False)),
                "sentence": run[-1],
            }
            for run in facts.shortest.get((index,), ())
        ],
        "earliest": [
            {
                "invariant": invariant,
                "at_ms": at_ms,
                "run_id": run_id,
                "sentence": sentence,
            }
            for (at_ms, run_id, _, sentence), invariant in sorted(
                (value, key[2])
                for key, value in facts.least.items()
                if key[:2] == ("earliest", index)
            )
        ],
    }


def _names(facts: Facts, index: int, measure: str) -> dict[str, dict[str, int | None]]:
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
        "differing": {cost: sums["differing", left, right, cost] for cost in COSTS},
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
