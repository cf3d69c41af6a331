"""What consumers take for a delete while marks of two kinds are about (KIP-87)."""

from sim.check.invariant import ReaderInvariant
from sim.protocol.events import Understood


class ConsumerTakesDeletes(ReaderInvariant):
    """A consumer takes tombstones for deletes, and nothing else.

    For all keyed records x given to a consumer of a declared version: it takes x for a delete if,
    and only if, x is a tombstone under the rules of the run.
    Judged: as they are given. An old consumer knows null values alone, and so does an application
    on a new one that was not changed. Excused: consumers that declare no version.
    """

    source = "KIP-87, Migration Plan and its vote thread"
    explained_by = "understood"
    in_stories = False
    says = "{reader} took the {record} for {what}."

    def on_understood(self, event: Understood) -> None:
        """Compare with what marks a tombstone under the rules of the run."""
        for records, as_delete in ((event.values, False), (event.deletes, True)):
            for record in records:
                if self.written[record.uid].tombstone != as_delete:
                    what = "a delete" if as_delete else f"data: {record.key}={record.value}"
                    told = {"reader": event.consumer, "what": what}
                    where = (event.replica, record.offset, record.key)
                    self.violated(*where, record=record.uid, **told)
