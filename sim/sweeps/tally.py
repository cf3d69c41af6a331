"""What a sweep is summed up to: counts per rule set, pairs of them, the shortest violating runs.

All of it is there for each environment and for all cases together. Counted are *cells*, a rule set
in an environment (`Sweep.cell_of`); what an environment, or the sweep, has is put together of them.

Both engines produce the same `Counts`: Spark with its own aggregations (`spark_tally`), the process
pool by reading the files once (`counting`). From them come `tallies.json`, which the report
reads, and `summary.csv` for everybody else.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from sim.check.counters import COSTS, COUNTERS
from sim.sweeps.evidence import sentence_of
from sim.sweeps.layout import SUMMARY_FILE, TALLIES_FILE
from sim.sweeps.output import as_json
from sim.sweeps.plan import Sweep
from sim.sweeps.shapes import MEASURES, VERDICTS
from sim.sweeps.storage import Storage

TALLIES_FORMAT = "replog-tallies/2"
JUDGED = ("holds", "violated")
"""Verdicts that say something about the rules."""
SHORTEST = 3
NAMES_MAX = 10_000
"""Most frequent names an engine counts in all: error texts can differ in every run."""
NAMES_PER_MEASURE_MAX = 100
"""Of those, the most frequent kept per rule set and measure."""

COMPARED = ("invariant", "family", "about")
"""Measures by which pairs of rule sets are compared case by case; judged runs alone count in the
last two."""
ANY = "any"
"""The name in the measure `about`: something that the plan is about was violated."""
SUMMARY_COLUMNS = ("measure", "name", "runs", "value")


class Count(NamedTuple):
    """In how many runs of a cell something with that name was seen."""

    cell: int
    measure: str
    """One of MEASURES; an error is named by the last line of its traceback."""
    name: str
    runs: int
    first_run: int
    """The lowest `run_id` among them."""


class Sums(NamedTuple):
    """Sums over the runs of a cell that came to an end."""

    cell: int
    runs: int
    totals: dict[str, int]
    squares: dict[str, int]
    """Of COSTS only: they give the intervals of the means."""


class Pair(NamedTuple):
    """Two cells of one environment, on the same cases; `left` < `right`."""

    left: int
    right: int
    verdicts: dict[str, int]
    """Cases per "verdict left/verdict right"; combinations that do not occur are left out."""
    other_weather: int
    """Cases whose weather digests differ: 0, or the comparison is not paired."""
    ended: int
    """Cases in which both runs came to an end."""
    differences: dict[str, int]
    """Per cost: sum over those cases of (right - left)."""
    squares: dict[str, int]
    """Per cost: sum of its squares."""


class Agreement(NamedTuple):
    """Over the cases in which a cell violated something, and the other one was judged."""

    cell: int
    other: int
    measure: str
    """One of COMPARED."""
    name: str
    alone: int
    """Cases in which the other did not violate it."""
    both: int
    """Cases in which it did as well."""


class Earliest(NamedTuple):
    """The violation of an invariant that comes earliest in simulated time; ties: lowest run."""

    at_ms: int
    run_id: int
    position: int
    cell: int
    invariant: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Counts:
    """All that is counted. Bounded by the plan, not by the number of runs."""

    counts: list[Count]
    sums: list[Sums]
    pairs: list[Pair]
    agreement: list[Agreement]
    """For every ordered pair of cells; what never occurs is left out."""
    shortest: list[dict[str, Any]]
    """Per cell up to three violating runs with the earliest first violation (ties: fewest events,
    lowest number): cell, rule_set, run_id, case_id, seed, first_invariant, first_violation_ms,
    events, violation_count, evidence."""
    earliest: list[Earliest]
    """One per cell and invariant."""


SHORTEST_COLUMNS = (
    "rule_set",
    "run_id",
    "case_id",
    "seed",
    "first_invariant",
    "first_violation_ms",
    "events",
    "violation_count",
)


def shortness(run: dict[str, Any]) -> tuple[int, int, int]:
    """The order of `shortest`: earliest first violation, then fewest events, then lowest number."""
    return run["first_violation_ms"], run["events"], run["run_id"]


def about(sweep: Sweep, names: set[str], families: set[str]) -> bool:
    """Whether violated invariants, or families, are among what the plan is about."""
    wanted = sweep.plan.about
    return any(name in names or name in families for name in wanted)


def frequency(count: Count) -> tuple[int, int, str, str]:
    """The order of counts: most runs first."""
    return -count.runs, count.cell, count.measure, count.name


def tallies(sweep: Sweep, counts: Counts) -> dict[str, Any]:
    """The content of `tallies.json`: everything in a fixed order, whichever engine counted.

    `rule_sets` and `pairs` are over all cases; each of `environments` has its own, and is the
    same where there is one.
    """
    numbers = range(len(sweep.environments))
    return {
        "format": TALLIES_FORMAT,
        "cases": sweep.count,
        **_table(sweep, counts, numbers),
        "environments": [
            {
                "name": sweep.environments[number].name,
                "cases": sweep.cases_in(number),
                **_table(sweep, counts, [number]),
            }
            for number in numbers
        ],
    }


def _table(sweep: Sweep, counts: Counts, numbers: Sequence[int]) -> dict[str, Any]:
    """What the environments of these numbers have together."""
    size = len(sweep.rule_sets)
    cells = [[number * size + index for number in numbers] for index in range(size)]
    cases = sum(sweep.cases_in(number) for number in numbers)
    return {
        "rule_sets": [
            {
                "index": rule_set.index,
                "label": rule_set.label,
                "runs": cases,
                **_rule_set(counts, set(cells[rule_set.index]), rule_set.index),
            }
            for rule_set in sweep.rule_sets
        ],
        "pairs": [
            _pair(counts, set(zip(cells[left], cells[right], strict=True)), left, right)
            for left, right in combinations(range(size), 2)
        ],
    }


def _rule_set(counts: Counts, cells: set[int], index: int) -> dict[str, Any]:
    sums = [one for one in counts.sums if one.cell in cells]
    shortest = [run for run in counts.shortest if run["cell"] in cells]
    return {
        "counts": {
            measure: _named([one for one in counts.counts if one.cell in cells], measure)
            for measure in MEASURES
        },
        "ended": sum(one.runs for one in sums),
        "totals": {name: sum(one.totals.get(name, 0) for one in sums) for name in COUNTERS},
        "squares": {cost: sum(one.squares.get(cost, 0) for one in sums) for cost in COSTS},
        "shortest": [
            {name: run[name] for name in SHORTEST_COLUMNS}
            | {"sentence": sentence_of(run["evidence"]), "rule_set": index}
            for run in sorted(shortest, key=shortness)[:SHORTEST]
        ],
        "earliest": _earliest(counts, cells),
    }


def _named(counts: list[Count], measure: str) -> dict[str, dict[str, int | None]]:
    """The most frequent names of a measure: in how many runs, and the first of them."""
    found: dict[str, Count] = {}
    for one in counts:
        if one.measure == measure:
            known = found.get(one.name)
            runs, first_run = one.runs, one.first_run
            if known is not None:
                runs, first_run = runs + known.runs, min(first_run, known.first_run)
            found[one.name] = one._replace(cell=0, runs=runs, first_run=first_run)
    kept = sorted(found.values(), key=lambda one: (-one.runs, one.name))[:NAMES_PER_MEASURE_MAX]
    named: dict[str, dict[str, int | None]] = {
        one.name: {"runs": one.runs, "first_run": one.first_run} for one in kept
    }
    if measure != "verdict":
        return named
    never: dict[str, int | None] = {"runs": 0, "first_run": None}
    return {verdict: named.get(verdict, never) for verdict in VERDICTS}


def _earliest(counts: Counts, cells: set[int]) -> list[dict[str, Any]]:
    first: dict[str, Earliest] = {}
    for found in sorted(counts.earliest):
        if found.cell in cells:
            first.setdefault(found.invariant, found)
    return [
        {
            "invariant": found.invariant,
            "at_ms": found.at_ms,
            "run_id": found.run_id,
            "sentence": sentence_of(found.evidence),
        }
        for found in first.values()
    ]


def _pair(counts: Counts, cells: set[tuple[int, int]], left: int, right: int) -> dict[str, Any]:
    pairs = [pair for pair in counts.pairs if (pair.left, pair.right) in cells]
    verdicts: dict[str, int] = {}
    for pair in pairs:
        for name, cases in pair.verdicts.items():
            verdicts[name] = verdicts.get(name, 0) + cases
    of_measure: dict[str, dict[str, dict[str, int]]] = {measure: {} for measure in COMPARED}
    for one in sorted(counts.agreement):
        ahead = (one.cell, one.other) in cells
        if ahead or (one.other, one.cell) in cells:
            never = {"both": 0, "only_left": 0, "only_right": 0}
            found = of_measure[one.measure].setdefault(one.name, never)
            found["only_left" if ahead else "only_right"] += one.alone
            found["both"] += one.both if ahead else 0
    return {
        "left": left,
        "right": right,
        "verdicts": dict(sorted(verdicts.items())),
        "other_weather": sum(pair.other_weather for pair in pairs),
        "ended": sum(pair.ended for pair in pairs),
        "differences": {c: sum(pair.differences.get(c, 0) for pair in pairs) for c in COSTS},
        "squares": {c: sum(pair.squares.get(c, 0) for pair in pairs) for c in COSTS},
        "invariants": dict(sorted(of_measure["invariant"].items())),
        "families": dict(sorted(of_measure["family"].items())),
        "about": of_measure["about"].get(ANY, {"both": 0, "only_left": 0, "only_right": 0}),
    }


def write_tallies(storage: Storage, sweep: Sweep, counts: Counts) -> dict[str, Any]:
    """Writes `tallies.json` and `summary.csv`; returns the tallies."""
    content = tallies(sweep, counts)
    storage.write(TALLIES_FILE, as_json(content).encode())
    storage.write(SUMMARY_FILE, summary_csv(sweep, content).encode())
    return content


def summary_csv(sweep: Sweep, content: dict[str, Any]) -> str:
    """The tidy summary: one line per rule set, measure and name.

    Columns: `rule_set` (label), one per swept rule, `measure`, `name`, `runs` (of this rule set,
    which the value is out of), `value` and `environment`: its name, or empty for all cases.

    Measures whose value is a number of runs: `verdict`, `invariant` (runs that violated it),
    `first_invariant` (runs in which it was the first), `reached` (runs in which it happened),
    `reason` (inconclusive runs), `error` (runs, by last line of the traceback), `family` (judged
    runs that violated an invariant of it), `about` (judged runs that violated what the plan is
    about), `hunted` (runs of cases with a scripted hunt). And `total`, whose value is the sum of
    that counter over the `runs` that came to an end.
    """
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
