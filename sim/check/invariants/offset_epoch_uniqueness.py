"""One append for one offset in one epoch."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import Appended


class OffsetEpochUniqueness(Invariant):
    """An (offset, epoch) is assigned once.

    For all appended records x, y: x.offset = y.offset and x.epoch = y.epoch implies x = y.
    Judged: on append. Excused: nothing; a tail that was lost counts as assigned.
    """

    name = "offset-epoch-uniqueness"
    source = "KIP-595; QuorumState.initialize"
    family = LOG_DIVERGENCE
    explained_by = "two_records"
    unusual_only = True

    def on_appended(self, event: Appended) -> None:
        """Compare with the first record that got the same offset in the same epoch."""
        history, epoch = self.history, event.batch.epoch
        for record, first in history.reassigned:
            self.violated(
                event.replica,
                record.offset,
                record.key,
                f"{event.replica} gave offset {record.offset} in epoch {epoch} to "
                f"{self.describe(record.uid)}; it was given to {self.describe(first)}.",
            )
