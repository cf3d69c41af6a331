"""Settings of snapshots, under Kafka's own names for the metadata log (KIP-630, KIP-876)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

FETCH_SNAPSHOT_BYTES = 8 * 1024 * 1024
"""Most bytes of a FetchSnapshot answer unless a setting says otherwise (KafkaRaftClient)."""

RECORD_BYTES, INTERVAL_MS = 20 * 1024 * 1024, 60 * 60 * 1000
RETENTION_BYTES, RETENTION_MS = 100 * 1024 * 1024, 7 * 24 * 60 * 60 * 1000
"""Kafka's defaults of what they are named after (MetadataLogConfig)."""


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """How replicas take, keep and fetch snapshots.

    `chunk_bytes`: most bytes of one FetchSnapshot answer. `record_bytes`: a snapshot is taken when
    so many bytes of records are committed since the last one, `interval_ms`: when something newer
    is committed for so long; None = not for that reason. `retention_bytes`, `retention_ms`: log and
    old snapshots go beyond that size or age; both None = the log starts at the snapshot before the
    last.
    """

    chunk_bytes: Annotated[int, Ge(1)] = FETCH_SNAPSHOT_BYTES
    record_bytes: Annotated[int, Ge(1)] | None = None
    interval_ms: Annotated[int, Ge(1)] | None = None
    retention_bytes: Annotated[int, Ge(0)] | None = None
    retention_ms: Annotated[int, Ge(0)] | None = None
