"""What a leader believes a follower has, it has."""

from sim.check.invariant import LogInvariant
from sim.trace import PositionRecorded


class FollowerPositionSound(LogInvariant):
    """The position a leader records for a follower is at most the follower's log end offset.

    For all positions p that a leader records for f: p <= end(f).
    Judged: as it is recorded. Excused: nothing.
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
        if event.position > end:
            self.violated(event.follower, end, leader=event.replica, position=event.position)
