"""The data of a scenario: everything on which a simulated run depends, as immutable values.

They are plain dataclasses, so that thousands of them are made quickly; files are validated by the
bounds in their annotations (see `sim.simulate.scenario.file.load`). All times, offsets and sizes
are integers; times are in ms of simulated time, unless a name says otherwise. Workload and faults
are fixed lists that do not depend on the rules, so that every rule set meets the same environment.
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
from sim.protocol.rules import Rules, RuleValue
from sim.simulate.faults.fault import Fault
from sim.simulate.scenario.runnable import Expectation, Runnable


@dataclass(frozen=True, slots=True)
class ReplicaSpec:
    """A replica: its name, its clock and its cleaner.

    Attributes:
        name: Its name.
        clock_skew_ms: Lead of its own clock over simulated time in ms.
        cleaner_backoff_ms: Pause in ms between two looks at its log (`log.cleaner.backoff.ms`);
            None: it never cleans by itself.
        tombstone_mark: Mark by which its cleaner recognises tombstones; None: that of the rules.
        versions: Its software, protocol and message format (KIP-87); None in scenarios without
            versions.
    """

    name: Name
    clock_skew_ms: Skew = 0
    cleaner_backoff_ms: Period | None = 500
    tombstone_mark: Literal["null_value", "flag", "magic"] | None = None
    versions: Versions | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """Latency and loss of one direction between two replicas, other than the network's."""

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

    A sender that gets no answer in time closes the connection and asks again on another one; its
    first request may be handled after the second. `late`: share of the messages that are delayed.
    `repeated`: share of the messages that arrive a second time. `later_ms`: delay in ms, from and
    to (inclusive), each order of magnitude as likely. When the faults end, all connections are
    closed, and delayed messages do not arrive.
    """

    late: Loss = 0.0
    repeated: Share = 0.0
    later_ms: LatencyRange = (20, 3_000)


@dataclass(frozen=True, slots=True)
class Timers:
    """The timers of a cluster in ms.

    `replica_lag_max_ms`: a follower that has not caught up for this time leaves the in-sync set.
    `fetch_wait_ms`: time that a leader holds an empty fetch. `fetch_retry_ms`: pause after a failed
    or unanswered fetch. `election_timeout_ms`: time without a message from a leader that starts an
    election (a range from which each replica draws). `snapshot_interval_ms`: time between two
    snapshots; null: none by time. `coordination_interval_ms`: time between two rounds in which the
    leader collects reports and sends removal bounds. `snapshot_cleaning_ms`: time between two looks
    for old snapshots. `load_us_per_record`: time in microseconds that the loading of a state
    machine takes for each record.
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
    """The names that a setting has in Kafka.

    Attributes:
        broker: Name of the broker's setting, the default of topics; empty: topics alone have it.
        topic: Name of the topic's setting; None: the field's with dots; empty: brokers alone have
            it. With both empty the field is no setting of its own.
        takes: Type of its values in a file; None: that of the field.
    """

    broker: str = ""
    topic: str | None = None
    takes: Any = None


@dataclass(frozen=True, slots=True)
class Topic:
    """Settings of a topic, named like Kafka's with underscores for dots.

    None means no bound. `deletes` is true when `cleanup.policy` contains `delete`, so that old
    segments are deleted; `compacts` is false when it is `delete` alone, so that tombstones are
    ordinary records.
    """

    segment_bytes: Annotated[Size, InKafka("log.segment.bytes")] = 2048
    """Size in bytes beyond which a segment does not grow before it is closed."""
    segment_ms: Annotated[SettingFromOne | None, InKafka("log.roll.ms")] = 1000
    """Age of its first record, in ms, beyond which the next append closes a segment."""
    min_cleanable_dirty_ratio: Annotated[Share, InKafka("log.cleaner.min.cleanable.ratio")] = 0.3
    """Share of dirty bytes above which a log is cleaned."""
    min_compaction_lag_ms: Annotated[Setting, InKafka("log.cleaner.min.compaction.lag.ms")] = 0
    """KIP-58: shortest time in ms that a record stays uncompacted."""
    max_compaction_lag_ms: Annotated[
        SettingFromOne | None, InKafka("log.cleaner.max.compaction.lag.ms")
    ] = None
    """KIP-354: longest time in ms after its first record until a closed segment is cleaned."""
    dedupe_buffer_bytes: Annotated[
        SettingFromOne | None, InKafka("log.cleaner.dedupe.buffer.size", "")
    ] = None
    """Memory of a cleaner's offset map in bytes: 24 a key, 32 where it keeps versions (KIP-280)."""
    dedupe_load_factor: Annotated[Share, InKafka("log.cleaner.io.buffer.load.factor", "")] = 0.9
    """Share of the offset map's memory that is used."""
    producer_expiration_ms: Annotated[
        SettingFromOne | None, InKafka("producer.id.expiration.ms", "")
    ] = None
    """Time in ms without a batch after which a producer is forgotten, and its last batch may go."""
    timestamp_difference_max_ms: Annotated[
        Setting | None,
        InKafka(
            "log.message.timestamp.difference.max.ms", topic="message.timestamp.difference.max.ms"
        ),
    ] = None
    """Largest distance in ms of a timestamp from the leader's clock; other records are refused."""
    max_message_bytes: Annotated[Size | None, InKafka("message.max.bytes")] = None
    """Size above which batches are counted that a delete horizon makes larger (KIP-534)."""
    deletes: Annotated[bool, InKafka(topic="")] = False
    compacts: Annotated[bool, InKafka(topic="")] = True
    retention_ms: Annotated[Setting | None, InKafka("log.retention.ms", takes=NoBound)] = None
    """With `delete`: age in ms of its newest record beyond which a segment goes; -1: never."""
    retention_bytes: Annotated[Setting | None, InKafka("log.retention.bytes", takes=NoBound)] = None
    """With `delete`: the oldest segments go while at least so much stays; -1: never."""
    replica_fetch_max_bytes: Annotated[Size | None, InKafka("replica.fetch.max.bytes", "")] = None
    """Most bytes a follower copies at once, but always one batch at least."""
    flush_messages: Annotated[SettingFromOne | None, InKafka("log.flush.interval.messages")] = None
    """With `flush: interval`: number of unflushed offsets at which the log is flushed."""
    flush_ms: Annotated[SettingFromOne | None, InKafka("log.flush.interval.ms")] = None
    """With `flush: interval`: time in ms between two flushes of the log."""


