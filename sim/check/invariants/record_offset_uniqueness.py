"""Records keep their offset on every replica."""

from collections.abc import Iterable

from sim.check.families import LOG_DIVERGENCE
from sim.check.registry import Invariant
from sim.log.record import Record
from sim.trace import Copied, Pushed


class RecordOffsetUniqueness(Invariant):
    """A record is found at one offset only, on all replicas.

    For all copies x' of a record x, on any replica: x'.offset = x.offset.
    Judged: on each copy and push. Excused: nothing.
    No usual event breaks it: the very batches that were appended have their records at their
    offsets.
    """

    name = "record-offset-uniqueness"
    source = "KIP-280"
    family = LOG_DIVERGENCE
    explained_by = "misplaced"
    unusual_only = True
    says = "{record} stands at offset {offset} on {replica}."

    def on_copied(self, event: Copied) -> None:
        """Compare each copy's offset with that of the append."""
        self._judge(event.replica, self.queries.altered(event.batches))

    def on_pushed(self, event: Pushed) -> None:
        """Compare the pushed copy's offset with that of the append."""
        self._judge(event.replica, event.batch.records)

    def _judge(self, replica: str, copies: Iterable[Record]) -> None:
        for copy in copies:
            if self.written[copy.uid].offset != copy.offset:
                self.violated_by(replica, copy.uid, offset=copy.offset)
