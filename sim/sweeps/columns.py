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
        name: As in the table.
        means: In a sentence.
        source: What it is taken from: a module, or a KIP or ticket that defines it.
        kind: `int64`, `string`, `double` or `bool`, as in Parquet; all may be null but keys.
        unit: Such as `ms`, `bytes`; empty for names and texts.
        table: `runs`, `violations` or `summary.csv`.
    """

    name: str
    means: str
    source: str
    kind: str = "string"
    unit: str = ""
    table: str = "runs"


SWEPT = "(swept rules)"
"""Stands for the columns that a plan's swept rules make, one each, under their own names."""

_RUN_HEAD = (
    Column("run_id", "Number of the run: what `replog replay` takes.", "sim.sweeps.plan", "int64"),
    Column(
        "case_id",
        "Number of the case: the same random scenario under every rule set.",
        "sim.sweeps.plan",
        "int64",
    ),
    Column(
        "seed", "Of the case; draws the scenario in its environment.", "sim.sweeps.plan", "int64"
    ),
    Column("rule_set", "Place of the rule set in the plan, from 0.", "sim.sweeps.plan", "int64"),
    Column(SWEPT, "One column for each rule that the plan varies.", "replog list rules", ""),
    Column("verdict", "holds, violated, inconclusive, or error (an exception).", "sim.timed_run"),
    Column("reason", "Why it is inconclusive.", "sim.timed_run"),
    Column("first_invariant", "Which invariant was violated first.", "sim.check"),
    Column("first_violation_ms", "When that was, in simulated time.", "sim.check", "int64", "ms"),
    Column("violation_count", "All of them.", "sim.check", "int64", "violations"),
)
_RUN_TAIL = (
    Column("reached", "Situations that occurred, sorted, joined by spaces.", "replog list reached"),
    Column("digest", "Of every event with its time, 32 hex digits.", "sim.trace.digest"),
    Column(
        "weather",
        "Digest of workload, faults, network and clocks: equal in the runs of a case.",
        "sim.scenario.environment",
    ),
    Column(
        "wall_ms", "Real time; the only column that no seed decides.", "sim.sweeps", "double", "ms"
    ),
    Column("error", "The traceback of an exception.", "sim.sweeps.work"),
    Column("environment", "The plan's name for what the case is drawn from.", "the plan"),
    Column("hunted", "Whether the case has a scripted hunt.", "tail_hunts of a mix", "bool"),
    Column("cause", "Why the first violation happened.", "sim.explain.signature"),
    Column(
        "first_since_ms",
        "Since when it was so at the latest: before it was judged, where that is at rest.",
        "sim.explain.since",
        "int64",
        "ms",
    ),
)
_VIOLATIONS = (
    Column("run_id", "The run it is of.", "runs", "int64"),
    Column("position", "Its number in the run, from 0, as detected.", "sim.check", "int64"),
    Column("invariant", "What was violated.", "replog list invariants"),
    Column("at_ms", "When it was judged, in simulated time.", "sim.check", "int64", "ms"),
    Column(
        "since_ms",
        "Since when it was so at the latest: before `at_ms`, where it is judged at rest.",
        "sim.explain.since",
        "int64",
        "ms",
    ),
    Column("replica", "Where, if at one replica.", "sim.check"),
    Column("offset", "The offset it is about, if about one.", "sim.check", "int64"),
    Column("key", "The key it is about, if about one.", "sim.check"),
    Column(
        "evidence",
        "What happened, as JSON: a template and its values.",
        "sim.sweeps.evidence",
    ),
    Column("sentence", "The same, as data frames have it made: not in the files.", "evidence"),
    Column("family", "What goes wrong for whoever uses the log.", "sim.check.families"),
    Column(
        "cause",
        "Why, of the first of each invariant and family in the run; null of the others.",
        "sim.explain.signature",
    ),
)
_SUMMARY = (
    Column("rule_set", "Label of the rule set.", "the plan"),
    Column(SWEPT, "One column for each rule that the plan varies.", "replog list rules", ""),
    Column(
        "measure",
        f"What is counted: {', '.join(MEASURES)}, or total (a counter).",
        "sim.sweeps.tally",
    ),
    Column("name", "Of what is counted, such as an invariant.", "sim.sweeps.tally"),
    Column("runs", "What the value is out of.", "sim.sweeps.tally", "int64", "runs"),
    Column(
        "value",
        "In how many runs; of a total, the sum over the runs that came to an end.",
        "sim.sweeps.tally",
        "int64",
    ),
    Column("environment", "Its name; empty for all cases together.", "the plan"),
)


def columns() -> Iterator[Column]:
    """Every column, in the order of its table."""
    yield from _RUN_HEAD
    for name in COUNTERS:
        unit, means, source = COUNTER[name][:3]
        yield Column(name, means, source, "int64", unit)
    yield from _RUN_TAIL
    for table, told in (("violations", _VIOLATIONS), ("summary.csv", _SUMMARY)):
        yield from [one._replace(table=table) for one in told]
