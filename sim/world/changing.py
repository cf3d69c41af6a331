"""Configuration that changes during a run reaches brokers and producers one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.scenario.changes import EVERY_REPLICA, changed, changes_of
from sim.scenario.model import Change
from sim.trace import ConfigChanged

if TYPE_CHECKING:
    from sim.world.context import World
    from sim.world.producers import Producers


class Changing:
    """The changes of a scenario, each at its time.

    A broker that is down at that time has the new settings when it is back; what its cleaner has
    compacted before stays as it is.
    """

    def __init__(self, world: World, producers: Producers) -> None:
        """They start with `start`."""
        self._world = world
        self._producers = producers

    def start(self) -> None:
        """Make the changes at 0 now, and wait for the times of the others."""
        for change in changes_of(self._world.scenario):
            if change.at_ms <= 0:
                self._make(change)
            else:
                self._world.clock.after(change.at_ms, self._make, change)

    def _make(self, change: Change) -> None:
        world = self._world
        if change.replica is not None:
            settings = tuple((name, str(value)) for name, value in change.settings)
            for node in world.nodes.values():
                if change.replica in (EVERY_REPLICA, node.name):
                    node.rules = changed(node.rules, change)
                    world.tell([ConfigChanged(node.name, settings)])
        if change.producer is not None:
            value = "true" if change.versions else "false"
            for name in self._producers.roll_out(change.producer, versions=change.versions):
                world.tell([ConfigChanged(name, (("versions", value),))])
