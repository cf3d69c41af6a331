"""High watermarks rise."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import HighWatermarkMoved


class HwMonotonic(LogInvariant):
    """A high watermark falls only with a lost tail, a truncation or a wipe.

    For all moves of the high watermark of r from h to h': h' >= h.
    Judged: on each move. Excused: what a crash, a restart from an older checkpoint, a cut or a new
    disk leaves, which those events tell themselves; and with `commit: isr` and
    `high_watermark_update: assign` the moves of followers. A broker takes what its leader says, and
    only logs that it is less (UnifiedLog.updateHighWatermarkMetadata): a leader that was just
    elected may know less than its followers, has all that is committed, and learns of it with their
    next fetches. In a quorum a leader says nothing before it knows as much (KIP-595).
    No usual event breaks it: a usual high watermark rises.
    """

    source = "MonotonicHighWatermark (RaftEventSimulationTest); UnifiedLog.maybeUpdateHighWatermark"
    explained_by = "high_watermark_fell"
    in_stories = False
    unusual_only = True
    says = "{replica} moved its high watermark back from {before} to {offset}."

    def begin(self) -> None:
        """Whether followers may take less."""
        update = self.history.rules.replication.high_watermark_update
        self._assigned = self.history.by_isr and update == "assign"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """Compare with the one before; what may lower it has its own events."""
        before = self.history.previous_high_watermark
        if event.high_watermark < before and (event.leading or not self._assigned):
            self.violated(event.replica, event.high_watermark, before=before)
