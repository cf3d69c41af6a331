"""High watermarks, truncation and the positions a leader believes in."""

from __future__ import annotations

from sim.check.registry import Invariant, invariant
from sim.trace import (
    Cleaned,
    HighWatermarkMoved,
    PositionRecorded,
    ReplicaCrashed,
    Truncated,
)


@invariant
class NoTruncationBelowHw(Invariant):
    """A replica never truncates below its own high watermark."""

    name = "no-truncation-below-hw"
    source = "KIP-595; KafkaMetadataLog.truncateTo"

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and high watermark."""
        if event.target < event.high_watermark:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated from {event.log_end_offset} to {event.target}, below "
                f"its high watermark {event.high_watermark}.",
            )


@invariant
class TruncationBelowLogStart(Invariant):
    """A replica never truncates below its log start offset."""

    name = "truncation-below-log-start"
    source = "KIP-595; UnifiedLog.truncateTo"

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and log start."""
        if event.target < event.log_start_offset:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated to {event.target}, below its log start offset "
                f"{event.log_start_offset}.",
            )


@invariant
class HwWithinLog(Invariant):
    """The high watermark never exceeds the log end offset."""

    name = "hw-within-log"
    source = "LogCabin, RaftConsensusInvariants"

    def _judge(self, replica: str) -> None:
        disk = self.ledger.disks[replica]
        if disk.hw > len(disk.slots):
            self.violated(
                replica,
                disk.hw,
                None,
                f"{replica} has high watermark {disk.hw} above its log end offset {disk.leo}.",
            )

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """After an advance."""
        self._judge(event.replica)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """After a lost tail."""
        self._judge(event.replica)

    def on_cleaned(self, event: Cleaned) -> None:
        """After a pass that may have moved the log end."""
        self._judge(event.replica)

    def on_truncated(self, event: Truncated) -> None:
        """After a truncation."""
        self._judge(event.replica)


@invariant
class HwMonotonic(Invariant):
    """A high watermark falls only with a lost tail, a truncation or a wipe."""

    name = "hw-monotonic"
    source = "MonotonicHighWatermark (RaftEventSimulationTest)"
    in_stories = False

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Compare with the one before; what may lower it has its own events."""
        before = self.ledger.previous_hw
        if event.high_watermark < before:
            self.violated(
                event.replica,
                event.high_watermark,
                None,
                f"{event.replica} moved its high watermark back from {before} to "
                f"{event.high_watermark}.",
            )


@invariant
class FollowerPositionSound(Invariant):
    """The position a leader records for a follower is at most the follower's log end offset."""

    name = "follower-position-sound"
    source = "KIP-280; LocalLog.read with Partition.fetchRecords"

    def on_position_recorded(self, event: PositionRecorded) -> None:
        """Compare belief and disk."""
        leo = self.ledger.disks[event.follower].leo
        if event.position > leo:
            self.violated(
                event.follower,
                leo,
                None,
                f"{event.replica} believes that {event.follower} has everything below "
                f"{event.position}, but its log end offset is {leo}.",
            )
