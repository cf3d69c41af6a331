"""Sweeps: a plan's random scenarios under each of its rule sets, in parallel, as a table of runs.

`run_sweep` fills a folder, `load_sweep` reads it into a DataFrame. A name is imported from its
module when it is asked for, so that a replay need not load what runs sweeps; pyspark and pandas are
imported when a sweep runs on Spark and when a DataFrame is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sim.extras import check_extra

check_extra("sweeps need", "report", "pyarrow")

if TYPE_CHECKING:
    from sim.sweeps.one_run import (
        digest_of_run,
        find_run,
        has_runs,
        is_finished,
        scenario_of_run,
    )
    from sim.sweeps.plan import Plan, RuleSet, Sweep, load_plan, number_runs
    from sim.sweeps.runner import Seconds, SweepResult, run_sweep
    from sim.sweeps.tables import load_sweep, load_violations
    from sim.sweeps.work import measure_rate

__all__ = [
    "Plan",
    "RuleSet",
    "Seconds",
    "Sweep",
    "SweepResult",
    "digest_of_run",
    "find_run",
    "has_runs",
    "is_finished",
    "load_plan",
    "load_sweep",
    "load_violations",
    "measure_rate",
    "number_runs",
    "run_sweep",
    "scenario_of_run",
]

_MODULES = {
    "one_run": (
        "digest_of_run",
        "find_run",
        "has_runs",
        "is_finished",
        "scenario_of_run",
    ),
    "plan": ("Plan", "RuleSet", "Sweep", "load_plan", "number_runs"),
    "runner": ("Seconds", "SweepResult", "run_sweep"),
    "tables": ("load_sweep", "load_violations"),
    "work": ("measure_rate",),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"sim.sweeps.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
