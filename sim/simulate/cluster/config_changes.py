"""Changes of configuration during a run, which reach brokers and clients one by one."""

from __future__ import annotations

from collections.abc import Sequence

from simpy.events import ProcessGenerator

from sim.protocol.events import ConfigChanged
from sim.protocol.log.formats import FIRST_WITH_FLAG
from sim.protocol.replication.cleaning import write_checkpoint_anew
from sim.simulate.cluster.clients import Timetable
from sim.simulate.cluster.cluster import Cluster
from sim.simulate.cluster.consumer import Consumer
from sim.simulate.scenario.model import EVERY_REPLICA, Change, changed, changes_of


class ConfigChanges:
    """The changes of a scenario, each at its time.

    A broker that is down at that time has the new settings when it is back; records that its
    cleaner has compacted before stay as they are.
    """

    def __init__(
        self, cluster: Cluster, timetable: Timetable, consumers: Sequence[Consumer]
    ) -> None:
        """Starts with all changes ahead; see `start`."""
        self._cluster = cluster
        self._context = cluster.context
        self._timetable = timetable
        self._consumers = {consumer.name: consumer for consumer in consumers}

    def start(self) -> None:
        """Makes the changes at 0 now, and waits for the times of the others.

        First it emits the version of each consumer that does not know the tombstone flag, so that
        the checks expect of it only what that version can see.
        """
        for consumer in self._consumers.values():
            if consumer.client is not None and consumer.client < FIRST_WITH_FLAG:
                own = (("format", str(consumer.client)),)
                self._context.emit(ConfigChanged(consumer.name, own, initial=True))
        for change in changes_of(self._context.scenario):
            if change.at_ms <= 0:
                self._make(change)
            else:
                self._context.env.process(self._make_later(change))

    def _make_later(self, change: Change) -> ProcessGenerator:
        yield self._context.env.timeout(change.at_ms)
        self._make(change)

    def _make(self, change: Change) -> None:
        if change.replica is not None:
            settings = tuple((name, str(value)) for name, value in change.settings)
            for node in self._cluster.nodes.values():
                if change.replica in (EVERY_REPLICA, node.name):
                    before = node.rules.cleaner.tombstone_removal
                    node.configure(changed(*node.settings, change))
                    after = node.rules.cleaner.tombstone_removal
                    if after == "cleaning_checkpoint" and before != after:
                        write_checkpoint_anew(node.replica, now_ms=node.now_ms)
                    self._context.emit(ConfigChanged(node.name, settings))
        names: list[str] = []
        if change.producer is not None:
            names = self._timetable.roll_out(change)
        elif change.consumer is not None and change.format is not None:
            self._consumers[change.consumer].roll_out(change.format)
            names = [change.consumer]
        given = {} if change.format is None else {"format": str(change.format)}
        if change.versions is not None and change.producer is not None:
            given = {"versions": str(change.versions).lower(), **given}
        for name in names:
            self._context.emit(ConfigChanged(name, tuple(given.items())))
