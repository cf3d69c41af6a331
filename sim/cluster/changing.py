"""Configuration that changes during a run reaches brokers and producers one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.scenario.model import Change
from sim.scenario.model.changes import EVERY_REPLICA, changed
from sim.scenario.model.promises import changes_of
from sim.trace import ConfigChanged

if TYPE_CHECKING:
    from sim.cluster.consumers import Consumers
    from sim.cluster.context import World
    from sim.cluster.producers import Producers


class Changing:
    """The changes of a scenario, each at its time.

    A broker that is down at that time has the new settings when it is back; what its cleaner has
    compacted before stays as it is.
    """

    def __init__(self, world: World, producers: Producers, consumers: Consumers) -> None:
        """They start with `start`."""
        self._world = world
        self._producers = producers
        self._consumers = consumers

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
                    node.configure(changed(*node.settings, change))
                    world.tell([ConfigChanged(node.name, settings)])
        if change.producer is not None:
            names = self._producers.roll_out(change)
            self._tell(names, change)
        if change.consumer is not None and change.format is not None:
            self._consumers.roll_out(change.consumer, change.format)
            self._tell([change.consumer], change)

    def _tell(self, names: list[str], change: Change) -> None:
        settings = []
        if change.versions is not None and change.consumer is None:
            settings.append(("versions", "true" if change.versions else "false"))
        if change.format is not None:
            settings.append(("format", str(change.format)))
        self._world.tell([ConfigChanged(name, tuple(settings)) for name in names])
