"""Settings of the topic, which every replica follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from sim.scenario.model.units import Milliseconds, Period, Share


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
