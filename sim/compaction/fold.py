"""Folding a log into the table it stands for: one winning record per key."""

from __future__ import annotations

from collections.abc import Iterable

from sim.compaction.strategies import Strategy
from sim.compaction.tombstones import TombstoneMark
from sim.compaction.transactions import AbortedRanges, transactions_in
from sim.log import Batch, Record


def fold(
    batches: Iterable[Batch],
    *,
    below: int,
    strategy: Strategy,
    is_tombstone: TombstoneMark,
    base: Iterable[Record] = (),
) -> dict[str, Record]:
    """The winning record of each key below offset `below` (exclusive); a tombstone removes its key.

    Data of aborted and of open transactions is ignored: a transaction counts when its COMMIT marker
    is below `below`. `base` holds the records of a snapshot that the log continues.
    """
    covered = [batch for batch in batches if batch.base_offset < below]
    transactions = transactions_in(covered, below=below)
    aborted = AbortedRanges(transactions)
    open_from = {t.producer_id: t.first_offset for t in transactions if t.control is None}
    winners: dict[str, Record] = {}
    for record in base:
        if record.key is not None:
            winners[record.key] = record
    for batch in covered:
        if batch.control is not None or batch in aborted:
            continue
        if batch.transactional and batch.base_offset >= open_from.get(batch.producer_id, below):
            continue
        for record in batch.records:
            if record.key is None or record.offset >= below:
                continue
            current = winners.get(record.key)
            if current is None or strategy.version(record) > strategy.version(current):
                winners[record.key] = record
    return {key: record for key, record in winners.items() if not is_tombstone(record)}
