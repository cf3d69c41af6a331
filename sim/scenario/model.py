"""A scenario: everything a run of the timed world depends on, as immutable data.

These are plain dataclasses so that generating thousands of them costs little; files are validated
against the same classes (see `sim.scenario.load`). All times are integer ms of simulated time,
all offsets and sizes integers. Workload and faults are fixed lists: they cannot depend on the
rules, so that every rule set meets the same weather.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from sim.replication import Rules


@dataclass(frozen=True, slots=True)
class Topic:
    """Topic settings under Kafka's own names with dots turned into underscores.

    `max_compaction_lag_ms` None = no bound; `segment_ms` None = never by time.
    """

    segment_bytes: int = 2048
    segment_ms: int | None = 1000
    min_cleanable_dirty_ratio: float = 0.3
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """One replica: its name, its clock and its cleaner.

    `clock_skew_ms` is added to simulated time to give the replica's own clock;
    `cleaner_backoff_ms` is the pause between two looks at its log (`log.cleaner.backoff.ms`);
    None = it never cleans by itself.
    """

    name: str
    clock_skew_ms: int = 0
    cleaner_backoff_ms: int | None = 500


@dataclass(frozen=True, slots=True)
class Link:
    """An exception for one direction between two replicas."""

    source: str
    target: str
    latency_ms: tuple[int, int]
    loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """Latency drawn uniformly from `latency_ms` (inclusive), and loss per message."""

    latency_ms: tuple[int, int] = (1, 5)
    loss: float = 0.0
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Timers:
    """Cluster timers in ms.

    `replica_lag_max_ms`: a follower that has not caught up for so long leaves the in-sync set.
    `fetch_wait_ms`: a leader holds an empty fetch so long. `fetch_retry_ms`: pause after a failed
    or unanswered fetch. `election_timeout_ms`: no word from a leader for so long starts an
    election (range, drawn per replica). `snapshot_interval_ms`: None = no snapshots.
    `coordination_interval_ms`: how often the leader collects and hands out removal bounds.
    """

    replica_lag_max_ms: int = 600
    fetch_wait_ms: int = 500
    fetch_retry_ms: int = 100
    election_timeout_ms: tuple[int, int] = (300, 600)
    snapshot_interval_ms: int | None = None
    coordination_interval_ms: int = 500


@dataclass(frozen=True, slots=True)
class Send:
    """A producer decides to write one record; it arrives later, perhaps twice, perhaps never.

    `value` None = delete. `version` is the value of the version header, None = no header.
    `transaction` numbers the producer's transactions from 1; 0 = not transactional.
    """

    at_ms: int
    producer: int
    key: str
    value: str | None
    timestamp_ms: int
    version: int | None = None
    transaction: int = 0


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """A producer asks to commit or abort its transaction."""

    at_ms: int
    producer: int
    transaction: int
    commit: bool


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A workload from a file of real changes (see `replog trace`).

    `path` is relative to the scenario file; `batch_records` changes go into one batch,
    one batch every `interval_ms`; `limit` stops after so many changes, None = all.
    """

    path: str
    batch_records: int = 100
    interval_ms: int = 5
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """What producers write.

    `retry_ms`: a producer that got no answer sends again after so long, `retries` times at most.
    `idempotent`: the leader recognises a retry and does not append it twice.
    """

    sends: tuple[Send, ...] = ()
    ends: tuple[EndTransaction, ...] = ()
    trace: TraceSource | None = None
    retry_ms: int = 200
    retries: int = 3
    idempotent: bool = True


@dataclass(frozen=True, slots=True)
class Consumer:
    """A reader that builds a table; `max_batches` per poll makes it lag. It reads the leader.

    `replica` ties it to one replica instead. `pauses` are (from, to) ms in which it does not poll.
    """

    name: str
    poll_ms: int = 100
    max_batches: int | None = None
    replica: str | None = None
    pauses: tuple[tuple[int, int], ...] = ()


class FaultKind(StrEnum):
    """What the world can do to a cluster.

    `roll` starts a new, empty active segment, as manual rolls and retention do; `one_way_partition`
    cuts what the target receives and leaves what it sends.
    """

    CRASH = "crash"
    WIPE = "wipe"
    PARTITION = "partition"
    ONE_WAY_PARTITION = "one_way_partition"
    SLOW_FETCHER = "slow_fetcher"
    SLOW_CLEANER = "slow_cleaner"
    MIGRATE = "migrate"
    UNCLEAN_MIGRATE = "unclean_migrate"
    ADD_REPLICA = "add_replica"
    ROLL = "roll"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    `target` is a replica's name, `leader`, or `follower` (the first live one by name order from
    `pick` on). `duration_ms` is how long it lasts; 0 = a moment. `lose_batches`: a crash loses so
    many unflushed batches.
    """

    at_ms: int
    kind: FaultKind
    target: str
    duration_ms: int = 0
    pick: int = 0
    lose_batches: int = 0


@dataclass(frozen=True, slots=True)
class Expect:
    """What the run is expected to show.

    `violated`: exactly these invariants, among `checked` (None = all safety invariants).
    `reached`: situations that have to occur; without them the run proves nothing.
    """

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None
    reached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run; reaching one makes it inconclusive."""

    max_events: int = 200_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything a run depends on, the rules included."""

    id: str
    title: str = ""
    source: str = ""
    seed: int = 0
    duration_ms: int = 10_000
    rules: Rules = field(default_factory=Rules)
    topic: Topic = field(default_factory=Topic)
    replicas: tuple[ReplicaSpec, ...] = (ReplicaSpec("r1"), ReplicaSpec("r2"), ReplicaSpec("r3"))
    network: Network = field(default_factory=Network)
    timers: Timers = field(default_factory=Timers)
    workload: Workload = field(default_factory=Workload)
    consumers: tuple[Consumer, ...] = (Consumer("c1"),)
    faults: tuple[Fault, ...] = ()
    expect: Expect = field(default_factory=Expect)
    limits: Limits = field(default_factory=Limits)

    def with_rules(self, rules: Rules) -> Scenario:
        """The same weather under other rules."""
        return replace(self, rules=rules)
