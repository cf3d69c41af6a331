"""The columns of a sweep's table, and its rows: a run as a row, rows as a batch of Arrow's.

The schema of the table, `replog list columns` and the documentation of data frames are taken from
here. A counter is declared in `sim.check.counters`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa

from sim.check.counters import COSTS, COUNTER
from sim.check.violation import Violation
from sim.simulate.run import Run
from sim.simulate.scenario.generate.scenario import hunts_of
from sim.study.sweep.plan import RuleSet, Sweep, swept_type


class Column(NamedTuple):
    """A column of the table.

    Attributes:
        name: As in the table.
        means: In a sentence.
        source: What it is taken from: a module, or a KIP or ticket that defines it.
        kind: `int64`, `string`, `double` or `bool`, as in Parquet.
        unit: Such as `ms`, `bytes`; empty for names and texts.
        group: What it belongs to, for whoever looks for one.
        table: `runs` or `violations`.
        of: Makes the value of a run, or of a position, the violation there and the run; None = it
            is not of what the run did.
    """

    name: str
    means: str
    source: str
    kind: str = "string"
    unit: str = ""
    group: str = "the run"
    table: str = "runs"
    of: Callable[..., Any] | None = None


SWEPT: Final = "(swept rules)"
"""Stands for the columns that a plan's swept rules make, one each, under their own names."""
VIOLATIONS: Final = "violations"
"""The last column of the table: the violations of the run, as a list."""
TIMING_COLUMNS: Final = ("wall_ms",)
"""Columns that differ from one machine to the next; every other one is a function of the plan."""

_SINCE = "Since when it was so at the latest: before it was judged, where that is at rest."
_number = partial(Column, source="sim.study.sweep.plan", kind="int64")
_verdict = partial(Column, group="verdict")
_time = partial(_verdict, kind="int64", unit="ms")
_HEAD = (
    _number("run_id", "Number of the run: what `replog run` takes."),
    _number("case_id", "Number of the case: the same random scenario under every rule set."),
    _number("seed", "Of the case; draws the scenario in its environment."),
    Column("rule_set", "Label of the rule set.", "the plan"),
    Column(SWEPT, "One column for each rule that the plan varies.", "replog list rules", ""),
    _verdict(
        "verdict",
        "holds, violated, inconclusive, or error (an exception).",
        "sim.simulate.run.timed",
        of=lambda run: run.verdict,
    ),
    _verdict(
        "reason",
        "Why it is inconclusive.",
        "sim.simulate.run.timed",
        of=lambda run: run.reason if run.verdict == "inconclusive" else None,
    ),
    _verdict(
        "first_invariant",
        "Which invariant was violated first.",
        "sim.check",
        of=lambda run: next((one.invariant for one in run.violations), None),
    ),
    _time(
        "first_violation_ms",
        "When that was, in simulated time; at rest, where that is after the run.",
        "sim.check",
        of=lambda run: next((one.at for one in run.violations), None),
    ),
    _verdict(
        "violation_count",
        "All of them.",
        "sim.check",
        "int64",
        "violations",
        of=lambda run: len(run.violations),
    ),
)
_TAIL = (
    Column(
        "reached",
        "Situations that occurred until the run was over, sorted, joined by spaces.",
        "replog list reached",
        group="situations",
        of=lambda run: " ".join(sorted(run.reached)),
    ),
    Column(
        "digest",
        "Of every event with its time, 32 hex digits.",
        "sim.protocol.events.digest",
        of=lambda run: run.digest,
    ),
    Column(
        "weather",
        "Digest of workload, faults, network and clocks: equal in the runs of a case.",
        "sim.simulate.scenario.environment",
        of=lambda run: run.environment,
    ),
    Column(
        "wall_ms",
        "Real time; the only column that no seed decides.",
        "sim.study.sweep",
        "double",
        "ms",
    ),
    _verdict("error", "The traceback of an exception.", "sim.study.sweep.work"),
    Column("environment", "The plan's name for what the case is drawn from.", "the plan"),
    Column(
        "hunted",
        "Whether the case has a scripted hunt.",
        "tail_hunts, election_hunts and disk_hunts of a mix",
        "bool",
    ),
    Column(
        "hunts",
        "Which: tail, elections, lost_disks, joined by spaces.",
        "tail_hunts, election_hunts and disk_hunts of a mix",
    ),
    _verdict(
        "cause",
        "Why the first violation happened.",
        "sim.diagnose.explain.signature",
        of=lambda run: run.causes.get(0),
    ),
    _time(
        "first_since_ms",
        _SINCE,
        "sim.diagnose.explain.signature",
        of=lambda run: run.since.get(0),
    ),
)
RUN: Final = (
    *_HEAD,
    *(
        Column(
            name,
            one.means,
            one.source,
            "int64",
            one.unit,
            "costs" if name in COSTS else "counters",
        )
        for name, one in COUNTER.items()
    ),
    *_TAIL,
)
"""Of a run, in the order of the table; its violations follow as a list."""

