"""The data of a scenario: everything a simulated run depends on, as immutable values.

These are plain dataclasses so that generating thousands of them costs little; files are validated
with the bounds their annotations state (see `sim.simulate.scenario.file.load`). All times are
integer ms of simulated time, all offsets and sizes integers. Workload and faults are fixed lists:
they cannot depend on the rules, so that every rule set meets the same environment.

The promise of a topic whose settings change is that of its newest settings, whichever replica they
reached last: state is judged at rest, by the newest strategy over everything that was ever written.
KIP-280 says of a change only that what was compacted stays as it is, so on the way there a record
may be missing if a record beats it under any strategy that was in force on some replica. A loss
that the older strategy allowed and the newest does not excuse is what migrations are checked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge, Gt

from sim.files.bounds import (
    BatchRecords,
    Changes,
    Count,
    LatencyRange,
    Loss,
    Milliseconds,
    Name,
    NoBound,
    Period,
    PeriodRange,
    Rounds,
    Setting,
    SettingFromOne,
    Share,
    Size,
    Skew,
    Transaction,
    Within,
)
from sim.files.limits import EVENTS, LOAD, PHASES
from sim.protocol.log.formats import VERSION_SETTINGS, Versions
from sim.protocol.rules.rules import Rules, RuleValue
from sim.simulate.faults.fault import Fault
from sim.simulate.scenario.runnable import Expectation, Runnable


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
    clock_skew_ms: Skew = 0
    cleaner_backoff_ms: Period | None = 500
    tombstone_mark: Literal["null_value", "flag", "magic"] | None = None
    versions: Versions | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """An exception for one direction between two replicas."""

    source: Name
    target: Name
    latency_ms: LatencyRange
    loss: Loss = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """Latency drawn uniformly from `latency_ms` (inclusive), and loss per message."""

    latency_ms: LatencyRange = (1, 5)
    loss: Loss = 0.0
    links: Annotated[tuple[Link, ...], Within(PHASES)] = ()


@dataclass(frozen=True, slots=True)
class LateMessages:
    """Requests and answers between replicas, and of clients, that come late or again.

    Who waits for an answer closes the connection when its patience is over, and asks again on
    another; what it had sent may be read and acted on after what it sends then. `late`: share of
    the messages that take so much longer. `repeated`: share of them that arrive a second time.
    `later_ms`: by how much, in ms, from and to (inclusive), as likely to be short as long. When the
    faults end, all connections are closed: what is still on its way then does not arrive.
    """

    late: Loss = 0.0
    repeated: Share = 0.0
    later_ms: LatencyRange = (20, 3_000)


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
    election_timeout_ms: PeriodRange = (300, 600)
    snapshot_interval_ms: Period | None = None
    coordination_interval_ms: Period = 500
    snapshot_cleaning_ms: Period = 1_000
    load_us_per_record: Annotated[int, Ge(0), Within(LOAD)] = 0


class InKafka(NamedTuple):
    """Under which names of Kafka's a file gives a setting.

    Attributes:
        broker: The broker's setting, a topic's default; empty = topics alone have it.
        topic: The topic's; None = that of the field, with dots; empty = brokers alone have it.
        takes: What a file may say; None = what the field may be.
    """

    broker: str = ""
    topic: str | None = None
    takes: Any = None


@dataclass(frozen=True, slots=True)
class Topic:
    """Topic settings under Kafka's own names, with dots turned into underscores.

    None = no bound, or not for that reason. `deletes`: `cleanup.policy` is `compact,delete`, and
    old segments go. `compacts` false: it is `delete` alone, so that a tombstone is a record like
    any other.
    """

    segment_bytes: Annotated[Size, InKafka("log.segment.bytes")] = 2048
    """A segment is closed before it grows beyond so many bytes."""
    segment_ms: Annotated[SettingFromOne | None, InKafka("log.roll.ms")] = 1000
    """A segment is closed by the first append so many ms after its first record."""
    min_cleanable_dirty_ratio: Annotated[Share, InKafka("log.cleaner.min.cleanable.ratio")] = 0.3
    """Share of dirty bytes above which a log is cleaned."""
    min_compaction_lag_ms: Annotated[Setting, InKafka("log.cleaner.min.compaction.lag.ms")] = 0
    """KIP-58: a record stays uncompacted for so many ms at least."""
    max_compaction_lag_ms: Annotated[
        SettingFromOne | None, InKafka("log.cleaner.max.compaction.lag.ms")
    ] = None
    """KIP-354: a closed segment is cleaned at the latest so many ms after its first record."""
    dedupe_buffer_bytes: Annotated[
        SettingFromOne | None, InKafka("log.cleaner.dedupe.buffer.size", "")
    ] = None
    """Memory of a cleaner's offset map in bytes: 24 a key, 32 where it keeps versions (KIP-280)."""
    dedupe_load_factor: Annotated[Share, InKafka("log.cleaner.io.buffer.load.factor", "")] = 0.9
    """Share of the offset map's memory that is used."""
    producer_expiration_ms: Annotated[
        SettingFromOne | None, InKafka("producer.id.expiration.ms", "")
    ] = None
    """A producer that is silent for so many ms is forgotten, and its last batch may go."""
    timestamp_difference_max_ms: Annotated[
        Setting | None,
        InKafka(
            "log.message.timestamp.difference.max.ms", topic="message.timestamp.difference.max.ms"
        ),
    ] = None
    """A record whose timestamp is farther from the leader's clock is refused."""
    max_message_bytes: Annotated[Size | None, InKafka("message.max.bytes")] = None
    """Batches that a delete horizon makes larger than this are counted (KIP-534)."""
    deletes: Annotated[bool, InKafka(topic="")] = False
    compacts: Annotated[bool, InKafka(topic="")] = True
    retention_ms: Annotated[Setting | None, InKafka("log.retention.ms", takes=NoBound)] = None
    """With `delete`: a closed segment goes when its newest record is older (ms); -1: never."""
    retention_bytes: Annotated[Setting | None, InKafka("log.retention.bytes", takes=NoBound)] = None
    """With `delete`: the oldest segments go while the log, without them, is larger; -1: never."""
    replica_fetch_max_bytes: Annotated[Size | None, InKafka("replica.fetch.max.bytes", "")] = None
    """Most bytes a follower copies at once, its first batch whatever its size."""
    flush_messages: Annotated[SettingFromOne | None, InKafka("log.flush.interval.messages")] = None
    """With `flush: interval`: the log is flushed when so many offsets are not."""
    flush_ms: Annotated[SettingFromOne | None, InKafka("log.flush.interval.ms")] = None
    """With `flush: interval`: the log is flushed every so many ms."""


