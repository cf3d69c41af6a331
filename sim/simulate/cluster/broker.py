"""State, settings and clock of one replica, shared by its parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

from simpy.events import ProcessGenerator

from sim.protocol.events import Event
from sim.protocol.log import Log
from sim.protocol.log.formats import OLD, Versions
from sim.protocol.replication.replica import Replica
from sim.protocol.rules import Rules
from sim.simulate.cluster.context import Context
from sim.simulate.cluster.waiting import ProcessGroup
from sim.simulate.scenario.model import ReplicaSpec

Settings = tuple[Rules, Versions | None]
"""The settings that may change while a replica runs: rules, and versions (KIP-87)."""


class PlannedCrash(NamedTuple):
    """A crash that waits for a moment of a replica's work.

    Attributes:
        moment: Moment of a pass, or number of an operation on files in it; `install`: before a
            snapshot is installed.
        happen: Called to make the replica crash, after the events before that moment are emitted.
    """

    moment: str | int
    happen: Callable[[], None]


class Membership:
    """A replica's part in elections: with a controller (commit: isr), or among voters.

    Each kind of elections overrides what it needs.
    """

    def crashed(self) -> None:
        """Forgets what only its memory held."""

    def restarted(self) -> None:
        """Goes on after a crash."""

    def reconnected(self) -> None:
        """Notes that messages of the replica arrive again."""

    def rebuilt(self, log_end_offset: int) -> None:
        """Notes that the log starts again empty.

        The replica may have acknowledged everything below `log_end_offset` (exclusive) before.
        """

    def disk_lost(self, epoch: int) -> None:
        """Notes that the disk, which knew `epoch`, is about to be lost."""

    def fetched(self, follower: str) -> None:
        """Acts on a follower's position, which the replica has recorded as the leader."""

    def before_commit(self) -> None:
        """Prepares the replica, as the leader, for working out how far its log is committed."""

    def heard_epoch(self, epoch: int) -> None:
        """Acts on the higher epoch of a follower that has fetched from the replica, the leader."""


class Broker(ABC):
    """A replica from the point of view of its parts.

    Attributes:
        context: Shared services of the cluster.
        env: SimPy's environment with simulated time; the replica's own clock is `now_ms`.
        network: The network that it sends messages on.
        spec: Its settings in the scenario.
        skew_ms: Lead of its own clock over simulated time in ms.
        name: Its name, which is its address.
        rules: Rules that it follows: the cluster's, with the mark of tombstones that its own
            software knows, and with the settings that have changed since the start.
        versions: Its software, protocol and message format (KIP-87); None in scenarios without
            versions.
        replica: State of the replica, with its disk, whether it is up or down.
        incarnation: Number of its starts so far (a broker epoch).
        heard_ms: Time in ms from which its election timer counts: it heard from a leader, voted for
            a candidate, campaigned, resigned or restarted then.
        crashes: Crashes that faults have planned: in its next cleaning pass (`pass`), or before it
            installs its next snapshot (`install`).
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
        mark, rules = spec.tombstone_mark, context.rules
        own = rules if mark is None else rules.with_values({"tombstone_mark": mark})
        self.configure((own, spec.versions))
        self.replica = Replica(spec.name, Log(context.log_config))
        self.incarnation = 1
        self.heard_ms = 0
        self.crashes: dict[str, PlannedCrash] = {}
        self.processes = ProcessGroup(context.env)
        self.background_processes = ProcessGroup(context.env)

    @property
    def now_ms(self) -> int:
        """The replica's own clock in ms."""
        return self.env.now + self.skew_ms  # type: ignore[return-value]

    @property
    def settings(self) -> Settings:
        """Rules and versions as they are set, whether or not its software knows the flag."""
        return self._settings, self.versions

    def own_settings(self) -> tuple[tuple[str, str], ...]:
        """Names and values of the rules that differ from the scenario's, and of its versions."""
        versions = {} if self.versions is None else self.versions.given
        found = {**self._settings.differing_from(self.context.rules), **versions}
        return tuple([(name, str(value)) for name, value in found.items()])

    def configure(self, settings: Settings) -> None:
        """Takes over settings; software that does not know the flag cleans by the null value."""
        self._settings, self.versions = settings
        old = self.versions is not None and self.versions.software == OLD
        rules = self._settings
        self.rules = rules.with_values({"tombstone_mark": "null_value"}) if old else rules

    def start_regularly(self, act: Callable[[], None], every_ms: int, index: int, of: int) -> None:
        """Repeats an action at an interval; replica `index` of `of` is out of step with the others.

        The rhythm is kept while the replica is down, and ends when the replica leaves.
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
    def high_watermark_moved(self) -> None:
        """Answers those that wait for the high watermark of this replica, which has moved."""
