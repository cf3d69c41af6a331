"""Snapshots do not take a replica back."""

from sim.check.invariant import Invariant
from sim.protocol.events import SnapshotInstalled


class SnapshotNeverRegresses(Invariant):
    """Installing a snapshot never takes a replica back below its high watermark.

    For a snapshot that r installs: end >= hw(r) before.
    Judged: on install. Excused: an uncommitted tail above the end goes; the leader lacks it. Not
    judged: Kafka's precondition, which throws unless the epoch is above the log's newest, or the
    same and the end above the log end: after an unclean election a log of a later epoch that ends
    below the snapshot has to be replaced, too.
    """

    source = "KafkaMetadataLog.truncateToLatestSnapshot"
    explained_by = "installed"
    in_stories = False
    says = (
        "{replica} installed snapshot ({offset}, {epoch}) although its high watermark was "
        "{high_watermark}."
    )

    def on_snapshot_installed(self, event: SnapshotInstalled) -> None:
        """Compare its end with the high watermark before."""
        mark = max(event.high_watermark, self.history.previous_high_watermark)
        if event.end_offset < mark:
            self.violated(event.replica, event.end_offset, epoch=event.epoch, high_watermark=mark)
