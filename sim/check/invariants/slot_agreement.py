"""Below the high watermark one offset is one record, on every replica (KIP-280)."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import Appended, Copied, HighWatermarkMoved, Pushed, ReplicaRestarted


class SlotAgreement(Invariant):
    """No two replicas hold different records at an offset below both high watermarks.

    For all replicas r, s, offsets o < min(hw(r), hw(s)): if both hold a record at o it is the same.
    Judged: on what is written, on moves of a high watermark, at restarts; down replicas as well.
    Excused: empty batches and holes; offsets at or above one of both marks, where logs may differ
    for a while (Raft).
    """

    name = "slot-agreement"
    source = "KIP-280"
    family = LOG_DIVERGENCE
    explained_by = "two_records"
    unusual_only = True

    def on_high_watermark_moved(self, _: HighWatermarkMoved) -> None:
        """An advance may bring a disagreement below both high watermarks."""
        self._judge()

    def on_copied(self, _: Copied) -> None:
        """So may a copy."""
        self._judge()

    def on_pushed(self, _: Pushed) -> None:
        """And a push."""
        self._judge()

    def on_appended(self, _: Appended) -> None:
        """And an append."""
        self._judge()

    def on_replica_restarted(self, _: ReplicaRestarted) -> None:
        """And a high watermark that a restart found on disk."""
        self._judge()

    def _judge(self) -> None:
        for offset, view, other in self.history.disagreements:
            if offset < view.high_watermark and offset < other.high_watermark:
                self.violated(
                    view.name,
                    offset,
                    None,
                    f"offset {offset} is {self.describe(view.slots[offset])} on {view.name} and "
                    f"{self.describe(other.slots[offset])} on {other.name}, below both high "
                    f"watermarks ({view.high_watermark} and {other.high_watermark}).",
                )
