"""The head of a log goes when a snapshot covers it (KIP-630)."""

from sim.check.invariant import Invariant
from sim.protocol.events import PrefixDeleted, SnapshotOffered


class PrefixDeletionSafety(Invariant):
    """A prefix goes only below a covering snapshot and the high watermark; laggards get one.

    For a prefix of r deleted up to s: s <= hw(r), and r holds a snapshot with end >= s. For a
    follower that fetches below the log start, or is due one otherwise: it is offered a snapshot
    with end >= start(r).
    Judged: on deletion, and on such a fetch. Excused: nothing.
    """

    source = "KIP-630; KafkaMetadataLog.deleteBeforeSnapshot"
    explained_by = "prefix"
    says = "{follower} fetched at {offset}, below the log start of {replica}, which has "

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """Judge the new log start."""
        view, start = self.replicas[event.replica], event.log_start_offset
        mark = min(event.high_watermark, view.high_watermark)
        if start > mark:
            above = "{replica} deleted below {offset}, above its high watermark {high_watermark}."
            self.violated(event.replica, start, None, above, high_watermark=mark)
        newest = max((end for end, _ in view.snapshots), default=-1)
        if newest < start:
            bare = "{replica} deleted below {offset} without a snapshot that covers it."
            self.violated(event.replica, start, None, bare, snapshot_end=newest)

    def on_snapshot_offered(self, event: SnapshotOffered) -> None:
        """A follower below the log start has to be offered one."""
        end = event.end_offset
        if end < max(self.replicas[event.replica].log_start_offset, 0):
            has = "no snapshot" if end < 0 else "only one up to {snapshot_end}"
            says = self.says + has + " to offer."
            follower, at = event.follower, event.fetch_offset
            self.violated(event.replica, at, None, says, follower=follower, snapshot_end=end)
