"""Records keep their offset on every replica."""

from sim.check.invariant import LogInvariant, Writing, batches_of


class RecordOffsetUniqueness(LogInvariant):
    """A record is found at one offset only, on all replicas.

    For all copies x' of a record x, on any replica: x'.offset = x.offset.
    Judged: on each copy and push. Excused: nothing.
    No usual event breaks it: the very batches that were appended have their records at their
    offsets.
    """

    source = "KIP-280"
    explained_by = "misplaced"
    unusual_only = True
    says = "{record} stands at offset {offset} on {replica}."

    def on_written(self, event: Writing) -> None:
        """Compare each copy's offset with that of the append."""
        for batch in batches_of(event):
            for copy in batch.records:
                if self.written[copy.uid].offset != copy.offset:
                    self.violated_by(event.replica, copy.uid, copy.offset)
