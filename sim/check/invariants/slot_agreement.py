"""Below the high watermark one offset is one record, on every replica (KIP-280)."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.trace import Appended, Copied, HighWatermarkMoved, Pushed


class SlotAgreement(Invariant):
    """No two replicas hold different records at an offset below both high watermarks."""

    name = "slot-agreement"
    source = "KIP-280"

    def on_high_watermark_moved(self, event: HighWatermarkMoved) -> None:
        """An advance may bring a disagreement below both high watermarks."""
        if self.history.disagreeing_offsets:
            self._judge()

    def on_copied(self, event: Copied) -> None:
        """So may a copy."""
        if self.history.disagreeing_offsets:
            self._judge()

    def on_pushed(self, event: Pushed) -> None:
        """And a push."""
        if self.history.disagreeing_offsets:
            self._judge()

    def on_appended(self, event: Appended) -> None:
        """And an append."""
        if self.history.disagreeing_offsets:
            self._judge()

    def _judge(self) -> None:
        history = self.history
        for offset in history.disagreeing_offsets:
            for view, other in self.queries.pairs_differing(offset):
                if offset < view.high_watermark and offset < other.high_watermark:
                    self.violated(
                        view.name,
                        offset,
                        None,
                        f"offset {offset} is {self.describe(view.slots[offset])} on {view.name} "
                        f"and {self.describe(other.slots[offset])} on {other.name}, below both "
                        f"high watermarks ({view.high_watermark} and {other.high_watermark}).",
                    )
