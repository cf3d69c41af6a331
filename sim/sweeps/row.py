"""The rows of a sweep: one Arrow schema for `runs`, one for `violations`, and Run -> row.

The same schema object builds the batches, gives Spark its types and writes Parquet, so an int64
stays an int64 from the worker to the file. A worker yields one row per run with its violations
nested in the last column; the engines split that into the two tables without simulating twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from sim.check.counters import COUNTERS
from sim.check.violation import Violation
from sim.scenario.generate.scenario import is_hunted
from sim.sweeps.evidence import stored
from sim.sweeps.plan import RuleSet, Sweep, swept_type
from sim.timed_run import Run

VIOLATIONS_PER_RUN_MAX = 20
"""Rows of `violations` one run may leave (see `reported`)."""
NESTED = "violation_rows"
TIMING_COLUMNS = ("wall_ms",)
"""Columns that differ from one machine to the next; every other one is a function of the plan."""

_ARROW_TYPES = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}
_VIOLATION_FIELDS = [
    pa.field("position", pa.int64()),
    pa.field("invariant", pa.string()),
    pa.field("at_ms", pa.int64()),
    pa.field("since_ms", pa.int64()),
    pa.field("replica", pa.string()),
    pa.field("offset", pa.int64()),
    pa.field("key", pa.string()),
    pa.field("evidence", pa.string()),
    pa.field("family", pa.string()),
    pa.field("cause", pa.string()),
]

VIOLATIONS_SCHEMA = pa.schema([pa.field("run_id", pa.int64()), *_VIOLATION_FIELDS])
"""One row per violation. `position` counts a run's violations in order of detection, from 0;
`at_ms` is when it was judged, `since_ms` since when it was so at the latest (`sim.explain.since`);
`evidence` is what its sentence is made of (`sim.sweeps.evidence`); `family` is one of
`sim.check.families`; `cause` says why (`sim.explain.signature`), of the first violation of each
invariant and family, and is null for the others."""


def runs_schema(sweep: Sweep) -> pa.Schema:
    """The schema of `runs`: one flat row per run.

    `run_id`, `case_id` (the same random scenario across rule sets), `seed` (of the scenario),
    `rule_set` (index in the plan), one column per swept rule, `verdict` (holds, violated,
    inconclusive, error), `reason` (why inconclusive), `first_invariant`, `first_violation_ms`
    (simulated: when it was judged), `violation_count` (all of them), the counters, `reached` (names
    of the claims that happened, sorted, joined by spaces), `digest` of every event,
    `weather` (digest of workload and faults: equal across the rule sets of a case), `wall_ms`
    (real time), `error` (the traceback), `environment` (the plan's name for what the case is drawn
    from), `hunted` (whether it has a scripted hunt), `cause` (why its first violation happened,
    null without one), `first_since_ms` (since when that was so). A run that did not end has null
    for all it did not get to.
    """
    swept = [pa.field(name, _ARROW_TYPES[swept_type(name)]) for name in sweep.swept]
    fields = [
        *(pa.field(name, pa.int64()) for name in ("run_id", "case_id", "seed", "rule_set")),
        *swept,
        *(pa.field(name, pa.string()) for name in ("verdict", "reason", "first_invariant")),
        *(pa.field(name, pa.int64()) for name in ("first_violation_ms", "violation_count")),
        *(pa.field(name, pa.int64()) for name in COUNTERS),
        *(pa.field(name, pa.string()) for name in ("reached", "digest", "weather")),
        pa.field("wall_ms", pa.float64()),
        pa.field("error", pa.string()),
        pa.field("environment", pa.string()),
        pa.field("hunted", pa.bool_()),
        pa.field("cause", pa.string()),
        pa.field("first_since_ms", pa.int64()),
    ]
    schema = pa.schema(fields)
    assert len(set(schema.names)) == len(fields), f"a column twice: {schema.names}"
    return schema


def worker_schema(sweep: Sweep) -> pa.Schema:
    """What a worker yields: `runs` with the violations of each run nested in the last column."""
    return runs_schema(sweep).append(pa.field(NESTED, pa.list_(pa.struct(_VIOLATION_FIELDS))))


def run_row(
    sweep: Sweep, case_id: int, rule_set: RuleSet, run: Run, wall_ms: float
) -> dict[str, Any]:
    """The row of a run that came to an end."""
    assert tuple(run.counters) == COUNTERS, f"counters {tuple(run.counters)} are not {COUNTERS}"
    first = run.violations[0] if run.violations else None
    return {
        **_identity(sweep, case_id, rule_set, wall_ms),
        "verdict": run.verdict,
        "reason": run.reason if run.verdict == "inconclusive" else None,
        "first_invariant": first.invariant if first else None,
        "first_violation_ms": first.at if first else None,
        "violation_count": len(run.violations),
        "cause": run.causes.get(0),
        "first_since_ms": run.since.get(0),
        **run.counters,
        "reached": " ".join(sorted(run.reached)),
        "digest": run.digest,
        "weather": run.environment,
        NESTED: [
            {
                "position": position,
                "invariant": found.invariant,
                "at_ms": found.at,
                "since_ms": run.since.get(position),
                "replica": found.replica,
                "offset": found.offset,
                "key": found.key,
                "evidence": stored(found),
                "family": found.family,
                "cause": run.causes.get(position),
            }
            for position, found in reported(run.violations)
        ],
    }


def unfinished_row(
    sweep: Sweep,
    case_id: int,
    rule_set: RuleSet,
    wall_ms: float,
    *,
    reason: str | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    """The row of a run without an end: an error with its traceback, or inconclusive and why."""
    return {
        **_identity(sweep, case_id, rule_set, wall_ms),
        "verdict": "inconclusive" if error is None else "error",
        "reason": reason,
        "error": error,
        NESTED: [],
    }


def _identity(sweep: Sweep, case_id: int, rule_set: RuleSet, wall_ms: float) -> dict[str, Any]:
    seed, environment = sweep.case_seed(case_id), sweep.environment_of(case_id)
    return {
        "run_id": sweep.run_id(case_id, rule_set.index),
        "case_id": case_id,
        "environment": environment.name,
        "hunted": is_hunted(seed, environment.mix),
        "seed": seed,
        "rule_set": rule_set.index,
        **rule_set.values,
        "wall_ms": wall_ms,
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


def batch_of(rows: Iterable[dict[str, Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Rows as one batch of exactly `schema`."""
    batch = pa.RecordBatch.from_pylist(list(rows), schema=schema)
    assert batch.schema.equals(schema)
    return batch


def split_tables(batch: pa.RecordBatch) -> tuple[pa.Table, pa.Table]:
    """(`runs`, `violations`) out of a batch with nested violations."""
    table = pa.Table.from_batches([batch])
    nested = batch.column(NESTED)
    found = nested.flatten()
    run_ids = batch.column("run_id").take(nested.value_parent_indices())
    columns = [run_ids, *found.flatten()]
    violations = pa.Table.from_arrays(columns, schema=VIOLATIONS_SCHEMA)
    return table.drop_columns([NESTED]), violations
