"""Transactions as the cleaner sees them: what is open, what was aborted, when a marker may go.

The cleaner reads the segments' indexes of aborted transactions, as Kafka's does; folding a log into
a table derives the same from the batches (`fold`). Source: CleanedTransactionMetadata,
TransactionIndex.collectAbortedTxns.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from sim.protocol.compaction.strategies import PassFailed
from sim.protocol.log import AbortedTransaction, Batch, Control, Segment

# Looking up a member by its name costs as much as a call, and markers are asked for it.
_ABORT, _COMMIT = Control.ABORT, Control.COMMIT


def aborted_in(
    segments: Sequence[Segment], start: int, end: int, *, first: int = 0
) -> list[AbortedTransaction]:
    """Index entries of transactions that touch [start, end), from the segment at `first` on.

    Their markers may lie beyond `end`: later segments are asked, too, until an entry says that no
    transaction that began below `end` was open. Source: TransactionIndex.collectAbortedTxns.
    """
    found = []
    for index in range(first, len(segments)):
        for entry in segments[index].aborted:
            if entry.last_offset >= start and entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found
    return found


class TransactionWatch:
    """Walks batches in offset order: which data is aborted, which markers have none left.

    Source: CleanedTransactionMetadata. Empty batches count like full ones.

    Attributes:
        kept: Index entries of the ABORT markers that still have data, to be kept with them.
        unended: Base offset of each batch that counts as aborted though it comes after the marker
            of that transaction, which was not met -> offset of that marker.
    """

    def __init__(
        self, aborted: Iterable[AbortedTransaction] = (), *, writes_index: bool = False
    ) -> None:
        """Starts before the first batch; `aborted` as in `add`. Only copying writes an index."""
        self._writes_index = writes_index
        self._waiting: list[tuple[int, AbortedTransaction]] = []
        self._active: dict[int, AbortedTransaction] = {}
        self._seen: set[int] = set()
        self._committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []
        self.unended: dict[int, int] = {}
        self.add(aborted)

    def add(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Adds aborted transactions; one that begins while its producer has another is ignored."""
        for entry in aborted:
            heapq.heappush(self._waiting, (entry.first_offset, entry))

    def decides(self, batch: Batch) -> bool:
        """Notes a batch; true for data of an aborted transaction and for a marker without data.

        A marker may go when no batch of its transaction was seen. A control batch that is empty
        may always go, one with a record only if it is a COMMIT or an ABORT.

        Raises:
            PassFailed: The index that is written cannot take the entry of an ABORT marker. A
                transaction whose own marker was evicted counts as open: the next ABORT marker of
                its producer adds its entry, and the index may have a later one by then. Until
                KAFKA-14055 a user's key could evict markers; what is left from then stops later
                releases, too (CleanedTransactionMetadata.onControlBatchRead; TransactionIndex
                .append, which throws IllegalArgumentException).
        """
        waiting, producer_id = self._waiting, batch.producer_id
        while waiting and waiting[0][0] <= batch.last_offset:
            entry = heapq.heappop(waiting)[1]
            self._active.setdefault(entry.producer_id, entry)
        control = batch.control
        if control is None:
            if not batch.transactional:
                return False
            active = self._active.get(producer_id)
            if active is not None:
                if active.last_offset < batch.base_offset:
                    self.unended[batch.base_offset] = active.last_offset
                self._seen.add(producer_id)
                return True
            self._committed.add(producer_id)
            return False
        if not batch.records:
            return True
        if control is _ABORT:
            return self._abort(producer_id, batch.base_offset)
        if control is _COMMIT:
            seen = producer_id in self._committed
            self._committed.discard(producer_id)
            return not seen
        return False

    def _abort(self, producer_id: int, offset: int) -> bool:
        entry = self._active.pop(producer_id, None)
        if entry is None or producer_id not in self._seen:
            return True
        self._seen.discard(producer_id)
        if self._writes_index:
            kept = self.kept
            if kept and kept[-1].last_offset >= entry.last_offset:
                raise PassFailed(
                    offset,
                    f"the ABORT marker at offset {offset} ends a transaction whose own marker, at "
                    f"{entry.last_offset}, is gone; its entry cannot follow that of "
                    f"{kept[-1].last_offset} in the index of aborted transactions",
                )
            kept.append(entry)
        return False
