"""Reports: what a sweep found, as one offline HTML page, Markdown and JSON.

`write_report` makes the three files out of `plan.json` and `tallies.json`; `comparison_table` and
`headline` are the short form for a terminal. The tables of runs are not read: their size does not
matter here.
"""

from __future__ import annotations

from importlib.util import find_spec

from sim.errors import BadInput

if not all(find_spec(needed) for needed in ("scipy", "matplotlib", "jinja2")):
    raise BadInput("reports need more than the base installation: pip install 'replog[report]'")

from sim.report.comparison import comparison_table, headline
from sim.report.page import write_report

__all__ = ["comparison_table", "headline", "write_report"]
