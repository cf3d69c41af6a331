"""What each column of a sweep's tables means, with its unit and where it comes from.

One table for `replog list columns`, for whoever documents data frames, and for the tests that hold
it against the tables themselves. Nothing here is needed to run a sweep.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sim.check.counters import COUNTER, COUNTERS
from sim.sweeps.shapes import MEASURES


class Column(NamedTuple):
    """One column.

    Attributes:
        table: `runs`, `violations` or `summary.csv`.
        name: As in the table.
        kind: `int64`, `string`, `double` or `bool`, as in Parquet; all may be null but keys.
        unit: Such as `ms`, `bytes`; empty for names and texts.
        means: In a sentence.
        source: What it is taken from: a module, or a KIP or ticket that defines it.
    """

    table: str
    name: str
    kind: str
    unit: str
    means: str
    source: str


class _Told(NamedTuple):
    means: str
    source: str
    kind: str = "string"
    unit: str = ""


SWEPT = "(swept rules)"
"""Stands for the columns that a plan's swept rules make, one each, under their own names."""

_RUN_HEAD = {
    "run_id": _Told("Number of the run: what `replog replay` takes.", "sim.sweeps.plan", "int64"),
    "case_id": _Told(
        "Number of the case: the same random scenario under every rule set.",
        "sim.sweeps.plan",
        "int64",
    ),
    "seed": _Told(
        "Of the case; draws the scenario in its environment.", "sim.sweeps.plan", "int64"
    ),
    "rule_set": _Told("Place of the rule set in the plan, from 0.", "sim.sweeps.plan", "int64"),
    SWEPT: _Told("One column for each rule that the plan varies.", "replog list rules", ""),
    "verdict": _Told("holds, violated, inconclusive, or error (an exception).", "sim.timed_run"),
    "reason": _Told("Why it is inconclusive.", "sim.timed_run"),
    "first_invariant": _Told("Which invariant was violated first.", "sim.check"),
    "first_violation_ms": _Told("When that was, in simulated time.", "sim.check", "int64", "ms"),
    "violation_count": _Told("All of them.", "sim.check", "int64", "violations"),
}
_RUN_TAIL = {
    "reached": _Told("Situations that occurred, sorted, joined by spaces.", "replog list reached"),
    "digest": _Told("Of every event with its time, 32 hex digits.", "sim.trace.digest"),
    "weather": _Told(
        "Digest of workload, faults, network and clocks: equal in the runs of a case.",
        "sim.scenario.environment",
    ),
    "wall_ms": _Told(
        "Real time; the only column that no seed decides.", "sim.sweeps", "double", "ms"
    ),
    "error": _Told("The traceback of an exception.", "sim.sweeps.work"),
    "environment": _Told("The plan's name for what the case is drawn from.", "the plan"),
    "hunted": _Told("Whether the case has a scripted hunt.", "tail_hunts of a mix", "bool"),
    "cause": _Told("Why the first violation happened.", "sim.explain.signature"),
}
_VIOLATIONS = {
    "run_id": _Told("The run it is of.", "runs", "int64"),
    "position": _Told("Its number in the run, from 0, as detected.", "sim.check", "int64"),
    "invariant": _Told("What was violated.", "replog list invariants"),
    "at_ms": _Told("When it was found, in simulated time.", "sim.check", "int64", "ms"),
    "replica": _Told("Where, if at one replica.", "sim.check"),
    "offset": _Told("The offset it is about, if about one.", "sim.check", "int64"),
    "key": _Told("The key it is about, if about one.", "sim.check"),
    "sentence": _Told("What happened, with the numbers.", "sim.check"),
    "family": _Told("What goes wrong for whoever uses the log.", "sim.check.families"),
    "cause": _Told(
        "Why, of the first of each invariant and family in the run; null of the others.",
        "sim.explain.signature",
    ),
}
_SUMMARY = {
    "rule_set": _Told("Label of the rule set.", "the plan"),
    SWEPT: _Told("One column for each rule that the plan varies.", "replog list rules", ""),
    "measure": _Told(
        f"What is counted: {', '.join(MEASURES)}, or total (a counter).", "sim.sweeps.tally"
    ),
    "name": _Told("Of what is counted, such as an invariant.", "sim.sweeps.tally"),
    "runs": _Told("What the value is out of.", "sim.sweeps.tally", "int64", "runs"),
    "value": _Told(
        "In how many runs; of a total, the sum over the runs that came to an end.",
        "sim.sweeps.tally",
        "int64",
    ),
    "environment": _Told("Its name; empty for all cases together.", "the plan"),
}


def columns() -> Iterator[Column]:
    """Every column, in the order of its table."""
    counted = [(name, COUNTER[name]) for name in COUNTERS]
    counters = {name: _Told(one.means, one.source, "int64", one.unit) for name, one in counted}
    for table, told in (
        ("runs", _RUN_HEAD | counters | _RUN_TAIL),
        ("violations", _VIOLATIONS),
        ("summary.csv", _SUMMARY),
    ):
        for name, one in told.items():
            yield Column(table, name, one.kind, one.unit, one.means, one.source)
