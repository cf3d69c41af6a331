"""A follower copies so slowly that it falls out of sync."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim.simulate.faults.fault import Fault, Life

if TYPE_CHECKING:
    from sim.simulate.cluster.faults import Faults
    from sim.simulate.cluster.node import Node


@dataclass(frozen=True, slots=True)
class SlowFetcher(Fault):
    """Fetches far more slowly for `for_ms`."""

    place = 5
    source = "replica.lag.time.max.ms"
    weight = 2.0
    outage = True

    def happen(self, faults: Faults, node: Node) -> Life:
        """One batch at a time, with a pause that is longer than a replica may lag."""
        slow_ms = max(1, faults.context.scenario.timers.replica_lag_max_ms * 3 // 2)
        detail = f"one batch every {slow_ms} ms for {self.duration_ms} ms"
        faults.tell(self, node.name, detail)
        node.fetcher.slow_ms = slow_ms
        yield
        if not faults.goes_on(self, node):  # another one: then it stays slow
            node.fetcher.slow_ms = 0
