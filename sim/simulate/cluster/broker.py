"""The state, settings and clock of one replica, which its parts share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from simpy.events import ProcessGenerator

from sim.protocol.events import Event
from sim.protocol.log import Log
from sim.protocol.log.formats import OLD, VERSION_SETTINGS, Versions
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.waiting import ProcessGroup
from sim.simulate.scenario.model import ReplicaSpec

Settings = tuple[Rules, Versions | None]
"""What may change while a replica runs."""


class Membership(ABC):
    """A replica's part in elections: with a controller (commit: isr), or among voters.

    Each kind of elections overrides what it needs.
    """

    @abstractmethod
    def restarted(self) -> None:
        """Goes on after a crash."""

    def rebuilt(self, log_end_offset: int) -> None:
        """Notes that the log begins anew; it ended at that offset (exclusive) before."""

    def fetched(self, follower: str) -> None:
        """Acts on the position of a follower that the replica, a leader, has recorded."""

    def before_commit(self) -> None:
        """Prepares the replica, a leader, for working out how far its log is committed."""

    def heard_epoch(self, epoch: int) -> None:
        """Acts on the higher epoch of a follower that the replica, a leader, has met."""


class Broker(ABC):
    """One replica as its parts see it.

    Attributes:
        context: Shared services of the cluster.
        env: SimPy's, with simulated time; the replica's own clock is `now_ms`.
        network: The network that it sends messages on.
        spec: Its settings in the scenario.
        skew_ms: How far its own clock is ahead of simulated time.
        name: What it is called, which is its address.
        rules: Its rules: the cluster's, but for the tombstones that its own software knows, and
            for settings that have changed since the start.
        versions: Its software, protocol and message format (KIP-87); None without them.
        replica: Its state; up or down, its disk is here.
        incarnation: Number of times that it has started (a broker epoch).
        heard_ms: When it last heard from a leader, or voted for one.
        crash_in_pass: The moment of its next cleaning pass at which it is to crash, or the number
            of an operation on files; None without a crash.
        crash_at_install: Whether it is to crash before it installs its next snapshot.
        processes: Its processes while it is up; a crash interrupts them.
        background_processes: Its background work, as leader and as follower.
        membership: Its part in elections.
    """

    membership: Membership

    def __init__(self, context: Context, spec: ReplicaSpec) -> None:
        """Starts with an empty disk, up, and without a leader."""
        self.context = context
        self.env = context.env
        self.network = context.network
        self.spec = spec
        self.skew_ms = spec.clock_skew_ms
        self.name = spec.name
        mark = spec.tombstone_mark
        rules = (
            context.rules if mark is None else context.rules.with_values({"tombstone_mark": mark})
        )
        self.configure((rules, spec.versions))
        self.replica = Replica(spec.name, Log(context.log_config))
        self.incarnation = 1
        self.heard_ms = 0
        self.crash_in_pass: str | int | None = None
        self.crash_at_install = False
        self.processes = ProcessGroup(context.env)
        self.background_processes = ProcessGroup(context.env)

    @property
    def now_ms(self) -> int:
        """The replica's own clock in ms."""
        return self.env.now + self.skew_ms  # type: ignore[return-value]

    @property
    def settings(self) -> Settings:
        """Its rules and versions as they are set, known to its software or not."""
        return self._settings, self.versions

    def own_settings(self) -> tuple[tuple[str, str], ...]:
        """The rules unlike those of the scenario, and its versions, as names and texts."""
        found: dict[str, object] = {**self._settings.differing_from(self.context.rules)}
        if self.versions is not None:
            found |= {
                name: value
                for name, value in zip(VERSION_SETTINGS, self.versions, strict=True)
                if value is not None
            }
        return tuple([(name, str(value)) for name, value in found.items()])

    def configure(self, settings: Settings) -> None:
        """Takes over settings; software that does not know the flag cleans by the null value."""
        self._settings, self.versions = settings
        old = self.versions is not None and self.versions.software == OLD
        rules = self._settings
        self.rules = rules.with_values({"tombstone_mark": "null_value"}) if old else rules

    def start_regularly(self, act: Callable[[], None], every_ms: int, index: int, of: int) -> None:
        """Begins to do something again and again; replica `index` of `of` out of step with others.

        It goes on while the replica is down, in the same rhythm, until it leaves.
        """

        def regularly() -> ProcessGenerator:
            yield self.env.timeout(max(1, every_ms * (index + 1) // of))
            while True:
                act()
                yield self.env.timeout(every_ms)

        self.background_processes.start(regularly())

    def send(self, target: str, message: Any) -> None:
        """Sends a message to an address."""
        self.network.send(self.name, target, message)

    @abstractmethod
    def publish(self, events: list[Event]) -> None:
        """Emits events that may have moved the log end or the high watermark of a leader."""

    @abstractmethod
    def sees(self, epoch: int) -> None:
        """Learns of an epoch; a leader of an older one stops leading."""

    @abstractmethod
    def high_watermark_moved(self) -> None:
        """Answers those that wait for the high watermark of this replica, which has moved."""
