"""Snapshots hold committed records alone."""

from sim.check.invariant import Invariant
from sim.protocol.events import SnapshotTaken


class SnapshotBound(Invariant):
    """A snapshot ends at or below the high watermark of the replica that takes it.

    For a snapshot that r takes: end <= hw(r).
    Judged: as it is taken. Excused: nothing.
    """

    source = "KIP-630; KafkaMetadataLog.createNewSnapshot"
    explained_by = "snapshot_bound"
    says = "{replica} took snapshot ({offset}, {epoch}) above its high watermark {high_watermark}."

    def on_snapshot_taken(self, event: SnapshotTaken) -> None:
        """Compare end and high watermark."""
        mark, end = self.replicas[event.replica].high_watermark, event.end_offset
        if end > mark:
            self.violated(event.replica, end, epoch=event.epoch, high_watermark=mark)
