"""Settings and services that the parts of one simulated cluster share.

Some knowledge takes no time and no message here, although it would in a real cluster:

* `Context.leader`: clients read it where they would ask for metadata (MetadataRequest).
* `Context.instances`, `Context.producer_epochs`, `Context.under_way`: state of the transaction
  coordinator (InitProducerId, AddPartitionsToTxn, EndTxn).
* `Context.next_uid`: identities of records, by which the checks recognise copies of one record.
* `Context.committed`: faults read it, so as not to break the contract of the protocol.
* `Context.replicas`: the state of all replicas, which three rules read and no message carries:
  `tombstone_removal` (`leo_gated`, `coordinated`), `prefix_gate`, `lost_disk_report`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import Any

from simpy import Environment

from sim.protocol.events import Event
from sim.protocol.log import LogConfig
from sim.protocol.replication.cleaning import Retention
from sim.protocol.replication.replica import Replica, log_config
from sim.simulate.cluster.network import Network
from sim.simulate.scenario.model import Scenario


@dataclass(frozen=True, slots=True)
class Spent:
    """Events and messages of a simulation until a moment.

    Attributes:
        at_ms: The moment, in simulated ms.
        simulator_events: Number of events that the simulator has processed.
        messages_sent: Number of messages between replicas, and between replicas and the controller.
        messages_lost: Number of these that did not arrive.
    """

    at_ms: int
    simulator_events: int
    messages_sent: int
    messages_lost: int


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The end of a simulation.

    Attributes:
        inconclusive: Why the cluster could not be brought to rest; None when it was.
        spent: Events and messages of the whole simulation, coming to rest included.
    """

    inconclusive: str | None
    spent: Spent


class Context:
    """Settings and services that all parts of one simulated cluster share.

    Attributes:
        scenario: The scenario that is simulated.
        rules: Its rules.
        env: SimPy's environment, whose time is in whole ms.
        network: Links between the addresses.
        fetch_timeout_ms: Time in ms after which a fetch has failed without an answer.
        log_config: Settings of every log: when it rolls, and when it is flushed.
        retention: Limits of a topic whose cleanup policy has `delete`; None for other topics.
        leader: (epoch, name) of the newest leader; None before the first.
        committed: Highest high watermark (exclusive) that any leader has had.
        instances: Newest instance of each producer by its id; 0 where there was no later one.
        under_way: Id of each producer whose newest transaction has not ended for the coordinator
            -> its epoch in that transaction.
        producer_epochs: Id of a transactional producer -> its newest epoch, if that is not 0.
        next_uid: Identity of the next record that is appended; they start at 1.
        settling: The stage of settling, in words, after the end of a run; empty before.
        replicas: State of each replica by its name, up or not, in the order of joining.
    """

    def __init__(self, scenario: Scenario, record: Callable[[int, Iterable[Event]], None]) -> None:
        """Starts at 0 ms; `record` is called as `record(at_ms, events)`."""
        self.scenario = scenario
        self._seed = scenario.seed
        self._streams: list[tuple[str, Random]] = []
        self.rules = scenario.rules
        self.env = Environment()
        self.network = Network(self.env, scenario.network, self.random, scenario.late_messages)
        timers, topic = scenario.timers, scenario.topic
        longest_ms = timers.fetch_wait_ms + 2 * self.network.slowest_ms
        self.fetch_timeout_ms = longest_ms + timers.fetch_retry_ms
        lag_ms = topic.max_compaction_lag_ms if topic.compacts else None  # LogConfig.maxSegmentMs
        bounds = [ms for ms in (topic.segment_ms, lag_ms) if ms is not None]
        flushes = self.rules.storage.flush == "interval"
        by_time = topic.min_compaction_lag_ms or topic.retention_ms is not None
        config = LogConfig(
            topic.segment_bytes,
            min(bounds, default=None),
            aligned=True,
            flush_messages=topic.flush_messages if flushes else None,
            time_index_bytes=self.rules.topic.index_interval_bytes if by_time else None,
        )
        self.log_config = log_config(self.rules, config)
        self.retention = (
            Retention(topic.retention_ms, topic.retention_bytes) if topic.deletes else None
        )
        self.leader: tuple[int, str] | None = None
        self.committed = 0
        self.instances = defaultdict[int, int](int)
        self.under_way: dict[int, int] = {}
        self.producer_epochs: dict[int, int] = {}
        self.settling = ""
        self._record: Callable[[Any, Iterable[Event]], None] = record
        self.next_uid = 1
        self.replicas: dict[str, Replica] = {}

    @property
    def now_ms(self) -> int:
        """Simulated time in ms, a whole number, since all delays are."""
        return self.env.now  # type: ignore[return-value]

    def random(self, purpose: str) -> Random:
        """The random stream for one purpose, which depends on the purpose and the seed alone."""
        stream = Random(self._seed_for(purpose))
        self._streams.append((purpose, stream))
        return stream

    def draw_anew(self, seed: int) -> None:
        """Sets all streams to those of another seed."""
        self._seed = seed
        for purpose, stream in self._streams:
            stream.seed(self._seed_for(purpose))

    def _seed_for(self, purpose: str) -> int:
        text = f"{self._seed}:{purpose}".encode()
        return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")

    def take_uid(self) -> int:
        """Takes the identity of the next appended record; they start at 1."""
        self.next_uid += 1
        return self.next_uid - 1

    def emit(self, event: Event) -> None:
        """Emits one event of the cluster."""
        self._record(self.env.now, (event,))

    def emit_all(self, events: Iterable[Event]) -> None:
        """Emits events of the cluster, in order."""
        self._record(self.env.now, events)
