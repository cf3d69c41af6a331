"""Topic settings that a sweep may vary, and a file may give, as it does rules."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim.files.limits import INT_SETTING, NAME, SETTING
from sim.protocol.log.offset_index import INDEX_INTERVAL_BYTES
from sim.protocol.rules.spec import Open


class TopicSettings(NamedTuple):
    """What replicas, clients and checks go by of the topic's settings.

    Under Kafka's names they stand in a file's `topic`: `compaction.strategy.header`,
    `delete.retention.ms`, `index.interval.bytes` and `min.insync.replicas`.

    Attributes:
        strategy_header: Name of the header that the header strategy reads.
        delete_retention_ms: How long a tombstone stays at least, in ms.
        index_interval_bytes: Bytes of a segment between two entries of its offset index.
        min_isr: Smallest in-sync set that commits, the leader included.
    """

    strategy_header: Annotated[
        str,
        "name of the header that the header strategy reads",
        Open("KIP-280, compaction.strategy.header", NAME),
    ] = "version"
    delete_retention_ms: Annotated[
        int,
        "ms from the first pass that keeps a tombstone to the first that may remove it",
        Open("delete.retention.ms, KIP-534", SETTING, minimum=0),
    ] = 86_400_000
    index_interval_bytes: Annotated[
        int,
        "bytes of a segment after which its offset index gets an entry before the next batch",
        Open("index.interval.bytes; LogSegment.append", INT_SETTING, minimum=0),
    ] = INDEX_INTERVAL_BYTES
    min_isr: Annotated[
        int,
        "isr: smallest in-sync set with which the high watermark moves",
        Open("min.insync.replicas, KIP-966", INT_SETTING, minimum=1),
    ] = 1
