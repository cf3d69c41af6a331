"""The head of a log goes when a snapshot covers it (KIP-630)."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.check.replica_view import ReplicaView
from sim.trace import PrefixDeleted, SnapshotOffered


def _covered(view: ReplicaView, start: int) -> bool:
    return any(end >= start for end, _ in view.snapshots)


class PrefixDeletionSafety(Invariant):
    """A prefix goes only below a covering snapshot and the high watermark; laggards get one.

    For a prefix of r deleted up to s: s <= hw(r), and r holds a snapshot with end >= s. For a
    follower that fetches below the log start, or is due one otherwise: it is offered a snapshot
    with end >= start(r).
    Judged: on deletion, and on such a fetch. Excused: nothing.
    """

    name = "prefix-deletion-safety"
    source = "KIP-630; KafkaMetadataLog.deleteBeforeSnapshot"
    explained_by = "prefix"

    def on_prefix_deleted(self, event: PrefixDeleted) -> None:
        """Judge the new log start."""
        view = self.history.replicas[event.replica]
        start = event.log_start_offset
        high_watermark = min(event.high_watermark, view.high_watermark)
        if start > high_watermark:
            self.violated(
                event.replica,
                start,
                None,
                f"{event.replica} deleted below {start}, above its high watermark "
                f"{high_watermark}.",
            )
        if not _covered(view, start):
            self.violated(
                event.replica,
                start,
                None,
                f"{event.replica} deleted below {start} without a snapshot that covers it.",
            )

    def on_snapshot_offered(self, event: SnapshotOffered) -> None:
        """A follower below the log start has to be offered one."""
        start = self.history.replicas[event.replica].log_start_offset
        if event.end_offset < max(start, 0):
            has = "no snapshot" if event.end_offset < 0 else f"only one up to {event.end_offset}"
            self.violated(
                event.replica,
                event.fetch_offset,
                None,
                f"{event.follower} fetched at {event.fetch_offset}, below the log start of "
                f"{event.replica}, which has {has} to offer.",
            )
