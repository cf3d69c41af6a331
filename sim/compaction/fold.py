"""Folding a log into the table it stands for: one winning record per key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sim.compaction.strategies import Strategy
from sim.compaction.tombstones import TombstoneMark
from sim.compaction.transactions import AbortedRanges, transactions_in
from sim.log import Batch, Record


def data_below(batches: Iterable[Batch], below: int) -> Iterator[Record]:
    """The keyed data records below offset `below` (exclusive), in order of offsets.

    Data of aborted and of open transactions is left out: a transaction counts when its COMMIT
    marker is below `below`.
    """
    covered = [batch for batch in batches if batch.base_offset < below]
    transactions = transactions_in(covered, below=below)
    aborted = AbortedRanges(transactions)
    open_from = {t.producer_id: t.first_offset for t in transactions if t.control is None}
    for batch in covered:
        if batch.control is not None or batch in aborted:
            continue
        if batch.transactional and batch.base_offset >= open_from.get(batch.producer_id, below):
            continue
        for record in batch.records:
            if record.key is not None and record.offset < below:
                yield record


def fold(
    batches: Iterable[Batch],
    *,
    below: int,
    strategy: Strategy,
    is_tombstone: TombstoneMark,
    base: Iterable[Record] = (),
) -> dict[str, Record]:
    """The winning record of each key below offset `below` (exclusive); a tombstone removes its key.

    Data of aborted and of open transactions is ignored. `base` holds the records of a snapshot that
    the log continues.
    """
    winners: dict[str, Record] = {}
    for record in base:
        if record.key is not None:
            winners[record.key] = record
    for record in data_below(batches, below):
        assert record.key is not None
        current = winners.get(record.key)
        if current is None or strategy.version(record) > strategy.version(current):
            winners[record.key] = record
    return {key: record for key, record in winners.items() if not is_tombstone(record)}
