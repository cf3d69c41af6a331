"""The rows of a sweep: Run -> row, with its violations nested; rows -> a batch of Arrow's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from sim.check.violation import Violation
from sim.simulate.run import Run
from sim.simulate.scenario.generate.scenario import hunts_of
from sim.study.sweep.columns import RUN, VIOLATION, VIOLATIONS
from sim.study.sweep.plan import RuleSet, Sweep

VIOLATIONS_PER_RUN_MAX = 20
"""Violations in the row of a run, at most (see `reported`)."""


def run_row(
    sweep: Sweep, case_id: int, rule_set: RuleSet, run: Run, wall_ms: float
) -> dict[str, Any]:
    """The row of a run that came to an end."""
    return {
        **_identity(sweep, case_id, rule_set, wall_ms),
        **run.counters,
        **{one.name: one.of(run) for one in RUN if one.of is not None},
        VIOLATIONS: [
            {one.name: one.of(*found, run) for one in VIOLATION if one.of is not None}
            for found in reported(run.violations)
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
        VIOLATIONS: [],
    }


def _identity(sweep: Sweep, case_id: int, rule_set: RuleSet, wall_ms: float) -> dict[str, Any]:
    seed, environment = sweep.case_seed(case_id), sweep.environment_of(case_id)
    hunts = hunts_of(seed, environment.mix)
    return {
        "run_id": sweep.run_id(case_id, rule_set.index),
        "case_id": case_id,
        "environment": environment.name,
        "hunted": bool(hunts),
        "hunts": " ".join(hunts),
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
    return pa.RecordBatch.from_pylist(list(rows), schema=schema)
