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
from sim.simulate.scenario.generate.scenario import targeted_faults_of
from sim.study.sweep.plan import RuleSet, Sweep, swept_type


class SweepColumn(NamedTuple):
    """A column of the table of a sweep.

    Attributes:
        name: Name in the table.
        means: Meaning, in a sentence.
        source: The module, KIP or ticket that defines the value.
        kind: `int64`, `string`, `double` or `bool`, as in Parquet.
        unit: Unit, such as `ms` or `bytes`; empty for names and texts.
        group: Group of columns in lists.
        table: `runs` or `violations`.
        of: Computes the value from a run, or from a position, the violation there and the run; None
            for columns that do not depend on the outcome of the run.
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
"""Placeholder for the columns of the swept rules, one each, under their own names."""
VIOLATIONS: Final = "violations"
"""The last column of the table: the violations of the run, as a list."""
TIMING_COLUMNS: Final = ("wall_ms",)
"""Columns that differ from one machine to the next; every other one is a function of the plan."""

_SINCE = "Latest time since which it was so; earlier than the judgement where that is at rest."
_number = partial(SweepColumn, source="sim.study.sweep.plan", kind="int64")
_verdict = partial(SweepColumn, group="verdict")
_time = partial(_verdict, kind="int64", unit="ms")
_HEAD = (
    _number("run_id", "Number of the run: what `replog run` takes."),
    _number("case_id", "Number of the case: the same random scenario under every rule set."),
    _number("seed", "Seed of the case, from which its scenario is drawn."),
    SweepColumn("rule_set", "Label of the rule set.", "the plan"),
    SweepColumn(SWEPT, "One column for each rule that the plan varies.", "replog list rules", ""),
    _verdict(
        "verdict",
        "holds, violated, inconclusive, or error (an exception).",
        "sim.simulate.run.timed",
        of=lambda run: run.verdict,
    ),
    _verdict(
        "reason",
        "Reason for an inconclusive verdict.",
        "sim.simulate.run.timed",
        of=lambda run: run.reason if run.verdict == "inconclusive" else None,
    ),
    _verdict(
        "first_invariant",
        "The invariant that was violated first.",
        "sim.check",
        of=lambda run: next((one.invariant for one in run.violations), None),
    ),
    _time(
        "first_violation_ms",
        "Simulated time of that violation; of one at rest it is after the run.",
        "sim.check",
        of=lambda run: next((one.at for one in run.violations), None),
    ),
    _verdict(
        "violation_count",
        "Number of all violations.",
        "sim.check",
        "int64",
        "violations",
        of=lambda run: len(run.violations),
    ),
)
_TAIL = (
    SweepColumn(
        "reached",
        "Situations that occurred until the run was over, sorted, joined by spaces.",
        "replog list reached",
        group="situations",
        of=lambda run: " ".join(sorted(run.reached)),
    ),
    SweepColumn(
        "digest",
        "Digest of every event with its time, 32 hex digits.",
        "sim.protocol.events.written",
        of=lambda run: run.digest,
    ),
    SweepColumn(
        "weather",
        "Digest of workload, faults, network and clocks: equal in the runs of a case.",
        "sim.simulate.scenario.derived",
        of=lambda run: run.environment,
    ),
    SweepColumn(
        "wall_ms",
        "Real time of the run; the only column that no seed decides.",
        "sim.study.sweep",
        "double",
        "ms",
    ),
    _verdict("error", "The traceback of an exception.", "sim.study.sweep.work"),
    SweepColumn("environment", "The plan's name for what the case is drawn from.", "the plan"),
    SweepColumn(
        "hunted",
        "True for a case with targeted faults.",
        "tail_hunts, election_hunts, disk_hunts and mark_hunts of a mix",
        "bool",
    ),
    SweepColumn(
        "hunts",
        "Targeted faults of the case: tail, elections, lost_disks, joined by spaces.",
        "tail_hunts, election_hunts, disk_hunts and mark_hunts of a mix",
    ),
    _verdict(
        "cause",
        "Cause of the first violation.",
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
        SweepColumn(
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
"""Columns of a run, in the order of the table; its violations follow as a list."""

_violation = partial(SweepColumn, group="a violation", table=VIOLATIONS)


def _seen(name: str, means: str, source: str, kind: str = "string") -> SweepColumn:
    """A column that a violation has under the same name."""
    return _violation(name, means, source, kind, of=lambda _at, found, _run: getattr(found, name))


VIOLATION: Final = (
    _violation(
        "position",
        "Place among the violations of the run, from 0, by detection.",
        "sim.check",
        "int64",
        of=lambda position, _found, _run: position,
    ),
    _seen("invariant", "The violated invariant.", "replog list invariants"),
    _violation(
        "at_ms",
        "Simulated time of the judgement; at rest it is after the run.",
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
    _seen("replica", "The replica, if it is about one.", "sim.check"),
    _seen("offset", "The offset it is about, if about one.", "sim.check", "int64"),
    _seen("key", "The key it is about, if about one.", "sim.check"),
    _seen("sentence", "What happened, with the numbers in it.", "sim.check"),
    _seen(
        "family",
        "Kind of damage for users of the log.",
        "sim.check.families",
    ),
    _violation(
        "cause",
        "Cause, of the first of each invariant and family in the run; null for the others.",
        "sim.diagnose.explain.signature",
        of=lambda position, _found, run: run.causes.get(position),
    ),
)
"""Columns of a violation, as stored in the list of its run."""
_RUN_ID = _violation("run_id", "Number of its run.", "runs", "int64")


def columns() -> Iterator[SweepColumn]:
    """Yields every column, in the order of its table."""
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
    """Makes the row of a run from its numbers and its outcome."""
    seed, environment = sweep.case_seed(case_id), sweep.environment_of(case_id)
    targeted = targeted_faults_of(seed, environment.mix)
    return {
        "run_id": sweep.run_id(case_id, rule_set.index),
        "case_id": case_id,
        "environment": environment.name,
        "hunted": bool(targeted),
        "hunts": " ".join(targeted),
        "seed": seed,
        "rule_set": rule_set.label,
        **rule_set.values,
        "wall_ms": wall_ms,
        **outcome,
    }


def outcome_of(run: Run) -> dict[str, Any]:
    """Computes the columns that depend on the outcome of a run."""
    return {
        **run.counters,
        **{one.name: one.of(run) for one in RUN if one.of is not None},
        VIOLATIONS: [
            {one.name: one.of(*found, run) for one in VIOLATION if one.of is not None}
            for found in reported(run.violations)
        ],
    }


def reported(violations: Sequence[Violation]) -> list[tuple[int, Violation]]:
    """Selects the violations of a run that the table has, with their positions.

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