_violation = partial(Column, group="a violation", table=VIOLATIONS)


def _seen(name: str, means: str, source: str, kind: str = "string") -> Column:
    """A column that a violation has under the same name."""
    return _violation(name, means, source, kind, of=lambda _at, found, _run: getattr(found, name))


VIOLATION: Final = (
    _violation(
        "position",
        "Its number in the run, from 0, as detected.",
        "sim.check",
        "int64",
        of=lambda position, _found, _run: position,
    ),
    _seen("invariant", "What was violated.", "replog list invariants"),
    _violation(
        "at_ms",
        "When it was judged, in simulated time; at rest, where that is after the run.",
        "sim.check",
        "int64",
        "ms",
        of=lambda _at, found, _run: found.at,
    ),
    _violation(
        "since_ms",
        _SINCE,
        "sim.diagnose.explain.signature",
        "int64",
        "ms",
        of=lambda position, _found, run: run.since.get(position),
    ),
    _seen("replica", "Where, if at one replica.", "sim.check"),
    _seen("offset", "The offset it is about, if about one.", "sim.check", "int64"),
    _seen("key", "The key it is about, if about one.", "sim.check"),
    _seen("sentence", "What happened, with the numbers in it.", "sim.check"),
    _seen(
        "family",
        "What goes wrong for whoever uses the log.",
        "sim.check.families",
    ),
    _violation(
        "cause",
        "Why, of the first of each invariant and family in the run; null of the others.",
        "sim.diagnose.explain.signature",
        of=lambda position, _found, run: run.causes.get(position),
    ),
)
"""Of a violation, as it is stored in the list of its run."""
_RUN_ID = _violation("run_id", "The run it is of.", "runs", "int64")


def columns() -> Iterator[Column]:
    """Every column, in the order of its table."""
    yield from (*RUN, _RUN_ID, *VIOLATION)


_ARROW: Final = {
    "int64": pa.int64(),
    "string": pa.string(),
    "double": pa.float64(),
    "bool": pa.bool_(),
}
_OF_RULE: Final = {str: "string", int: "int64", bool: "bool"}
_VIOLATION_FIELDS: Final = [pa.field(one.name, _ARROW[one.kind]) for one in VIOLATION]


def runs_schema(sweep: Sweep) -> pa.Schema:
    """The schema of a sweep's table: a row per run, the columns `RUN`, violations nested last.

    A run that did not end has null for all it did not get to.
    """
    fields = []
    for one in RUN:
        if one.name == SWEPT:
            fields += [pa.field(name, _ARROW[_OF_RULE[swept_type(name)]]) for name in sweep.swept]
        else:
            fields.append(pa.field(one.name, _ARROW[one.kind]))
    fields.append(pa.field(VIOLATIONS, pa.list_(pa.struct(_VIOLATION_FIELDS))))
    schema = pa.schema(fields)
    assert len(set(schema.names)) == len(fields), f"a column twice: {schema.names}"
    return schema


VIOLATIONS_PER_RUN_MAX = 20
"""Violations in the row of a run, at most (see `reported`)."""


def row_of(
    sweep: Sweep, case_id: int, rule_set: RuleSet, wall_ms: float, outcome: dict[str, Any]
) -> dict[str, Any]:
    """The row of a run: which it is, and its outcome."""
    seed, environment = sweep.case_seed(case_id), sweep.environment_of(case_id)
    hunts = hunts_of(seed, environment.mix)
    return {
        "run_id": sweep.run_id(case_id, rule_set.index),
        "case_id": case_id,
        "environment": environment.name,
        "hunted": bool(hunts),
        "hunts": " ".join(hunts),
        "seed": seed,
        "rule_set": rule_set.label,
        **rule_set.values,
        "wall_ms": wall_ms,
        **outcome,
    }


def outcome_of(run: Run) -> dict[str, Any]:
    """The columns of a run that came to an end."""
    return {
        **run.counters,
        **{one.name: one.of(run) for one in RUN if one.of is not None},
        VIOLATIONS: [
            {one.name: one.of(*found, run) for one in VIOLATION if one.of is not None}
            for found in reported(run.violations)
        ],
    }


def reported(violations: Sequence[Violation]) -> list[tuple[int, Violation]]:
    """The violations of a run that get a row, with their positions, in order of detection.

    A broken run can violate one invariant thousands of times. The first of each invariant, and of
    each of its families, always gets a row; then the earliest others, up to
    VIOLATIONS_PER_RUN_MAX rows in all.
    """
    firsts: dict[tuple[str, str], int] = {}
    for position, found in enumerate(violations):
        firsts.setdefault((found.invariant, found.family), position)
    kept = set(firsts.values())
    for position in range(len(violations)):
        if len(kept) >= VIOLATIONS_PER_RUN_MAX:
            break
        kept.add(position)
    return [(position, violations[position]) for position in sorted(kept)]
