"""The tables of a sweep as any reader of Parquet finds them, without Replog's own code."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

TIMING = "wall_ms"
"""The one column that two sweeps of the same plan differ in."""


class Tables(NamedTuple):
    """All that a finished sweep says.

    Attributes:
        runs: Rows in order of their runs.
        plan: `plan.json`.
    """

    runs: list[dict[str, Any]]
    plan: Any


def read_tables(folder: Path) -> Tables:
    """What the folder of a finished sweep says; every Parquet file in it counts."""
    return Tables(
        sorted(_rows(folder / "runs"), key=lambda row: row["run_id"]),
        json.loads((folder / "plan.json").read_text()),
    )


def differences(expected: Tables, found: Tables) -> list[str]:
    """In what two sweeps differ, in a few words each."""
    return [
        f"{name} differ ({len(left)} and {len(right)})"
        for name, left, right in zip(Tables._fields, expected, found, strict=True)
        if left != right
    ]


def _rows(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for path in sorted(folder.glob("part-*.parquet")):
        table: pa.Table = pq.read_table(path)
        names = [name for name in table.column_names if name != TIMING]
        rows += table.select(names).to_pylist()
    return rows
