"""Settings of snapshots, under Kafka's own names for the metadata log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

FETCH_SNAPSHOT_BYTES = 8 * 1024 * 1024
"""Most bytes of a FetchSnapshot answer unless a setting says otherwise (KafkaRaftClient)."""


@dataclass(frozen=True, slots=True)
class SnapshotSettings:
    """How replicas take, keep and fetch snapshots.

    `chunk_bytes`: most bytes of one FetchSnapshot answer.
    """

    chunk_bytes: Annotated[int, Ge(1)] = FETCH_SNAPSHOT_BYTES
