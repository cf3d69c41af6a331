"""Small sweeps with real runs, made in this process."""

from pathlib import Path

from sim.study.sweep.plan import Plan
from sim.study.sweep.runner import run_sweep
from tests.sweeps.fakes import simulating_here

PLAN: dict[str, object] = {
    "format": "replog-sweep/1",
    "title": "tombstones go at once",
    "source": "none",
    "count": 3,
    "seed": 2,
    "generate": {"mix": "reference"},
    "rules": {"tombstone_removal": "immediate"},
    "rule_sets": [{"strategy": "offset"}, {"strategy": "header"}],
}
"""Of its six runs four fail, for two causes; of those of its first case one."""


def swept(out: Path, **changes: object) -> Path:
    """The folder of a finished sweep."""
    with simulating_here():
        run_sweep(Plan.model_validate(PLAN | changes), out=out, engine="process", partitions=1)
    return out
