"""High watermarks stay within the log."""

from typing import Any

from sim.check.invariant import LogInvariant
from sim.check.listening import CUT
from sim.protocol.events import Cleaned, HighWatermarkMoved


class HwWithinLog(LogInvariant):
    """The high watermark never exceeds the log end offset.

    For all replicas r: hw(r) <= end(r).
    Judged: when either may have changed: on moves of the high watermark, passes, cuts, crashes and
    restarts. Excused: nothing.
    No usual event breaks it: a usual high watermark is within its log, and a usual pass leaves
    the log end.
    """

    source = "LogCabin, RaftConsensusInvariants"
    explained_by = "high_watermark_fell"
    unusual_only = True
    says = "{replica} has high watermark {offset} above its log end offset {log_end}."
    any_of = (HighWatermarkMoved, Cleaned, *CUT)

    def on_any_of(self, event: Any) -> None:
        """Compare the two."""
        view = self.replicas[event.replica]
        if view.high_watermark > view.log_end_offset:
            self.violated(event.replica, view.high_watermark, log_end=view.log_end_offset)
