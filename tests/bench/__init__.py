"""`make bench` and `make digests`: what a run costs, and that every way of running gives the same.

Every claim about speed is a ratio of figures taken in turns in one run, because machines differ and
are shared; what the others are measured against is `BASELINE`. `python -m tests.bench` writes
`reports/bench.json`.
"""

from typing import Final

BASELINE: Final = "872c1fd31ac5b3b0a55eff0a73c7627e4c65300d"
"""The commit before the simulator became SimPy's processes."""
