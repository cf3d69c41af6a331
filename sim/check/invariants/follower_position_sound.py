"""What a leader believes a follower has, it has."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import PositionRecorded


class FollowerPositionSound(LogInvariant):
    """The position a leader records for a follower is at most the follower's log end offset.

    For all positions p that a leader records for f: p <= end(f).
    Judged: as it is recorded. Excused: with `commit: isr`, what f had on a disk that it lost since,
    until a leader hears of the new one: a fetch from before was on its way. Such a position admits
    nobody to the in-sync set (KIP-903, Partition.isReplicaIsrEligible).
    No usual event breaks it: a usual position is one that the follower has reached.
    """

    source = "KIP-280; LocalLog.read with Partition.fetchRecords"
    explained_by = "believed_position"
    unusual_only = True
    says = (
        "{leader} believes that {replica} has everything below {position}, but its log end offset "
        "is {offset}."
    )

    def on_position_recorded(self, event: PositionRecorded) -> None:
        """Compare the belief with the follower's log."""
        end = self.replicas[event.follower].log_end_offset
        overtaken = self.history.lost_disks.get(event.follower, 0) if self.history.by_isr else 0
        if event.position > max(end, overtaken):
            self.violated(event.follower, end, leader=event.replica, position=event.position)
