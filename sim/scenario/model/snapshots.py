"""Settings of snapshots, under Kafka's own names for the metadata log (KIP-630, KIP-876)."""

from __future__ import annotations

from dataclasses import dataclass

from sim.files.bounds import Setting, SettingFromOne, Size

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

    chunk_bytes: Size = FETCH_SNAPSHOT_BYTES
    record_bytes: SettingFromOne | None = None
    interval_ms: SettingFromOne | None = None
    retention_bytes: Setting | None = None
    retention_ms: Setting | None = None
