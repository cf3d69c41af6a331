"""Reports: the verdict of a sweep as data, and as one offline HTML page, Markdown and JSON.

`read_folder` asks the table of a finished sweep for its statistics; `grids_of` sets the
alternatives of its decisions side by side, with what searches prove and stories show, and
`write_report` makes the three files of them.
"""

from __future__ import annotations

from sim.files.shipped import check_extra

check_extra("reports need", "report", "scipy", "markdown_it", "pyarrow", "duckdb")

from sim.study.report.cells import grid_rows
from sim.study.report.further import add_alternative
from sim.study.report.grid import decision_of, grids_of
from sim.study.report.output import document_of, write_report
from sim.study.report.page import headline
from sim.study.sweep.table import read_folder