FETCH_SNAPSHOT_BYTES = 8 * 1024 * 1024
"""Most bytes of a FetchSnapshot answer unless a setting says otherwise (KafkaRaftClient)."""

RECORD_BYTES, INTERVAL_MS = 20 * 1024 * 1024, 60 * 60 * 1000
RETENTION_BYTES, RETENTION_MS = 100 * 1024 * 1024, 7 * 24 * 60 * 60 * 1000
"""Kafka's defaults of what they are named after (MetadataLogConfig)."""


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """How replicas take, keep and fetch snapshots, each setting with its name in Kafka.

    None = not for that reason. With neither retention the log starts at the snapshot before the
    last.
    """

    chunk_bytes: Annotated[Size, InKafka("controller.quorum.fetch.snapshot.max.bytes", "")] = (
        FETCH_SNAPSHOT_BYTES
    )
    """Most bytes of a snapshot in one answer (KIP-630, KIP-1219); default: 8 MiB."""
    record_bytes: Annotated[
        SettingFromOne | None, InKafka("metadata.log.max.record.bytes.between.snapshots", "")
    ] = None
    """A snapshot is taken when so many bytes of records are committed since the last one."""
    interval_ms: Annotated[
        SettingFromOne | None,
        InKafka("metadata.log.max.snapshot.interval.ms", "", Setting),
    ] = None
    """A snapshot is taken when a record is newer than the last one for so many ms; 0 = never."""
    retention_bytes: Annotated[
        Setting | None, InKafka("metadata.max.retention.bytes", "", NoBound)
    ] = None
    """Old snapshots go, with the log before the next one, while all is larger than this."""
    retention_ms: Annotated[Setting | None, InKafka("metadata.max.retention.ms", "", NoBound)] = (
        None
    )
    """Old snapshots go, with the log before the next one, when they are older than this."""


EVERY_REPLICA = "all"
"""In the place of a replica's name: every replica, at that moment."""

CHANGEABLE = (
    "strategy",
    "strategy_header",
    "header_form",
    "fix",
    "map_range",
    "tombstone_removal",
    "tombstone_mark",
    "delete_retention_ms",
    *VERSION_SETTINGS,
)
"""What may change during a run: rules that one replica's cleaner follows alone, and versions."""


