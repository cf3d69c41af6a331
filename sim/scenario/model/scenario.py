"""A scenario: everything a run of the timed world depends on, as immutable data.

These are plain dataclasses so that generating thousands of them costs little; files are validated
with the bounds their annotations state (see `sim.scenario.file.load`). All times are integer ms of
simulated time, all offsets and sizes integers. Workload and faults are fixed lists: they cannot
depend on the rules, so that every rule set meets the same weather.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, Lt, MinLen

from sim.log.versions import Versions
from sim.replication.recovering import NONE_OLD, OldFiles
from sim.rules import Rules
from sim.rules.rules import RuleValue
from sim.scenario.model.rollouts import FlagRollout, Rollout
from sim.scenario.model.snapshots import SnapshotSettings

Milliseconds = Annotated[int, Ge(0)]
Period = Annotated[int, Ge(1)]
"""A time in ms between repetitions; 0 would repeat for ever at one instant."""
Count = Annotated[int, Ge(0)]
Name = Annotated[str, MinLen(1)]
Share = Annotated[float, Ge(0), Le(1)]
Loss = Annotated[float, Ge(0), Lt(1)]
"""Probability that a message is lost; a link that loses everything is a partition."""


@dataclass(frozen=True, slots=True)
class Topic:
    """Topic settings under Kafka's own names with dots turned into underscores.

    `max_compaction_lag_ms` None = no bound; `segment_ms` None = never by time.
    `dedupe_buffer_bytes` is the memory of one cleaner's offset map, used up to
    `dedupe_load_factor`; None = as much as it takes. `producer_expiration_ms`: a producer that is
    silent for so long is forgotten; None = never. `timestamp_difference_max_ms`: a record whose
    timestamp is farther from the leader's clock is refused; None = none is.
    `max_message_bytes`: a batch that cleaning makes larger is counted; None = no limit.
    `deletes`: `cleanup.policy` is `compact,delete`, and segments older than `retention_ms` or
    beyond `retention_bytes` go; None = no bound. `compacts` false: it is `delete` alone, so that a
    tombstone is a record like any other. `replica_fetch_max_bytes`: most bytes a follower copies at
    once; None = all there is. `flush_messages`, `flush_ms`: when a replica flushes its log if the
    rule `flush` is `interval`; None = not for that reason.
    """

    segment_bytes: Annotated[int, Ge(1)] = 2048
    segment_ms: Period | None = 1000
    min_cleanable_dirty_ratio: Share = 0.3
    min_compaction_lag_ms: Milliseconds = 0
    max_compaction_lag_ms: Period | None = None
    dedupe_buffer_bytes: Annotated[int, Ge(1)] | None = None
    dedupe_load_factor: Share = 0.9
    producer_expiration_ms: Period | None = None
    timestamp_difference_max_ms: Milliseconds | None = None
    max_message_bytes: Annotated[int, Ge(1)] | None = None
    deletes: bool = False
    compacts: bool = True
    retention_ms: Milliseconds | None = None
    retention_bytes: Annotated[int, Ge(0)] | None = None
    replica_fetch_max_bytes: Annotated[int, Ge(1)] | None = None
    flush_messages: Annotated[int, Ge(1)] | None = None
    flush_ms: Period | None = None


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """One replica: its name, its clock and its cleaner.

    `clock_skew_ms` is added to simulated time to give the replica's own clock;
    `cleaner_backoff_ms` is the pause between two looks at its log (`log.cleaner.backoff.ms`);
    None = it never cleans by itself. `tombstone_mark` is what its software takes for a tombstone
    when it cleans, whatever the rules say; None = as the rules say. `versions` are its software,
    protocol and message format during KIP-87's upgrade; None = the scenario is not about them.
    """

    name: Name
    clock_skew_ms: int = 0
    cleaner_backoff_ms: Period | None = 500
    tombstone_mark: Literal["null_value", "flag", "magic"] | None = None
    versions: Versions | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An exception for one direction between two replicas."""

    source: Name
    target: Name
    latency_ms: tuple[Milliseconds, Milliseconds]
    loss: Loss = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """Latency drawn uniformly from `latency_ms` (inclusive), and loss per message."""

    latency_ms: tuple[Milliseconds, Milliseconds] = (1, 5)
    loss: Loss = 0.0
    links: tuple[Link, ...] = ()


