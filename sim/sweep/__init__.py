"""Sweeps: a plan's random scenarios under each of its rule sets, in parallel, as a table of runs.

`run_sweep` fills a folder, `load_sweep` reads it into a DataFrame, `replay` makes one of its runs
again. Importing this package imports pyarrow, but neither pyspark nor pandas: those are imported
when a sweep runs on Spark and when a DataFrame is asked for.
"""

from __future__ import annotations

from importlib.util import find_spec

from sim.errors import BadInput

if find_spec("pyarrow") is None:
    raise BadInput("sweeps need more than the base installation: pip install 'replog[sweep]'")

from sim.sweep.plan import Plan, RuleSet, Sweep, load_plan, number_runs
from sim.sweep.replay import replay, scenario_of_run
from sim.sweep.runner import Seconds, SweepResult, run_sweep
from sim.sweep.tables import find_run, load_sweep, load_violations

__all__ = [
    "Plan",
    "RuleSet",
    "Seconds",
    "Sweep",
    "SweepResult",
    "find_run",
    "load_plan",
    "load_sweep",
    "load_violations",
    "number_runs",
    "replay",
    "run_sweep",
    "scenario_of_run",
]
