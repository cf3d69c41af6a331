"""What everybody in one simulated cluster shares, and what a run returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING, Protocol

from sim.cluster.clock import Clock
from sim.cluster.network import Network
from sim.log import LogConfig
from sim.replication.replica import log_config
from sim.replication.retention import Retention
from sim.scenario.model import ReplicaSpec, Scenario
from sim.trace import Event, ReplicaAdded, ReplicaRemoved

if TYPE_CHECKING:
    from sim.cluster.node import Node


@dataclass(slots=True)
class Counts:
    """What no event tells.

    Attributes:
        faults: Faults that did something.
        sends_acknowledged: Batches and markers that their producer knows to be committed.
        sends_given_up: Batches whose producer ran out of retries (they may be in the log), or that
            were never sent before the end.
        repeats_recognised: Retries of idempotent producers that were not appended again.
        not_enough_replicas: Times a leader refused a batch since too few replicas were in sync.
    """

    faults: int = 0
    sends_acknowledged: int = 0
    sends_given_up: int = 0
    repeats_recognised: int = 0
    not_enough_replicas: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a simulation ended.

    Attributes:
        inconclusive: Why it could not be brought to rest; None when it was.
        simulator_events: Events the simulator went through.
        ended_ms: Simulated time at the end.
        messages_sent: Messages between replicas, and between replicas and the controller.
        messages_lost: Those of them that did not arrive.
        counts: What happened to clients and faults.
    """

    inconclusive: str | None
    simulator_events: int
    ended_ms: int
    messages_sent: int
    messages_lost: int
    counts: Counts


class Elections(Protocol):
    """Who makes leaders: a controller (commit: isr) or the voters themselves (majority)."""

    def start(self) -> None:
        """Bring about the first leader."""

    def added(self, node: Node) -> None:
        """A replica joined."""

    def crashed(self, node: Node) -> None:
        """A replica went down."""

    def restarted(self, node: Node) -> None:
        """A replica is back."""

    def wiped(self, node: Node) -> None:
        """A replica lost its disk."""

    def cut_off(self, node: Node) -> None:
        """Some of what a replica sends does not get through any more."""

    def reconnected(self, node: Node) -> None:
        """A replica can talk again."""

    def migrate(self, node: Node, *, unclean: bool) -> bool:
        """Somebody asks for `node` to lead; False when that is not possible now."""

    def may_wipe(self, node: Node) -> bool:
        """Whether the disk of `node` may be lost without losing what is promised."""

    def may_remove(self, node: Node) -> bool:
        """Whether the others can do without `node` and its disk, for good."""

    def removed(self, node: Node) -> None:
        """A replica has left for good."""

    def fetched(self, leader: Node, follower: str) -> None:
        """A leader noted the position of a follower that is not in its in-sync set."""

    def heard_epoch(self, node: Node, epoch: int) -> None:
        """A leader met a follower with a higher epoch."""


class World:
    """One simulated cluster.

    Attributes:
        scenario: What is simulated.
        rules: Its rules.
        clock: Simulated time.
        network: Links between the nodes.
        nodes: The replicas by name, in the order in which they joined.
        log_config: When logs roll.
        retention: What a `compact,delete` topic keeps; None = nothing is deleted by age or size.
        elections: Who makes leaders.
        leader: (epoch, name) of the newest leader; what clients learn when they ask.
        committed: Highest high watermark any leader ever had; for faults that must know it.
        counts: See `Counts`.
    """

    __slots__ = (
        "_emit",
        "_uid",
        "clock",
        "committed",
        "counts",
        "elections",
        "leader",
        "log_config",
        "network",
        "nodes",
        "retention",
        "rules",
        "scenario",
    )

    elections: Elections

    def __init__(self, scenario: Scenario, emit: Callable[[int, Event], None]) -> None:
        """A world without replicas."""
        self.scenario = scenario
        self.rules = scenario.rules
        self.clock = Clock(limit=scenario.limits.max_events)
        self.network = Network(self.clock, scenario.network, self.random)
        self.nodes: dict[str, Node] = {}
        topic = scenario.topic
        bounds = [ms for ms in (topic.segment_ms, topic.max_compaction_lag_ms) if ms is not None]
        self.log_config = log_config(
            self.rules,
            LogConfig(
                topic.segment_bytes,
                min(bounds, default=None),
                aligned=True,
                flush_messages=topic.flush_messages
                if self.rules.storage.flush == "interval"
                else None,
            ),
        )
        self.retention = (
            Retention(topic.retention_ms, topic.retention_bytes) if topic.deletes else None
        )
        self.leader: tuple[int, str] | None = None
        self.committed = 0
        self.counts = Counts()
        self._emit = emit
        self._uid = 0

    def random(self, purpose: str) -> Random:
        """The stream of randomness for one purpose; it depends on nothing else but the seed."""
        text = f"{self.scenario.seed}:{purpose}".encode()
        return Random(int.from_bytes(blake2b(text, digest_size=8).digest(), "big"))

    def take_uid(self) -> int:
        """An identity for one more appended record; they start at 1."""
        self._uid += 1
        return self._uid

    def tell(self, events: Iterable[Event]) -> None:
        """Let events out of the world, in order."""
        emit, now_ms = self._emit, self.clock.now_ms
        for event in events:
            emit(now_ms, event)

    def add(self, node: Node) -> None:
        """Take in a new replica."""
        self.nodes[node.name] = node
        self.network.add(node.name)
        self.tell([ReplicaAdded(node.name)])

    def remove(self, node: Node) -> None:
        """Let a replica go for good; what is on its way to or from it does not arrive."""
        del self.nodes[node.name]
        self.network.remove(node.name)
        self.tell([ReplicaRemoved(node.name)])

    def leading(self) -> Node | None:
        """The newest leader if it is up and still leads."""
        if self.leader is None:
            return None
        node = self.nodes[self.leader[1]]
        return node if node.desk is not None else None

    def spec_for(self, name: str) -> ReplicaSpec:
        """The settings of a replica that is added later: those of the first one, without skew."""
        return replace(self.scenario.replicas[0], name=name, clock_skew_ms=0)
