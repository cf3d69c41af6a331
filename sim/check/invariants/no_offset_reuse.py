"""A committed offset is taken for good (KIP-280)."""

from sim.check.invariant import LogInvariant
from sim.protocol.events import Appended


class NoOffsetReuse(LogInvariant):
    """An offset that was committed is never assigned again.

    For all records x that a leader appends: x.offset >= N.
    Judged: on append. Excused: in simulated time an append by a deposed leader that has not heard
    of it yet: epochs are there for it, it is never committed and cut when the leader hears.
    Stories, which have no such excuse, count it.
    No usual event breaks it: an append at the end, above all that is committed, reuses
    nothing.
    """

    source = "KIP-280; KAFKA-17076"
    explained_by = "two_records"
    unusual_only = True
    says = "{replica} gave offset {offset} to {record}, but it was committed as {first}."

    def on_appended(self, event: Appended) -> None:
        """Compare with the committed history."""
        committed, batch = self.committed, event.batch
        if batch.base_offset >= len(committed):
            return
        if not self.history.zombies_count and batch.epoch < self.history.newest_epoch:
            return
        for record in batch.records:
            offset, uid = record.offset, record.uid
            if offset < len(committed) and committed[offset] != uid:
                first = self.describe(committed[offset])
                self.violated_by(event.replica, uid, offset, first=first)
