"""Snapshots do not take a replica back."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.trace import SnapshotInstalled


class SnapshotNeverRegresses(Invariant):
    """Installing a snapshot never takes a replica back below its high watermark.

    For a snapshot that r installs: end >= hw(r) before.
    Judged: on install. Excused: an uncommitted tail above the end goes; the leader lacks it.
    """

    name = "snapshot-never-regresses"
    source = "KafkaMetadataLog.truncateToLatestSnapshot"
    in_stories = False

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """Compare its end with the high watermark before."""
        if event.end_offset < event.high_watermark:
            self.violated(
                event.replica,
                event.end_offset,
                None,
                f"{event.replica} installed snapshot ({event.end_offset}, {event.epoch}) although "
                f"its high watermark was {event.high_watermark}.",
            )
