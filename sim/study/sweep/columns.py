"""The columns of a sweep's table, its schema, and the values of a run in it.

The schema of the table, `replog list columns` and the documentation of data frames are taken from
here. A counter is declared in `sim.check.counters`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple

import pyarrow as pa

from sim.check.counters import COSTS, described_counters
from sim.check.violation import Violation
from sim.simulate.run import Run
from sim.simulate.scenario.generate import targeted_faults_of
from sim.study.sweep.plan import Sweep, swept_type


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
    """

    name: str
    means: str
    source: str
    kind: str = "string"
    unit: str = ""
    group: str = "the run"
    table: str = "runs"


SWEPT: Final = "(swept rules)"
"""Placeholder for the columns of the swept rules, one each, under their own names."""
VIOLATIONS: Final = "violations"
"""The last column of the table: the violations of the run, as a list."""

_SINCE = "Time from which the violation held; earlier than its judgement if that is at rest."
_TARGETED = "tail_hunts, election_hunts, disk_hunts and mark_hunts of a mix"
_SIGNATURE = "sim.diagnose.explain"
_number = partial(SweepColumn, source="sim.study.sweep.plan", kind="int64")
_verdict = partial(SweepColumn, group="verdict")
_time = partial(_verdict, kind="int64", unit="ms")
_violation = partial(SweepColumn, group="a violation", table=VIOLATIONS)
RUN: Final = (
    _number("run_id", "Number of the run: what `replog run` takes."),
    _number("case_id", "Number of the case: the same random scenario under every rule set."),
    _number("seed", "Seed of the case, from which its scenario is drawn."),
    SweepColumn("rule_set", "Label of the rule set.", "the plan"),
    SweepColumn(SWEPT, "One column for each rule that the plan varies.", "replog list rules", ""),
    _verdict(
        "verdict",
        "holds, violated, inconclusive, or error (an exception).",
        "sim.simulate.run.timed",
    ),
    _verdict("reason", "Reason for an inconclusive verdict.", "sim.simulate.run.timed"),
    _verdict("first_invariant", "The invariant that was violated first.", "sim.check"),
    _time(
        "first_violation_ms",
        "Simulated time at which that violation was judged; at rest, after the run.",
        "sim.check",
    ),
    _verdict("violation_count", "Number of all violations.", "sim.check", "int64", "violations"),
    *(
        SweepColumn(name, one.means, one.source, "int64", one.unit, group)
        for name, one in described_counters().items()
        for group in ["costs" if name in COSTS else "counters"]
    ),
    SweepColumn(
        "reached",
        "Situations that occurred until the run was over, sorted, joined by spaces.",
        "replog list reached",
        group="situations",
    ),
    SweepColumn(
        "digest",
        "Digest of every event with its time, 32 hex digits.",
        "sim.simulate.run.value",
    ),
    SweepColumn(
        "weather",
        "Digest of workload, faults, network and clocks: equal in the runs of a case.",
        "sim.simulate.scenario.derived",
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
    SweepColumn("hunted", "True for a case with targeted faults.", _TARGETED, "bool"),
    SweepColumn(
        "hunts",
        "Targeted faults of the case: tail, elections, lost_disks, marks, joined by spaces.",
        _TARGETED,
    ),
    _verdict("cause", "Cause of the first violation.", _SIGNATURE),
    _time("first_since_ms", _SINCE, _SIGNATURE),
)
"""Columns of a run, in the order of the table; its violations follow as a list."""
VIOLATION: Final = (
    _violation(
        "position",
        "Place among the violations of the run, from 0, by detection.",
        "sim.check",
        "int64",
    ),
    _violation("invariant", "The violated invariant.", "replog list invariants"),
    _violation(
        "at_ms",
        "Simulated time of the judgement; at rest it is after the run.",
        "sim.check",
        "int64",
        "ms",
    ),
    _violation("since_ms", _SINCE, _SIGNATURE, "int64", "ms"),
    _violation("replica", "The replica concerned, if there is one.", "sim.check"),
    _violation("offset", "The offset concerned, if there is one.", "sim.check", "int64"),
    _violation("key", "The key concerned, if there is one.", "sim.check"),
    _violation("sentence", "What happened, with the numbers in it.", "sim.check"),
    _violation("family", "Kind of damage for users of the log.", "sim.check.violation"),
    _violation(
        "cause",
        "Cause; null unless it is the run's first of its invariant and family.",
        _SIGNATURE,
    ),
)
"""Columns of a violation, as stored in the list of its run."""
_SAME = ("invariant", "replica", "offset", "key", "sentence", "family")
"""Columns that are attributes of `Violation`, under the same name."""


def columns() -> Iterator[SweepColumn]:
    """Yields every column, in the order of its table."""
    yield from (*RUN, _violation("run_id", "Number of its run.", "runs", "int64"), *VIOLATION)


_OF_RULE: Final = {str: "string", int: "int64", bool: "bool"}


def runs_schema(sweep: Sweep) -> pa.Schema:
    """The schema of a sweep's table: a row per run, the columns `RUN`, violations nested last.

    A run that did not end has null for all it did not get to.
    """
    swept = [(name, _OF_RULE[swept_type(name)]) for name in sweep.swept]
    fields = [
        field for one in RUN for field in (swept if one.name == SWEPT else [(one.name, one.kind)])
    ]
    violation = pa.struct([(one.name, one.kind) for one in VIOLATION])
    return pa.schema([*fields, (VIOLATIONS, pa.list_(violation))])


VIOLATIONS_PER_RUN_MAX = 20
"""Largest number of violations in the row of a run, unless more are firsts (see `reported`)."""


def case_columns(sweep: Sweep, case_id: int) -> dict[str, Any]:
    """Computes the columns that all runs of a case have in common."""
    seed, environment = sweep.case_seed(case_id), sweep.environment_of(case_id)
    targeted = targeted_faults_of(seed, environment.mix)
    return {
        "case_id": case_id,
        "environment": environment.name,
        "hunted": bool(targeted),
        "hunts": " ".join(targeted),
        "seed": seed,
    }


def outcome_of(run: Run) -> dict[str, Any]:
    """Computes the columns that depend on the outcome of a run."""
    first = next(iter(run.violations), None)
    return {
        **run.counters,
        "verdict": run.verdict,
        "reason": run.reason if run.verdict == "inconclusive" else None,
        "first_invariant": None if first is None else first.invariant,
        "first_violation_ms": None if first is None else first.at,
        "violation_count": len(run.violations),
        "reached": " ".join(sorted(run.reached)),
        "digest": run.digest,
        "weather": run.environment,
        "cause": run.causes.get(0),
        "first_since_ms": run.since.get(0),
        VIOLATIONS: [
            {
                **{name: getattr(found, name) for name in _SAME},
                "position": place,
                "at_ms": found.at,
                "since_ms": run.since.get(place),
                "cause": run.causes.get(place),
            }
            for place, found in reported(run.violations)
        ],
    }


def reported(violations: Sequence[Violation]) -> list[tuple[int, Violation]]:
    """Selects the violations of a run that the table has, with their positions.

    A broken run can violate one invariant thousands of times. The first of each invariant in each
    family is always selected; then the earliest others, up to VIOLATIONS_PER_RUN_MAX in all.
    """
    found = list(enumerate(violations))
    firsts = {(one.invariant, one.family): position for position, one in reversed(found)}
    others = (position for position, _ in found if position not in firsts.values())
    room = max(0, VIOLATIONS_PER_RUN_MAX - len(firsts))
    return [found[position] for position in sorted([*firsts.values(), *islice(others, room)])]
