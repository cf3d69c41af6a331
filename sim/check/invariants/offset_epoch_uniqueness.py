"""One append for one offset in one epoch."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import Appended


class OffsetEpochUniqueness(LogInvariant):
    """An (offset, epoch) is assigned once.

    For all appended records x, y: x.offset = y.offset and x.epoch = y.epoch implies x = y.
    Judged: on append. Excused: nothing; a tail that was lost counts as assigned.
    No usual event breaks it: its offsets were given to nobody in that epoch.
    """

    source = "KIP-595; QuorumState.initialize"
    explained_by = "two_records"
    unusual_only = True
    says = "{replica} gave offset {offset} in epoch {epoch} to {record}; it was given to {first}."

    def on_appended(self, event: Appended) -> None:
        """Compare with the first record that got the same offset in the same epoch."""
        for record, first in self.history.reassigned:
            self.violated(
                event.replica,
                record.offset,
                record.key,
                epoch=event.batch.epoch,
                record=record.uid,
                first=first,
            )
