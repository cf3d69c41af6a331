"""Coordinated removal of tombstones: the leader collects reports and distributes removal bounds.

Every `coordination_interval_ms` a leader sends the bounds to each replica, which answers with a
report of how far its log is compacted. A new leader starts without reports, from the bounds that
its own replica knows. Messages to an older leader are ignored, and with `fencing` those from one:
it may not know which replicas have joined. Source: Redpanda's compaction_coordinator, PR 28087 and
29043, which only keep bounds from falling.
"""

from __future__ import annotations

from sim.protocol.replication import messages as of
from sim.protocol.replication.coordination import (
    RemovalCoordinator,
    accept_removal_bounds,
    report_of,
)
from sim.simulate.cluster.leader import LeaderState
from sim.simulate.cluster.node import Node


class RemovalCoordination:
    """A replica's part in coordinated removal: coordinates as leader, reports as follower."""

    def __init__(self, node: Node) -> None:
        """Starts without reports; it holds a round every interval in which the replica leads."""
        self._node = node
        self._leader: LeaderState | None = None
        self._coordinator = RemovalCoordinator()
        node.handlers[of.RemovalBoundsRequest] = self._accept
        node.handlers[of.RemovalBoundsResponse] = self._note
        interval_ms = node.context.scenario.timers.coordination_interval_ms
        node.start_regularly(self.hold_round, interval_ms, 0, 1)

    def hold_round(self) -> None:
        """Computes the bounds and sends them to the other replicas, if the replica leads."""
        node, leader = self._node, self._node.leader
        if leader is None:
            return
        context, replica = node.context, node.replica
        if leader is not self._leader:
            self._leader = leader
            bounds = of.RemovalBounds(replica.removal_bound, replica.marker_removal_bound)
            self._coordinator = RemovalCoordinator(bounds=bounds)
        coordinator = self._coordinator
        disks = {name: other.disk for name, other in context.replicas.items()}
        coordinator.report(node.name, report_of(replica))
        coordinator.advance(disks, rules=node.rules)
        context.emit_all(accept_removal_bounds(replica, coordinator.bounds))
        request = of.RemovalBoundsRequest(node.name, leader.epoch, coordinator.bounds)
        for name in disks:
            if name != node.name:
                node.send(name, request)

    def _accept(self, request: of.RemovalBoundsRequest) -> None:
        """Takes over the bounds that a leader sends, and answers with a report."""
        node = self._node
        replica = node.replica
        if node.rules.replication.fencing and request.epoch < replica.epoch:
            return
        node.context.emit_all(accept_removal_bounds(replica, request.bounds))
        response = of.RemovalBoundsResponse(node.name, request.epoch, report_of(replica))
        node.send(request.leader, response)

    def _note(self, response: of.RemovalBoundsResponse) -> None:
        """Notes a report, unless it is for an epoch in which this replica leads no more."""
        leader = self._node.leader
        if leader is not None and leader is self._leader and leader.epoch == response.epoch:
            self._coordinator.report(response.replica, response.report)
