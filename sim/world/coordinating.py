"""Coordinated removal in time: the leader collects what was compacted, and hands out the bound.

Every `coordination_interval_ms` the leader sends the bound to each replica, which answers with its
cleanly compacted offset. A new leader starts without reports, from the bound that its own replica
knows; the bound never falls. Source: Redpanda's compaction_coordinator, PR 28087.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.replication.coordination import RemovalCoordinator, accept_removal_bound

if TYPE_CHECKING:
    from sim.world.context import World
    from sim.world.leading import Desk
    from sim.world.node import Node


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
        world = self._world
        world.clock.after(self._interval_ms, self._round)
        leader = world.leading()
        if leader is None or leader.desk is None:
            return
        if leader.desk is not self._desk:
            self._desk = leader.desk
            self._coordinator = RemovalCoordinator(bound=leader.replica.removal_bound)
        coordinator = self._coordinator
        coordinator.report(leader.name, leader.replica.cleanly_compacted_offset)
        coordinator.advance(list(world.nodes))
        world.tell(accept_removal_bound(leader.replica, coordinator.bound))
        for node in world.nodes.values():
            if node is not leader:
                world.network.send(
                    leader.name, node.name, self._asked, node, leader, coordinator.bound
                )

    def _asked(self, node: Node, leader: Node, bound: int) -> None:
        """At a follower: take over the bound, report the own cleanly compacted offset."""
        if node.replica.up:
            self._world.tell(accept_removal_bound(node.replica, bound))
            own = node.replica.cleanly_compacted_offset
            network = self._world.network
            network.send(node.name, leader.name, self._reported, leader, node.name, own)

    def _reported(self, leader: Node, name: str, cleanly_compacted_offset: int) -> None:
        """At the leader: note a report, unless somebody else coordinates by now."""
        if leader.desk is not None and leader.desk is self._desk:
            self._coordinator.report(name, cleanly_compacted_offset)
