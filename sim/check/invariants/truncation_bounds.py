"""How far down a truncation may go."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import Truncated


class NoTruncationBelowHw(Invariant):
    """A replica never truncates below its own high watermark.

    For all cuts of r to t: t >= hw(r) before.
    Judged: on each cut. Excused: nothing. That the batch which straddles t goes whole (UnifiedLog)
    is left to `hole-justified`.
    """

    name = "no-truncation-below-hw"
    source = "KIP-595; KafkaMetadataLog.truncateTo"
    family = LOG_DIVERGENCE
    explained_by = "truncated"

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and high watermark."""
        high_watermark = max(event.high_watermark, self.history.previous_high_watermark)
        if event.target < high_watermark:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated from {event.log_end_offset} to {event.target}, below "
                f"its high watermark {high_watermark}.",
            )


class TruncationBelowLogStart(Invariant):
    """A replica never truncates below its log start offset.

    For all cuts of r to t: t >= start(r).
    Judged: on each cut. Excused: nothing.
    """

    name = "truncation-below-log-start"
    source = "KIP-595; UnifiedLog.truncateTo"
    family = LOG_DIVERGENCE
    explained_by = "truncated"

    def on_truncated(self, event: Truncated) -> None:
        """Compare target and log start."""
        start = max(event.log_start_offset, self.history.previous_log_start)
        if event.target < start:
            self.violated(
                event.replica,
                event.target,
                None,
                f"{event.replica} truncated to {event.target}, below its log start offset {start}.",
            )