FETCH_SNAPSHOT_BYTES = 8 * 1024 * 1024
"""Default of the largest size of a FetchSnapshot answer in bytes (KafkaRaftClient)."""


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """Settings of snapshots: when replicas take, keep and delete them, and how they fetch them.

    None switches a setting off. With neither retention the log starts at the snapshot before the
    last.
    """

    chunk_bytes: Annotated[Size, InKafka("controller.quorum.fetch.snapshot.max.bytes", "")] = (
        FETCH_SNAPSHOT_BYTES
    )
    """Most bytes of a snapshot in one answer (KIP-630, KIP-1219); default: 8 MiB."""
    record_bytes: Annotated[
        SettingFromOne | None, InKafka("metadata.log.max.record.bytes.between.snapshots", "")
    ] = None
    """Bytes of committed records since the last snapshot at which a new one is taken."""
    interval_ms: Annotated[
        SettingFromOne | None,
        InKafka("metadata.log.max.snapshot.interval.ms", "", Setting),
    ] = None
    """Time in ms that a record may be newer than the last snapshot; 0 = for ever."""
    retention_bytes: Annotated[
        Setting | None, InKafka("metadata.max.retention.bytes", "", NoBound)
    ] = None
    """Size in bytes of snapshots and log above which old ones are deleted."""
    retention_ms: Annotated[Setting | None, InKafka("metadata.max.retention.ms", "", NoBound)] = (
        None
    )
    """Age in ms beyond which snapshots are deleted, with the log before the next one."""


KAFKA_SNAPSHOTS = SnapshotSettings(
    record_bytes=20 * 1024 * 1024,
    interval_ms=60 * 60 * 1000,
    retention_bytes=100 * 1024 * 1024,
    retention_ms=7 * 24 * 60 * 60 * 1000,
)
"""Kafka's defaults (MetadataLogConfig)."""

