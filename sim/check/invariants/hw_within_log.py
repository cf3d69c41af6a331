"""High watermarks stay within the log."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import (
    Cleaned,
    HighWatermarkMoved,
    ReplicaCrashed,
    ReplicaRestarted,
    Truncated,
)


class HwWithinLog(Invariant):
    """The high watermark never exceeds the log end offset.

    For all replicas r: hw(r) <= end(r).
    Judged: when either may have changed: on moves of the high watermark, passes, cuts, crashes and
    restarts. Excused: nothing.
    """

    name = "hw-within-log"
    source = "LogCabin, RaftConsensusInvariants"
    family = LOG_DIVERGENCE
    explained_by = "high_watermark_fell"
    unusual_only = True

    def _judge(self, replica: str) -> None:
        view = self.history.replicas[replica]
        if view.high_watermark > len(view.slots):
            self.violated(
                replica,
                view.high_watermark,
                None,
                f"{replica} has high watermark {view.high_watermark} above its log end "
                f"offset {view.log_end_offset}.",
            )

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """After an advance."""
        self._judge(event.replica)

    def on_replica_crashed(self, event: ReplicaCrashed) -> None:
        """After a lost tail."""
        self._judge(event.replica)

    def on_replica_restarted(self, event: ReplicaRestarted) -> None:
        """After what a restart found on disk."""
        self._judge(event.replica)

    def on_cleaned(self, event: Cleaned) -> None:
        """After a pass that may have moved the log end."""
        self._judge(event.replica)

    def on_truncated(self, event: Truncated) -> None:
        """After a truncation."""
        self._judge(event.replica)
