"""Coordinated removal in time: a leader collects what was compacted, and hands out the bounds.

Every `coordination_interval_ms` a leader sends the bounds to each replica, which answers with its
report. A new leader starts without reports, from the bounds that its own replica knows. What an
older leader sends is ignored, as are reports to it: it may not know who has joined since. Source:
Redpanda's compaction_coordinator, PR 28087 and 29043 (where the bounds alone do that: they never
fall).
"""

from __future__ import annotations

from sim.protocol.replication.coordination import (
    RemovalCoordinator,
    accept_removal_bounds,
    bounds_of,
    report_of,
)
from sim.protocol.replication.messages import RemovalBoundsRequest, RemovalBoundsResponse
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.cluster.node import Node


class RemovalCoordination:
    """One replica's part: coordinates while it leads, reports while it follows."""

    def __init__(self, node: Node) -> None:
        """Starts without rounds; see `start`."""
        self._node = node
        self._interval_ms = node.context.scenario.timers.coordination_interval_ms
        self._leader: LeaderState | None = None
        self._coordinator = RemovalCoordinator()
        node.handlers[RemovalBoundsRequest] = self._accept
        node.handlers[RemovalBoundsResponse] = self._note

    def start(self) -> None:
        """Holds a round every interval in which the replica leads."""
        self._node.start_regularly(self._round, self._interval_ms, 0, 1)

    def _round(self) -> None:
        if self._node.leader is not None:
            self.hold_round(self._node.leader)

    def hold_round(self, leader: LeaderState) -> None:
        """Works out the bounds and sends them to the others."""
        node = self._node
        context, replica = node.context, node.replica
        if leader is not self._leader:
            self._leader = leader
            self._coordinator = RemovalCoordinator(bounds=bounds_of(replica))
        coordinator = self._coordinator
        disks = {name: other.disk for name, other in context.replicas.items()}
        coordinator.report(node.name, report_of(replica))
        coordinator.advance(disks, rules=node.rules)
        context.emit_all(accept_removal_bounds(replica, coordinator.bounds))
        request = RemovalBoundsRequest(node.name, leader.epoch, coordinator.bounds)
        for name in disks:
            if name != node.name:
                node.send(name, request)

    def _accept(self, request: RemovalBoundsRequest) -> None:
        """Takes over the bounds that the leader of an epoch hands out, and reports."""
        node = self._node
        replica = node.replica
        if node.rules.replication.fencing and request.epoch < replica.epoch:
            return
        node.context.emit_all(accept_removal_bounds(replica, request.bounds))
        response = RemovalBoundsResponse(node.name, request.epoch, report_of(replica))
        node.send(request.leader, response)

    def _note(self, response: RemovalBoundsResponse) -> None:
        """Notes a report, unless it is for an epoch that this replica leads no more."""
        leader = self._node.leader
        if leader is not None and leader is self._leader and leader.epoch == response.epoch:
            self._coordinator.report(response.replica, response.report)