EVERY_REPLICA = "all"
"""Stands for a replica's name: every replica at that moment."""

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
"""Settings that may change during a run: rules of one replica's cleaner, and versions."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of settings during the run, at the time at which it reaches a broker or a client.

    Attributes:
        at_ms: Its time in ms.
        replica: Name of the replica that it reaches, `all` for all; None for none.
        settings: New values of rules of the cleaner, and of versions of the broker.
        producer: Number of the producer that it reaches, 0 for all; None for none.
        versions: Whether the producer sends version headers from then on; None: as before.
        consumer: Name of the consumer that it reaches; None for none.
        format: The client's version from then on (KIP-87); None: as before.
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
    """Rules and versions of a replica after a change."""
    settings = dict(change.settings)
    given = {name: settings.pop(name) for name in VERSION_SETTINGS if name in settings}
    if given and versions is not None:
        versions = versions.with_settings(given)
    return rules.with_values(settings), versions


class SentHeader(NamedTuple):
    """One of the headers that a record is sent with instead of its version header.

    Attributes:
        version: Version that is encoded as the rules read it (`header_form`); None: `raw` is sent.
        raw: Bytes of a header without a version.
        name: Its name; None: that of the version header.
        capitals: Whether the name of the version header is in capitals.
    """

    version: int | None = None
    raw: bytes = b""
    name: str | None = None
    capitals: bool = False


class Send(NamedTuple):
    """A decision of a producer to write a record, which arrives later, perhaps twice or never.

    Attributes:
        at_ms: Time of the decision in ms.
        producer: Number of the producer.
        key: Key of the record.
        value: Value of the record; None deletes the key.
        timestamp_ms: Create time in ms.
        version: Version in the version header; None: no such header.
        transaction: Number of the producer's transaction, from 1; 0 outside of transactions.
        flag: Tombstone attribute (KIP-87); None: set on deletes, where the rules have it.
        headers: Headers that replace the version header, in an application that makes mistakes with
            it; a producer that sends no versions leaves them out, too.
    """

    at_ms: int
    producer: int
    key: str
    value: str | None
    timestamp_ms: int
    version: int | None = None
    transaction: int = 0
    flag: bool | None = None
    headers: tuple[SentHeader, ...] = ()


@dataclass(frozen=True, slots=True)
class EndTransaction:
    """The end of a producer's transaction; the producer's sends of the same ms come before it."""

    at_ms: Milliseconds
    producer: Count
    transaction: Transaction
    commit: bool


@dataclass(frozen=True, slots=True)
class TraceSource:
    """A workload that is read from a file of real changes (see `replog trace`).

    Attributes:
        path: Path of the file, as it is opened; a scenario file gives it relative to itself.
        batch_records: Number of changes in a batch.
        interval_ms: Time in ms between two batches.
        limit: Number of changes that are read; None: all.
    """

    path: Name
    batch_records: BatchRecords = 100
    interval_ms: Period = 5
    limit: Changes | None = None


@dataclass(frozen=True, slots=True)
class Workload:
    """The records that producers write, and their retries.

    Attributes:
        sends: Records, in order of time.
        ends: Ends of transactions, in order of time.
        trace: File of changes; None without one.
        retry_ms: Time in ms after which a producer without an answer sends again.
        retries: Most retries of a batch.
        idempotent: Whether the leader recognises a retry and does not append it again.
        acks: Whether a batch is acknowledged when it is committed (`all`), or as soon as the leader
            has it (`1`).
        instances: Pairs of producers (later, earlier) with the same `transactional.id`: the later
            one has the next epoch of the same producer id, and fences the earlier one (KIP-98; an
            alternative that KIP-280 rejected in favour of versions).
    """

    sends: tuple[Send, ...] = ()
    ends: tuple[EndTransaction, ...] = ()
    trace: TraceSource | None = None
    retry_ms: Period = 200
    retries: Count = 3
    idempotent: bool = True
    acks: Literal["all", "1"] = "all"
    instances: tuple[tuple[int, int], ...] = ()

    def identity_of(self, producer: int) -> tuple[int, int]:
        """The producer id and the epoch of a producer."""
        before, epoch = dict(self.instances), 0
        while producer in before:
            producer, epoch = before[producer], epoch + 1
        return producer, epoch


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer that builds a table.

    Attributes:
        name: Its name.
        poll_ms: Pause in ms between two polls.
        max_batches: Most batches that a poll returns, which makes it lag; null: no limit.
        replica: Name of the replica that it reads; null: it reads from the leader.
        pauses: Spans in ms (from, to) in which it does not poll.
        format: Its fetch version (KIP-87): 3 knows the tombstone flag, 2 does not, so replicas that
            know it send it deletes without their values; null in scenarios without versions.
        deletes_by: Mark by which a version 3 consumer recognises a delete; version 2 always goes by
            the null value.
        isolation: Its `isolation.level`.
        until: With a value it asks for the end offset first and stops there: by its `position`, by
            the offset of its last record plus one (`last_offset`), or by the `count` of its
            records; null: it never stops.
        starts_ms: Time in ms at which it starts.
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

    Attributes:
        reached: Situations that have to occur, since the run shows nothing without them.
        unreached: Situations that must not occur.
    """

    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a run, which is inconclusive when it reaches one."""

    max_events: Annotated[int, Gt(0), Within(EVENTS)] = 200_000


@dataclass(frozen=True, slots=True)
class Scenario(Runnable):
    """A timed scenario: everything on which its run depends, the rules included.

    `last_rounds` is the number of rounds, when the cluster is at rest, in which every log is rolled
    and cleaned and the delete retention passes, before the end is judged. `unread` has the names of
    Kafka settings that its file gives, and that change nothing.
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
        """Lead of each replica's clock over simulated time in ms, by the replica's name."""
        return {replica.name: replica.clock_skew_ms for replica in self.replicas}


def changes_of(scenario: Scenario) -> tuple[Change, ...]:
    """All changes of a scenario in order of time."""
    return tuple(sorted(scenario.changes, key=lambda change: change.at_ms))
