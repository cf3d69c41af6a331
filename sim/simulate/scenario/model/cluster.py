"""Replicas, network, timers, settings of topic and snapshots, and how settings change in a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from annotated_types import Ge

from sim.files.bounds import (
    Count,
    LatencyRange,
    Loss,
    Milliseconds,
    Name,
    NoBound,
    Period,
    PeriodRange,
    Setting,
    SettingFromOne,
    Share,
    Size,
    Skew,
    Within,
)
from sim.files.limits import LOAD, PHASES
from sim.protocol.log.formats import VERSION_SETTINGS, Versions
from sim.protocol.rules.rules import Rules, RuleValue


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


def changed(
    rules: Rules, versions: Versions | None, change: Change
) -> tuple[Rules, Versions | None]:
    """The rules and the versions of a replica after a change has reached it."""
    settings = dict(change.settings)
    given = {name: settings.pop(name) for name in VERSION_SETTINGS if name in settings}
    if given and versions is not None:
        versions = versions.with_settings(given)
    return rules.with_values(settings), versions
