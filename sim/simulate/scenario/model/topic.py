"""Settings of the topic, which every replica follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from sim.files.bounds import NoBound, Setting, SettingFromOne, Share, Size


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
