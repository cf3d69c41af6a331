"""Transactions as the cleaner sees them: what is open, what was aborted, when a marker may go.

Source: CleanedTransactionMetadata, ProducerStateManager.firstUnstableOffset, and
`TransactionIndex.collectAbortedTxns`, whose answer is derived here from the log itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sim.log import Batch, Control


class Transaction(NamedTuple):
    """One transaction in a log.

    Attributes:
        producer_id: Who wrote it.
        first_offset: Base offset of its first surviving batch (an empty batch counts).
        marker_offset: Offset of its marker; None while it is open.
        control: COMMIT or ABORT; None while it is open.
    """

    producer_id: int
    first_offset: int
    marker_offset: int | None
    control: Control | None


def transactions_in(batches: Iterable[Batch], *, below: int) -> list[Transaction]:
    """Transactions with a batch below `below`; one is open unless its marker is below it, too."""
    found: list[Transaction] = []
    open_since: dict[int, int] = {}
    for batch in batches:
        if batch.last_offset >= below:
            break
        if not batch.transactional:
            continue
        producer_id = batch.producer_id
        if batch.control is None:
            open_since.setdefault(producer_id, batch.base_offset)
        elif producer_id in open_since:
            first = open_since.pop(producer_id)
            found.append(Transaction(producer_id, first, batch.base_offset, batch.control))
    found.extend(
        Transaction(producer_id, first, None, None) for producer_id, first in open_since.items()
    )
    return found


def first_unstable_offset(transactions: Iterable[Transaction]) -> int | None:
    """First offset of the oldest open transaction; None when all are decided."""
    return min([t.first_offset for t in transactions if t.control is None], default=None)


class AbortedRanges:
    """Answers whether a data batch belongs to an aborted transaction."""

    __slots__ = ("_ranges",)

    def __init__(self, transactions: Iterable[Transaction]) -> None:
        """Keep the aborted ones of `transactions`."""
        self._ranges: dict[int, list[tuple[int, int]]] = {}
        for t in transactions:
            if t.control is Control.ABORT and t.marker_offset is not None:
                self._ranges.setdefault(t.producer_id, []).append((t.first_offset, t.marker_offset))

    def __contains__(self, batch: Batch) -> bool:
        """True for transactional data between the first offset and the ABORT marker."""
        ranges = self._ranges.get(batch.producer_id)
        return (
            ranges is not None
            and batch.transactional
            and batch.control is None
            and any(first <= batch.base_offset < marker for first, marker in ranges)
        )


class MarkerWatch:
    """Walks the batches of a pass and says which markers have no data left to decide."""

    __slots__ = ("_seen",)

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._seen: set[int] = set()

    def may_discard(self, batch: Batch) -> bool:
        """Note a batch; true for a marker of whose transaction no batch was seen in this pass.

        Empty batches count like full ones; an emptied marker may always go; control batches other
        than COMMIT and ABORT never may (CleanedTransactionMetadata.onControlBatchRead).
        """
        if batch.control is None:
            self._seen.add(batch.producer_id)
            return False
        if batch.control is Control.LEADER_CHANGE:
            return False
        seen = batch.producer_id in self._seen
        self._seen.discard(batch.producer_id)
        return not seen or not batch.records
