"""Settings of the topic, which every replica follows."""

from __future__ import annotations

from dataclasses import dataclass

from sim.files.bounds import Setting, SettingFromOne, Share, Size


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

    segment_bytes: Size = 2048
    segment_ms: SettingFromOne | None = 1000
    min_cleanable_dirty_ratio: Share = 0.3
    min_compaction_lag_ms: Setting = 0
    max_compaction_lag_ms: SettingFromOne | None = None
    dedupe_buffer_bytes: SettingFromOne | None = None
    dedupe_load_factor: Share = 0.9
    producer_expiration_ms: SettingFromOne | None = None
    timestamp_difference_max_ms: Setting | None = None
    max_message_bytes: Size | None = None
    deletes: bool = False
    compacts: bool = True
    retention_ms: Setting | None = None
    retention_bytes: Setting | None = None
    replica_fetch_max_bytes: Size | None = None
    flush_messages: SettingFromOne | None = None
    flush_ms: SettingFromOne | None = None
