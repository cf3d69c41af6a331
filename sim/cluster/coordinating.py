"""Coordinated removal in time: the leader collects what was compacted, and hands out the bounds.

Every `coordination_interval_ms` the leader sends the bounds to each replica, which answers with its
report. A new leader starts without reports, from the bounds that its own replica knows. What an
older leader sends is ignored, as its reports are: it may not know who has joined since. Source:
Redpanda's compaction_coordinator, PR 28087 and 29043 (where the bounds alone do that: they never
fall).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication.coordination import (
    RemovalCoordinator,
    accept_removal_bounds,
    bounds_of,
    report_of,
)
from sim.replication.messages import RemovalBounds, RemovalReport

if TYPE_CHECKING:
    from sim.cluster.context import World
    from sim.cluster.leading import Desk
    from sim.cluster.node import Node


class Coordination:
    """The coordinator of the present leader."""

    def __init__(self, world: World) -> None:
        """Nobody coordinates before the first round."""
        self._world = world
        self._interval_ms = max(1, world.scenario.timers.coordination_interval_ms)
        self._desk: Desk | None = None
        self._coordinator = RemovalCoordinator()

    def start(self) -> None:
        """Hold a round every interval."""
        self._world.clock.after(self._interval_ms, self._round)

    def _round(self) -> None:
        self._world.clock.after(self._interval_ms, self._round)
        self.hold_round()

    def hold_round(self) -> None:
        """The leader, if there is one, works out the bounds and sends them to the others."""
        world = self._world
        leader = world.leading()
        if leader is None or leader.desk is None:
            return
        if leader.desk is not self._desk:
            self._desk = leader.desk
            self._coordinator = RemovalCoordinator(bounds=bounds_of(leader.replica))
        coordinator = self._coordinator
        coordinator.report(leader.name, report_of(leader.replica))
        disks = {name: node.replica.disk for name, node in world.nodes.items()}
        coordinator.advance(disks, rules=world.rules)
        bounds, epoch = coordinator.bounds, leader.desk.epoch
        world.tell(accept_removal_bounds(leader.replica, bounds))
        for node in world.nodes.values():
            if node is not leader:
                world.network.send(leader.name, node.name, self.asked, node, leader, epoch, bounds)

    def asked(self, node: Node, leader: Node, epoch: int, bounds: RemovalBounds) -> None:
        """At a follower: take over the bounds that the leader of `epoch` hands out, and report."""
        replica = node.replica
        if not replica.up or (node.rules.replication.fencing and epoch < replica.epoch):
            return
        self._world.tell(accept_removal_bounds(replica, bounds))
        network, report = self._world.network, report_of(replica)
        network.send(node.name, leader.name, self.reported, leader, epoch, node.name, report)

    def reported(self, leader: Node, epoch: int, name: str, report: RemovalReport) -> None:
        """At the leader: note a report for `epoch`, unless somebody else coordinates by now."""
        desk = leader.desk
        if desk is not None and desk is self._desk and desk.epoch == epoch:
            self._coordinator.report(name, report)
