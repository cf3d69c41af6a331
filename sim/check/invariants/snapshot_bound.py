"""Snapshots hold committed records alone."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.trace import SnapshotTaken


class SnapshotBound(Invariant):
    """A snapshot ends at or below the high watermark of the replica that takes it.

    For a snapshot that r takes: end <= hw(r).
    Judged: as it is taken. Excused: nothing.
    """

    name = "snapshot-bound"
    source = "KIP-630; KafkaMetadataLog.createNewSnapshot"
    explained_by = "snapshot_bound"

    def on_snapshot_taken(self, event: SnapshotTaken) -> None:
        """Compare end and high watermark."""
        committed = self.history.replicas[event.replica].high_watermark
        if event.end_offset > committed:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} took snapshot ({event.end_offset}, {event.epoch}) above its "
                f"high watermark {committed}.",
            )
