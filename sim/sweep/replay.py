"""Back from a row of a sweep to its scenario and its run."""

from __future__ import annotations

from pathlib import Path

from sim.run import Run, run_scenario
from sim.scenario.generate import generate
from sim.scenario.model import Scenario
from sim.sweep.output import read_sweep
from sim.trace import Event


def scenario_of_run(out: Path | str, run_id: int) -> Scenario:
    """The scenario of a run, with its rules, made again from `plan.json` and the run's number.

    Raises BadInput when the folder holds no sweep or the sweep no such run.
    """
    sweep = read_sweep(Path(out))
    case_id, rule_set = sweep.place_of(run_id)
    scenario = generate(sweep.case_seed(case_id), sweep.plan.generate)
    return scenario.with_rules(rule_set.settings)


def replay(out: Path | str, run_id: int, *, trace: list[tuple[int, Event]] | None = None) -> Run:
    """A run of a sweep once more, in full; `trace` takes its events as (ms, event).

    With the version that made the sweep its digest equals the row's (`find_run(out, run_id)`).
    """
    return run_scenario(scenario_of_run(out, run_id), trace=trace)
