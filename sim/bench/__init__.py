"""`make bench` and `make digests`: what a run costs, and that every way of running gives the same.

Every claim about speed is a ratio of figures taken in turns in one run, because machines differ and
are shared; what the others are measured against is `BASELINE`. `python -m sim.bench` writes
`reports/bench.json`.
"""

from typing import Final

BASELINE: Final = "ef409658ae5d82316532c62faa60d3ede7054a4f"
"""The commit before messages became values."""
