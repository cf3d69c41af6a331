"""Tables of runs with chosen values, beside the `plan.json` of a sweep."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sim.check.counters import COSTS, COUNTERS
from sim.study.sweep.environments import case_seed
from sim.study.sweep.table import shape_of

Row = Sequence[int | None]


def write_rows(out: Path, runs: Sequence[Mapping[str, Any]]) -> Path:
    """A row for each of the first runs: what is given of it, and else a run that holds."""
    shape = shape_of(json.loads((out / "plan.json").read_text()))
    rows = []
    for run_id, given in enumerate(runs):
        case_id, rule_set = divmod(run_id, shape.rule_sets)
        row: dict[str, Any] = dict.fromkeys(COUNTERS, 0) | shape.swept[rule_set]
        row |= {"run_id": run_id, "case_id": case_id, "rule_set": rule_set, "verdict": "holds"}
        row |= {"seed": case_seed(shape.seed, shape.turns, case_id), "environment": "plain"}
        row |= {"hunted": False, "wall_ms": 1.0, "digest": f"{run_id}", "violations": []}
        rows.append(row | dict(given))
    (out / "runs").mkdir()
    table = pa.Table.from_pylist(rows, schema=shape.schema)
    pq.write_table(table, out / "runs" / "part-0.parquet")
    return out


def write_tables(
    out: Path,
    costs: Mapping[str, Sequence[Row]],
    violations: Sequence[tuple[int, str, int]] = (),
    *,
    verdicts: Sequence[str] | None = None,
) -> Path:
    """`costs`: per counter one row per case, of one value per rule set; None did not end.

    Costs that are not given are 0 in every run. `violations`: run, invariant, ms. `verdicts` are
    those of all runs in order; without them a run with a violation is violated.
    """
    shape = next(iter(costs.values()))
    ended = [value is not None for row in shape for value in row]
    violated = {run for run, *_ in violations}
    given = {counter: [value for row in rows for value in row] for counter, rows in costs.items()}
    runs: list[dict[str, Any]] = []
    for run_id, came_to_an_end in enumerate(ended):
        row: dict[str, Any] = dict.fromkeys(COSTS, 0 if came_to_an_end else None)
        row |= {counter: values[run_id] for counter, values in given.items()}
        own = "violated" if run_id in violated else "holds"
        row["verdict"] = verdicts[run_id] if verdicts else own
        row["violations"] = [
            {"invariant": invariant, "since_ms": ms}
            for run, invariant, ms in violations
            if run == run_id
        ]
        runs.append(row)
    return write_rows(out, runs)
