"""Settings of snapshots, under Kafka's own names for the metadata log (KIP-630, KIP-876)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sim.files.bounds import NoBound, Setting, SettingFromOne, Size
from sim.simulate.scenario.model.topic import InKafka

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