@dataclass(frozen=True, slots=True)
class Timers:
    """Cluster timers in ms.

    `replica_lag_max_ms`: a follower that has not caught up for so long leaves the in-sync set.
    `fetch_wait_ms`: a leader holds an empty fetch so long. `fetch_retry_ms`: pause after a failed
    or unanswered fetch. `election_timeout_ms`: no word from a leader for so long starts an
    election (range, drawn per replica). `snapshot_interval_ms`: None = no snapshots.
    `coordination_interval_ms`: how often the leader collects and hands out removal bounds.
    `snapshot_cleaning_ms`: how often replicas look for old snapshots; `load_us_per_record`: a state
    machine that is loaded takes so many microseconds for each record.
    """

    replica_lag_max_ms: Period = 600
    fetch_wait_ms: Period = 500
    fetch_retry_ms: Period = 100
    election_timeout_ms: tuple[Period, Period] = (300, 600)
    snapshot_interval_ms: Period | None = None
    coordination_interval_ms: Period = 500
    snapshot_cleaning_ms: Period = 1_000
    load_us_per_record: Count = 0


class Send(NamedTuple):
    """A producer decides to write one record; it arrives later, perhaps twice, perhaps never.

    `value` None = delete. `version` is the value of the version header, None = no header.
    `transaction` numbers the producer's transactions from 1; 0 = not transactional. `flag` is the
    tombstone attribute of KIP-87; None = set on what deletes, where the rules have it at all. (A
    tuple rather than a dataclass: a third of the time to make, and there are many.)
    """

    at_ms: int
    producer: int
    key: str
    value: str | None
    timestamp_ms: int
    version: int | None = None
    transaction: int = 0
    flag: bool | None = None


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """A producer asks to commit or abort its transaction, after what it sent until `at_ms`."""

    at_ms: Milliseconds
    producer: Count
    transaction: Annotated[int, Ge(1)]
    commit: bool


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A workload from a file of real changes (see `replog trace`).

    `path` is opened as it is; in a scenario file it is relative to that file. `batch_records`
    changes go into one batch, one batch every `interval_ms`; `limit` stops after so many changes,
    None = all.
    """

    path: Name
    batch_records: Annotated[int, Ge(1)] = 100
    interval_ms: Period = 5
    limit: Annotated[int, Ge(1)] | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """What producers write.

    `retry_ms`: a producer that got no answer sends again after so long, `retries` times at most.
    `idempotent`: the leader recognises a retry and does not append it twice. `acks`: a producer is
    told when its batch is committed (`all`), or as soon as the leader has it (`1`).
    """

    sends: tuple[Send, ...] = ()
    ends: tuple[EndTransaction, ...] = ()
    trace: TraceSource | None = None
    retry_ms: Period = 200
    retries: Count = 3
    idempotent: bool = True
    acks: Literal["all", "1"] = "all"


@dataclass(frozen=True, slots=True)
class Consumer:
    """A reader that builds a table; `max_batches` per poll makes it lag. It reads the leader.

    `replica` ties it to one replica instead. `pauses` are (from, to) ms in which it does not poll.
    `format` is its fetch version (KIP-87): 3 knows the tombstone flag, 2 does not, so replicas that
    know it send deletes without their values; None = the scenario is not about it. `deletes_by` is
    what a version 3 consumer takes for a delete; to version 2 that is always the null value.
    It begins at `starts_ms`; `isolation` is its `isolation.level`. With `until` it asks for the end
    offset first and stops when it has everything, by its position, by the offset of its last record
    plus one, or by the number of its records; None = it never stops.
    """

    name: Name
    poll_ms: Period = 100
    max_batches: Annotated[int, Ge(1)] | None = None
    replica: Name | None = None
    pauses: tuple[tuple[Milliseconds, Milliseconds], ...] = ()
    format: Literal[2, 3] | None = None
    deletes_by: Literal["flag", "null_value"] = "flag"
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    until: Literal["position", "last_offset", "count"] | None = None
    starts_ms: Milliseconds = 0


class FaultKind(StrEnum):
    """What the world can do to a cluster.

    `crash`: down for the duration. `wipe`: down for the duration, back with an empty log.
    `partition`: the target and all others hear nothing of each other. `one_way_partition`: what the
    target sends is lost, it hears the others. `slow_fetcher`, `slow_cleaner`: the target fetches
    or cleans far more slowly. `migrate`: leadership goes to the target if it may lead; with target
    `leader` to such a follower, with majorities as `successors` says (`named`: it names nobody and
    stays). `unclean_migrate`: the same, in sync or not.
    `add_replica`: a replica of that name, with an empty log, joins. `remove_replica`: the target,
    up or down, leaves for good, if the others can do without it and it does not lead. `roll`: the
    target starts an empty active segment, as manual rolls and retention do.
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
    REMOVE_REPLICA = "remove_replica"


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    `target` is a replica's name, `leader`, or `follower` (the first live one by name order from
    `pick` on). `duration_ms` is how long it lasts; 0 = a moment. `lose_batches`: a crash loses so
    many unflushed batches; with `power_loss` all that was not flushed, as the rule `flush` says.
    `during`: a crash waits for that moment of the target's next cleaning pass
    (`sim.replication.interrupting`) or, `install`, for its next snapshot. `peers`: a partition
    cuts the target off from these only; empty = all.
    """

    at_ms: Milliseconds
    kind: FaultKind
    target: Name
    duration_ms: Milliseconds = 0
    pick: Count = 0
    lose_batches: Count = 0
    peers: tuple[Name, ...] = ()
    power_loss: bool = False
    during: Literal["cleaning", "swap", "checkpoint", "install"] | None = None


@dataclass(frozen=True, slots=True)
class CrashWithOldFiles(Fault):
    """A crash after which `files` beside the log are older than it, as their writes were lost."""

    files: OldFiles = NONE_OLD


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that changes during the run, when it reaches one broker or one client.

    `replica` and `producer` name whom it reaches, `all` and 0 everybody, None nobody of the kind;
    `consumer` names one. `settings` are rules of the cleaner and versions of the broker with their
    new values; `versions` tells whether the producer sends version headers from then on, None = as
    before; `format` is the client's version from then on (KIP-87), None = as before.
    """

    at_ms: Milliseconds
    replica: Name | None = None
    settings: tuple[tuple[str, RuleValue], ...] = ()
    producer: Count | None = None
    versions: bool | None = True
    consumer: Name | None = None
    format: Literal[2, 3] | None = None


@dataclass(frozen=True, slots=True)
class Expect:
    """What the run is expected to show.

    `violated`: exactly these invariants, among `checked` (None = all safety invariants).
    `reached`: situations that have to occur; without them the run proves nothing. `unreached`:
    situations that must not occur.
    """

    violated: tuple[str, ...] = ()
    checked: tuple[str, ...] | None = None
    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run; reaching one makes it inconclusive."""

    max_events: Annotated[int, Gt(0)] = 200_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything a run depends on, the rules included.

    `last_rounds`: so often, when the cluster is at rest, every log is rolled and cleaned and the
    delete retention passes, before the end is judged.
    """

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
    changes: tuple[Change, ...] = ()
    rollout: Rollout | None = None
    flag_rollout: FlagRollout | None = None
    snapshots: SnapshotSettings = field(default_factory=SnapshotSettings)
    last_rounds: Count = 0
    expect: Expect = field(default_factory=Expect)
    limits: Limits = field(default_factory=Limits)

    def with_rules(self, rules: Rules) -> Scenario:
        """The same weather under other rules."""
        return replace(self, rules=rules)
