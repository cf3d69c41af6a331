"""Sweeps: a plan's random scenarios under each of its rule sets, in parallel, as a table of runs.

`runner.run_sweep` fills a folder, `tables.load_sweep` reads it into a DataFrame,
`one_run.scenario_of_run` is the scenario of one of its runs.
"""

from __future__ import annotations

from sim.files.extras import check_extra

check_extra("sweeps need", "report", "pyarrow", "duckdb")
