"""How far down a truncation may go."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import Truncated


class NoTruncationBelowHw(LogInvariant):
    """A replica never truncates below its own high watermark.

    For all cuts of r to t: t >= hw(r) before.
    Judged: on each cut. Excused: nothing. That the batch which straddles t goes whole (UnifiedLog)
    is left to `hole-justified`.
    """

    source = "KIP-595; KafkaMetadataLog.truncateTo"
    explained_by = "truncated"
    says = (
        "{replica} truncated from {log_end} to {offset}, below its high watermark {high_watermark}."
    )

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and high watermark."""
        mark = max(event.high_watermark, self.history.previous_high_watermark)
        if event.target < mark:
            self.violated(
                event.replica, event.target, log_end=event.log_end_offset, high_watermark=mark
            )


class TruncationBelowLogStart(LogInvariant):
    """A replica never truncates below its log start offset.

    For all cuts of r to t: t >= start(r).
    Judged: on each cut. Excused: nothing.
    """

    source = "KIP-595; UnifiedLog.truncateTo"
    explained_by = "truncated"
    says = "{replica} truncated to {offset}, below its log start offset {log_start}."

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and log start."""
        start = max(event.log_start_offset, self.history.previous_log_start)
        if event.target < start:
            self.violated(event.replica, event.target, log_start=start)
