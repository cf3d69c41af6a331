"""High watermarks rise."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.trace import HighWatermarkMoved


class HwMonotonic(Invariant):
    """A high watermark falls only with a lost tail, a truncation or a wipe.

    For all moves of the high watermark of r from h to h': h' >= h.
    Judged: on each move. Excused: what a crash, a restart from an older checkpoint, a cut or a new
    disk leaves, which those events tell themselves.
    """

    name = "hw-monotonic"
    source = "MonotonicHighWatermark (RaftEventSimulationTest)"
    in_stories = False
    unusual_only = True

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Compare with the one before; what may lower it has its own events."""
        before = self.history.previous_high_watermark
        if event.high_watermark < before:
            self.violated(
                event.replica,
                event.high_watermark,
                None,
                f"{event.replica} moved its high watermark back from {before} to "
                f"{event.high_watermark}.",
            )
