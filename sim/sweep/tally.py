"""What a sweep is summed up to: counts per rule set, pairs of them, the shortest violating runs.

Both engines produce the same `Counts`: Spark with its own aggregations (`spark_tally`), the process
pool by reading the files once (`counting`). From them come `tallies.json`, which the report
reads, and `summary.csv` for everybody else.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from sim.check.counters import COSTS, COUNTERS
from sim.sweep.output import write_json, write_text
from sim.sweep.plan import Sweep
from sim.sweep.row import VERDICTS

TALLIES_FORMAT = "replog-tallies/1"
TALLIES_FILE = "tallies.json"
SUMMARY_FILE = "summary.csv"
JUDGED = ("holds", "violated")
"""Verdicts that say something about the rules."""
SHORTEST = 3
NAMES_MAX = 10_000
"""Most frequent names an engine counts in all: error texts can differ in every run."""
NAMES_PER_MEASURE_MAX = 100
"""Of those, the most frequent kept per rule set and measure."""

MEASURES = ("verdict", "invariant", "first_invariant", "reached", "reason", "error")
SUMMARY_COLUMNS = ("measure", "name", "runs", "value")


class Count(NamedTuple):
    """In how many runs of a rule set something with that name was seen."""

    rule_set: int
    measure: str
    """One of MEASURES; an error is named by the last line of its traceback."""
    name: str
    runs: int
    first_run: int
    """The lowest `run_id` among them."""


class Sums(NamedTuple):
    """Sums over the runs of a rule set that came to an end."""

    rule_set: int
    runs: int
    totals: dict[str, int]
    squares: dict[str, int]
    """Of COSTS only: they give the intervals of the means."""


class Pair(NamedTuple):
    """Two rule sets on the same cases, `left` < `right`."""

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
    """Over the cases that violated an invariant under a rule set and were judged under another."""

    rule_set: int
    other: int
    invariant: str
    alone: int
    """Cases in which the other did not violate it."""
    both: int
    """Cases in which it did as well."""


class Earliest(NamedTuple):
    """The violation of an invariant that comes earliest in simulated time; ties: lowest run."""

    at_ms: int
    run_id: int
    position: int
    rule_set: int
    invariant: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Counts:
    """All that is counted. Bounded by the plan, not by the number of runs."""

    counts: list[Count]
    sums: list[Sums]
    pairs: list[Pair]
    agreement: list[Agreement]
    """For every ordered pair of rule sets; what never occurs is left out."""
    shortest: list[dict[str, Any]]
    """Per rule set up to three violating runs with the earliest first violation (ties: fewest
    events, lowest number): rule_set, run_id, case_id, seed, first_invariant, first_violation_ms,
    events, violation_count, sentence."""
    earliest: list[Earliest]
    """One per rule set and invariant."""


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


def tallies(sweep: Sweep, counts: Counts) -> dict[str, Any]:
    """The content of `tallies.json`: everything in a fixed order, whichever engine counted."""
    sums = {entry.rule_set: entry for entry in counts.sums}
    kept = _most_frequent(counts.counts)
    return {
        "format": TALLIES_FORMAT,
        "cases": sweep.count,
        "rule_sets": [
            {
                "index": rule_set.index,
                "label": rule_set.label,
                "runs": sweep.count,
                "counts": {measure: _named(kept, rule_set.index, measure) for measure in MEASURES},
                "ended": sums[rule_set.index].runs,
                "totals": {name: sums[rule_set.index].totals.get(name, 0) for name in COUNTERS},
                "squares": {cost: sums[rule_set.index].squares.get(cost, 0) for cost in COSTS},
                "shortest": sorted(
                    (run for run in counts.shortest if run["rule_set"] == rule_set.index),
                    key=shortness,
                ),
                "earliest": _earliest(counts, rule_set.index),
            }
            for rule_set in sweep.rule_sets
        ],
        "pairs": [_pair(pair, counts.agreement) for pair in _in_order(counts.pairs)],
    }


def frequency(count: Count) -> tuple[int, int, str, str]:
    """The order of counts: most runs first."""
    return -count.runs, count.rule_set, count.measure, count.name


def _most_frequent(counts: list[Count]) -> list[Count]:
    ordered = sorted(
        counts, key=lambda count: (count.rule_set, count.measure, -count.runs, count.name)
    )
    return [
        count
        for _key, group in groupby(ordered, key=lambda count: (count.rule_set, count.measure))
        for count in list(group)[:NAMES_PER_MEASURE_MAX]
    ]


def _named(counts: list[Count], rule_set: int, measure: str) -> dict[str, dict[str, int | None]]:
    found: dict[str, dict[str, int | None]] = {
        count.name: {"runs": count.runs, "first_run": count.first_run}
        for count in counts
        if count.rule_set == rule_set and count.measure == measure
    }
    if measure != "verdict":
        return found
    never: dict[str, int | None] = {"runs": 0, "first_run": None}
    return {verdict: found.get(verdict, never) for verdict in VERDICTS}


def _earliest(counts: Counts, rule_set: int) -> list[dict[str, Any]]:
    return [
        {
            "invariant": found.invariant,
            "at_ms": found.at_ms,
            "run_id": found.run_id,
            "sentence": found.sentence,
        }
        for found in sorted(counts.earliest)
        if found.rule_set == rule_set
    ]


def _in_order(pairs: list[Pair]) -> list[Pair]:
    return sorted(pairs, key=lambda pair: (pair.left, pair.right))


def _pair(pair: Pair, agreement: list[Agreement]) -> dict[str, Any]:
    invariants: dict[str, dict[str, int]] = {}
    for one in sorted(agreement):
        if {one.rule_set, one.other} == {pair.left, pair.right}:
            cells = invariants.setdefault(
                one.invariant, {"both": 0, "only_left": 0, "only_right": 0}
            )
            cells["both"] = one.both
            cells["only_left" if one.rule_set == pair.left else "only_right"] = one.alone
    return {
        "left": pair.left,
        "right": pair.right,
        "verdicts": dict(sorted(pair.verdicts.items())),
        "other_weather": pair.other_weather,
        "ended": pair.ended,
        "differences": {cost: pair.differences.get(cost, 0) for cost in COSTS},
        "squares": {cost: pair.squares.get(cost, 0) for cost in COSTS},
        "invariants": dict(sorted(invariants.items())),
    }


def write_tallies(out: Path, sweep: Sweep, counts: Counts) -> dict[str, Any]:
    """Writes `tallies.json` and `summary.csv`; returns the tallies."""
    content = tallies(sweep, counts)
    write_json(out / TALLIES_FILE, content)
    write_text(out / SUMMARY_FILE, summary_csv(sweep, content))
    return content


def summary_csv(sweep: Sweep, content: dict[str, Any]) -> str:
    """The tidy summary: one line per rule set, measure and name.

    Columns: `rule_set` (label), one per swept rule, `measure`, `name`, `runs` (of this rule set,
    which the value is out of) and `value`.

    Measures whose value is a number of runs: `verdict`, `invariant` (runs that violated it),
    `first_invariant` (runs in which it was the first), `reached` (runs in which it happened),
    `reason` (inconclusive runs), `error` (runs, by last line of the traceback). And `total`, whose
    value is the sum of that counter over the `runs` that came to an end.
    """
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["rule_set", *sweep.swept, *SUMMARY_COLUMNS])
    for rule_set, entry in zip(sweep.rule_sets, content["rule_sets"], strict=True):
        axes = [rule_set.label, *rule_set.values.values()]
        for measure, names in entry["counts"].items():
            for name, seen in names.items():
                lines.writerow([*axes, measure, name, entry["runs"], seen["runs"]])
        for name, total in entry["totals"].items():
            lines.writerow([*axes, "total", name, entry["ended"], total])
    return text.getvalue()
