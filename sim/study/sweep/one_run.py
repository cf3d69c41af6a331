"""One run of a sweep: its row, its scenario, and the run again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from sim.errors import BadInput
from sim.simulate.scenario.generate import generate
from sim.simulate.scenario.model import Scenario
from sim.study.sweep.columns import VIOLATIONS, runs_schema
from sim.study.sweep.folder import read_sweep
from sim.study.sweep.table import open_table


def find_run(out: Path, run_id: int, columns: Collection[str] = ()) -> dict[str, Any]:
    """The row of a run by column, without its violations; all of them without `columns`.

    Raises BadInput when there is no such run, it has not been run yet, or the table is damaged.
    """
    read_sweep(out).place_of(run_id)
    table = open_table(out).of_run(run_id)
    wanted = columns or [name for name in runs_schema(table.sweep).names if name != VIOLATIONS]
    rows = table.read([*dict.fromkeys(("run_id", *wanted))])
    found = rows.filter(pc.equal(rows.column("run_id"), run_id)).select([*wanted]).to_pylist()
    if not found:
        raise BadInput(f"{out}: run {run_id} was not run yet; --resume of the sweep runs it")
    row: dict[str, Any] = found[0]
    return row


def digest_of_run(out: Path, run_id: int) -> str | None:
    """The digest in the row of a run; None for a run that did not end. Raises like `find_run`."""
    digest: str | None = find_run(out, run_id, ("digest",))["digest"]
    return digest


def scenario_of_run(out: Path | str, run_id: int) -> Scenario:
    """The scenario of a run, with its rules, made again from `plan.json` and the run's number.

    Raises BadInput when the folder holds no sweep or the sweep no such run.
    """
    sweep = read_sweep(Path(out))
    case_id, rule_set = sweep.place_of(run_id)
    scenario = generate(sweep.case_seed(case_id), sweep.environment_of(case_id).mix)
    return replace(scenario.with_rules(rule_set.rules), preset=rule_set.preset)
