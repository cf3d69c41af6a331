"""Broker settings of snapshots under Kafka's own names, as in `kafka-configs --describe`."""

from __future__ import annotations

from typing import Annotated

from annotated_types import Ge
from pydantic import BaseModel, ConfigDict, Field

from sim.scenario.model import Milliseconds
from sim.scenario.model.snapshots import (
    FETCH_SNAPSHOT_BYTES,
    INTERVAL_MS,
    RECORD_BYTES,
    RETENTION_BYTES,
    RETENTION_MS,
    SnapshotSettings,
)

FILE_CONFIG = ConfigDict(
    strict=True,
    frozen=True,
    extra="forbid",
    use_attribute_docstrings=True,
    allow_inf_nan=False,
)
"""How every part of a scenario file is validated."""

NEVER_REACHED = 2**63 - 1
"""What -1 stands for: old snapshots are looked for, and stay."""

Bound = Annotated[int, Ge(-1)]
"""A bound in bytes or ms; -1 = none."""


class SnapshotFields(BaseModel):
    """Settings of the metadata log (KIP-630, KIP-876)."""

    model_config = FILE_CONFIG

    fetch_snapshot_bytes: Annotated[int, Ge(1)] | None = Field(
        None, alias="controller.quorum.fetch.snapshot.max.bytes"
    )
    """Most bytes of a snapshot in one answer (KIP-630, KIP-1219); default: 8 MiB."""
    record_bytes: Annotated[int, Ge(1)] | None = Field(
        None, alias="metadata.log.max.record.bytes.between.snapshots"
    )
    """A snapshot is taken when so many bytes of records are committed since the last one."""
    snapshot_interval_ms: Milliseconds | None = Field(
        None, alias="metadata.log.max.snapshot.interval.ms"
    )
    """A snapshot is taken when a record is newer than the last one for so many ms; 0 = never."""
    metadata_retention_bytes: Bound | None = Field(None, alias="metadata.max.retention.bytes")
    """Old snapshots go, with the log before the next one, while all is larger than this."""
    metadata_retention_ms: Bound | None = Field(None, alias="metadata.max.retention.ms")
    """Old snapshots go, with the log before the next one, when they are older than this."""
    start_offset_lag_ms: Milliseconds | None = Field(
        None, alias="metadata.start.offset.lag.time.max.ms"
    )
    """`prefix_gate: all_live_or_timeout`: so long deletion waits for replicas (KIP-630, drafts)."""


def snapshots_of(broker: SnapshotFields, *, policy: str) -> SnapshotSettings:
    """How replicas take, keep and fetch snapshots.

    With `snapshot` in the topic's cleanup `policy`, what the broker does not say is Kafka's
    default; otherwise none is taken that no setting asks for.
    """
    asked = "snapshot" in policy
    defaults: dict[str, int | None] = {
        "record_bytes": RECORD_BYTES if asked else None,
        "interval_ms": INTERVAL_MS if asked else None,
        "retention_bytes": RETENTION_BYTES if asked else None,
        "retention_ms": RETENTION_MS if asked else None,
        "chunk_bytes": FETCH_SNAPSHOT_BYTES,
    }
    given: dict[str, int | None] = {
        "record_bytes": broker.record_bytes,
        "interval_ms": broker.snapshot_interval_ms,
        "retention_bytes": broker.metadata_retention_bytes,
        "retention_ms": broker.metadata_retention_ms,
        "chunk_bytes": broker.fetch_snapshot_bytes,
    }
    values = {name: defaults[name] if value is None else value for name, value in given.items()}
    if values["interval_ms"] == 0:
        values["interval_ms"] = None
    for name in ("retention_bytes", "retention_ms"):
        if values[name] == -1:
            values[name] = NEVER_REACHED
    return SnapshotSettings(**values)  # type: ignore[arg-type]