@dataclass(frozen=True, slots=True)
class Change:
    """A setting that changes during the run, when it reaches one broker or one client.

    `replica` and `producer` name whom it reaches, `all` and 0 all of them, None none of the kind;
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


def changed(
    rules: Rules, versions: Versions | None, change: Change
) -> tuple[Rules, Versions | None]:
    """The rules and the versions of a replica after a change has reached it."""
    settings = dict(change.settings)
    given = {name: settings.pop(name) for name in VERSION_SETTINGS if name in settings}
    if given and versions is not None:
        versions = versions.with_settings(given)
    return rules.with_values(settings), versions


class SentHeader(NamedTuple):
    """A header of a record that is not sent with the one header it should have.

    `version` is written as the rules read it (`header_form`); None = the bytes are `raw`. `name`
    None = the version header's, in capitals if `capitals`.
    """

    version: int | None = None
    raw: bytes = b""
    name: str | None = None
    capitals: bool = False


@dataclass(frozen=True, slots=True)
class Applications:
    """Behaviour of applications beside sending.

    `instances`: pairs of producers (the later one, the one before it) with the same
    `transactional.id`: the later one has the next epoch of the same producer id, and fences the
    other (KIP-98), which KIP-280 rejected in favour of versions. `headers`: of some sends, by their
    index in the workload, the headers in the place of the version header; a producer that sends no
    versions leaves them out, too.
    """

    instances: tuple[tuple[int, int], ...] = ()
    headers: tuple[tuple[int, tuple[SentHeader, ...]], ...] = ()

    def identity_of(self, producer: int) -> tuple[int, int]:
        """The producer id and the epoch of a producer."""
        before, epoch = dict(self.instances), 0
        while producer in before:
            producer, epoch = before[producer], epoch + 1
        return producer, epoch


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
    transaction: Transaction
    commit: bool


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A workload from a file of real changes (see `replog trace`).

    `path` is opened as it is; in a scenario file it is relative to that file. `batch_records`
    changes go into one batch, one batch every `interval_ms`; `limit` stops after so many changes,
    None = all.
    """

    path: Name
    batch_records: BatchRecords = 100
    interval_ms: Period = 5
    limit: Changes | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """Records that producers write, and how they retry.

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

    @property
    def patience_ms(self) -> int:
        """Time in ms after which a producer gives up, at the earliest, a batch without an answer.

        Every second try may follow at once, since another replica leads by then; a leader that
        loads its state makes it wait 100 ms at least (KIP-580).
        """
        return min(self.retry_ms, 100) * ((self.retries + 1) // 2)


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
    max_batches: SettingFromOne | None = None
    replica: Name | None = None
    pauses: Annotated[tuple[tuple[Milliseconds, Milliseconds], ...], Within(PHASES)] = ()
    format: Literal[2, 3] | None = None
    deletes_by: Literal["flag", "null_value"] = "flag"
    isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted"
    until: Literal["position", "last_offset", "count"] | None = None
    starts_ms: Milliseconds = 0


@dataclass(frozen=True, slots=True)
class Expect(Expectation):
    """Expectation of a timed run; without `checked` all safety invariants are judged.

    `reached`: situations that have to occur; without them the run proves nothing. `unreached`:
    situations that must not occur.
    """

    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run; reaching one makes it inconclusive."""

    max_events: Annotated[int, Gt(0), Within(EVENTS)] = 200_000


@dataclass(frozen=True, slots=True)
class Scenario(Runnable):
    """Everything a run depends on, the rules included.

    `last_rounds`: so often, when the cluster is at rest, every log is rolled and cleaned and the
    delete retention passes, before the end is judged. `unread` names settings of Kafka's that its
    file gives, and nothing reads.
    """

    unit = "ms"

    seed: int = 0
    duration_ms: int = 10_000
    topic: Topic = field(default_factory=Topic)
    replicas: tuple[ReplicaSpec, ...] = (ReplicaSpec("r1"), ReplicaSpec("r2"), ReplicaSpec("r3"))
    network: Network = field(default_factory=Network)
    late_messages: LateMessages = field(default_factory=LateMessages)
    timers: Timers = field(default_factory=Timers)
    workload: Workload = field(default_factory=Workload)
    applications: Applications = field(default_factory=Applications)
    consumers: tuple[Consumer, ...] = (Consumer("c1"),)
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] = ()
    snapshots: SnapshotSettings = field(default_factory=SnapshotSettings)
    last_rounds: Rounds = 0
    expect: Expect = field(default_factory=Expect)
    limits: Limits = field(default_factory=Limits)
    unread: tuple[str, ...] = field(default=(), compare=False)

    @property
    def clock_skews(self) -> dict[str, int]:
        """How far the clock of each replica is ahead of simulated time in ms, by its name."""
        return {replica.name: replica.clock_skew_ms for replica in self.replicas}


class Promise(NamedTuple):
    """Rules that a run is judged by.

    Attributes:
        rules: The newest settings; `delete_retention_ms` is the shortest any replica had.
        earlier: Other settings that were in force on some replica, in order.
    """

    rules: Rules
    earlier: tuple[Rules, ...]


def changes_of(scenario: Scenario) -> tuple[Change, ...]:
    """All changes of a scenario in order of time."""
    return tuple(sorted(scenario.changes, key=lambda change: change.at_ms))


def promise_of(scenario: Scenario) -> Promise:
    """The newest settings of a scenario, and all others that were in force before or beside."""
    newest = scenario.rules
    seen = [newest]
    for change in changes_of(scenario):
        if change.replica is not None:
            newest, _ = changed(newest, None, change)
            seen.append(newest)
    if len(seen) == 1:
        return Promise(newest, ())
    shortest = min(rules.topic.delete_retention_ms for rules in seen)
    earlier = tuple(dict.fromkeys(rules for rules in seen if rules != newest))
    return Promise(newest.with_values({"delete_retention_ms": shortest}), earlier)
