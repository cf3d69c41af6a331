"""The Spark session of the tests of sweeps, and a plan of a small world."""

from typing import Any, Final

from tests.sweeps.conftest import spark

__all__ = ["SMALL_PLAN", "spark"]

SMALL_PLAN: Final[dict[str, Any]] = {
    "format": "replog-explore/1",
    "title": "One replica in sync, one behind",
    "source": "KIP-280",
    "world": {"replicas": 2, "isr": ["r1"], "versions": [0, 9]},
    "budgets": {"appends": 2, "epochs": 1},
    "rules": {"strategy": "header", "follower_position": "read_end"},
}
