"""Records are not changed on their way to followers and consumers."""

from __future__ import annotations

from sim.check.registry import Invariant
from sim.compaction.tombstones import without_record_horizon
from sim.trace import Consumed, Copied


class RecordImmutable(Invariant):
    """Whatever a follower copies and a consumer reads is, field by field, what was appended.

    The header that `record_horizon` adds is a matter of the replicas: no reader may be given it. A
    format without the flag may leave it out (KIP-87), as long as a delete stays one.
    """

    name = "record-immutable"
    source = (
        "KIP-534 (timestamps read back unchanged; Rejected Alternatives); KIP-87, Migration Plan"
    )
    in_stories = False
    unusual_only = True

    def on_copied(self, event: Copied) -> None:
        """Compare each copied record with the append."""
        for record in self.history.altered:
            original = self.history.written[record.uid].record
            copy = without_record_horizon(record)
            if copy == original:
                continue
            deletes = self.history.is_tombstone
            same = copy._replace(flagged=original.flagged) == original
            if not same or deletes(copy) != deletes(original):
                self.violated(
                    event.replica,
                    record.offset,
                    record.key,
                    f"{event.replica} copied {record} where {original} was appended.",
                )

    def on_consumed(self, event: Consumed) -> None:
        """Compare each record a consumer is given with the append.

        What it takes for a delete is left to `consumer-takes-deletes`.
        """
        written = self.history.written
        for record in event.records:
            original = written[record.uid].record
            if record is original or record == original:
                continue
            if record._replace(flagged=original.flagged) != original:
                self.violated(
                    event.replica,
                    record.offset,
                    record.key,
                    f"{event.consumer} read {record} where {original} was appended.",
                )
