"""Sweeps: a plan's random scenarios under each of its rule sets, in parallel, as a table of runs.

`runner.run_sweep` fills a folder, `table.open_table` asks it in SQL,
`table.scenario_of_run` is the scenario of one of its runs.
"""

from __future__ import annotations

from sim.files.shipped import check_extra

check_extra("sweeps need", "report", "pyarrow", "duckdb")
