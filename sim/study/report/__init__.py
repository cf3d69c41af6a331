"""Reports: what a sweep found, as one offline HTML page, Markdown and JSON.

`read_folder` asks the table of a finished sweep for its statistics; `write_report` makes the three
files of them, with the causes of failing runs (`sim.study.causes`); `comparison_table` and
`headline` are the short form for a terminal, `grid_as_markdown` sets one rule against the others.
"""

from __future__ import annotations

from sim.files.extras import check_extra

check_extra("reports need", "report", "scipy", "jinja2", "pyarrow", "duckdb")

from sim.study.report.comparison import comparison_table, headline, quote, quoted
from sim.study.report.conditions import hunts_text
from sim.study.report.grid import grid_as_markdown
from sim.study.report.page import write_report
from sim.study.report.sweep_folder import read_folder
