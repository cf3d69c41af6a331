"""Reports: what a sweep found, as one offline HTML page, Markdown and JSON.

`write_report` makes the three files out of `plan.json` and `tallies.json`; `comparison_table` and
`headline` are the short form for a terminal, `grid_as_markdown` sets one rule against the others.
Costs and times come from the tables of runs, column by column, and so do the causes of failing
runs (`sim.study.causes`); of a folder that has the two documents alone, a report leaves intervals
and causes out.
"""

from __future__ import annotations

from sim.files.extras import check_extra

check_extra("reports need", "report", "scipy", "matplotlib", "jinja2", "pyarrow")

from sim.study.report.comparison import comparison_table, headline
from sim.study.report.conditions import conditions_of
from sim.study.report.grid import grid_as_markdown
from sim.study.report.page import write_report
from sim.study.report.short import quote, quoted
from sim.study.report.sweep_folder import read_folder
