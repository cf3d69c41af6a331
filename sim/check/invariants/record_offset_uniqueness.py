"""Records keep their offset on every replica."""

from __future__ import annotations

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.trace import Copied, Pushed


class RecordOffsetUniqueness(Invariant):
    """A record is found at one offset only, on all replicas.

    For all copies x' of a record x, on any replica: x'.offset = x.offset.
    Judged: on each copy and push. Excused: nothing.
    """

    name = "record-offset-uniqueness"
    source = "KIP-280"
    family = LOG_DIVERGENCE
    explained_by = "misplaced"
    unusual_only = True

    def on_copied(self, event: Copied) -> None:
        """Compare each copy's offset with that of the append."""
        for record in self.history.altered:
            if self.history.written[record.uid].offset != record.offset:
                self._report_moved(event.replica, record.uid, record.offset)

    def on_pushed(self, event: Pushed) -> None:
        """Compare the pushed copy's offset with that of the append."""
        for record in event.batch.records:
            if self.history.written[record.uid].offset != record.offset:
                self._report_moved(event.replica, record.uid, record.offset)

    def _report_moved(self, replica: str, uid: int, offset: int) -> None:
        self.violated(
            replica,
            offset,
            self.history.written[uid].key,
            f"{self.describe(uid)} stands at offset {offset} on {replica}.",
        )
