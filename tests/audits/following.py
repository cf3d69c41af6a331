"""Base of observers that keep a second record of replicas, from event to event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim.plugins import Report
from sim.simulate.cluster.cluster import Cluster


class Following:
    """An observer that leaves the messages alone and reports what the events do not say.

    Attributes:
        name: Name of its violations.
    """

    name = ""

    def __init__(self, cluster: Cluster, report: Report) -> None:
        """Starts before the replicas connect."""
        self._cluster = cluster
        self._nodes = cluster.nodes
        self._report = report

    def over(self, _name: str, receive: Callable[[Any], None]) -> Callable[[Any], None]:
        """Leaves the messages for an address alone."""
        return receive

    def differs(self, replica: str, what: str, kept: object, followed: object) -> bool:
        """Reports what a replica keeps if it is not what the events say; returns whether it is."""
        if kept != followed:
            said = f"{replica}: {what}: {kept}; the events say {followed}."
            self._report(self.name, said[:1_000], replica, None)
        return kept != followed
