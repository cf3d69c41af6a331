"""Readers of one offset are given one record, whichever replica they read."""

from sim.check.invariant import ReaderInvariant
from sim.protocol.events import Consumed


class ConsistentRead(ReaderInvariant):
    """Two consumers that were given a record at the same offset were given the same record.

    For all records x, y given to anybody from any replica: x.offset = y.offset implies x = y.
    Judged: at each read. Excused: nothing.
    """

    source = "ConsistentRead (KIP-966 specification)"
    explained_by = "passed"
    in_stories = False
    says = "{first_reader} read {first} and {reader} read {record} at offset {offset}."

    def begin(self) -> None:
        """Nothing read yet."""
        self._alike: list[Consumed] = []
        self._read: dict[int, tuple[int, str]] = {}

    def on_consumed(self, event: Consumed) -> None:
        """Readers that were given committed records agree; compare all as soon as one was not."""
        self._alike.append(event)
        if self.history.reads_deviate:
            for each in self._alike:
                self._compare(each)
            self._alike.clear()

    def _compare(self, event: Consumed) -> None:
        """Compare with what was read first at each offset."""
        for record in event.records:
            first, reader = self._read.setdefault(record.offset, (record.uid, event.consumer))
            if first != record.uid:
                readers = {"first_reader": reader, "reader": event.consumer}
                where = (event.replica, record.offset, record.key)
                self.violated(*where, first=first, record=record.uid, **readers)
