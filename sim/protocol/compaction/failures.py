"""Failures of a cleaning pass: the log is not cleaned again before a restart (KAFKA-7215)."""

from __future__ import annotations


class PassFailed(ValueError):
    """A pass cannot go on.

    Attributes:
        offset: Offset of the record, or base offset of the batch, that the pass could not clean.
    """

    def __init__(self, offset: int, why: str) -> None:
        """Fails at `offset`; `why` is a clause of the message that names the offset."""
        super().__init__(why)
        self.offset = offset


class UnreadableVersion(PassFailed):
    """A version header without a readable number."""

    def __init__(self, offset: int) -> None:
        """The header of the record at `offset` cannot be read."""
        super().__init__(
            offset, f"the version header at offset {offset} ends before its number does"
        )


class NoEmptyOldBatch(PassFailed):
    """A batch of magic 0 or 1 that has to stay without records: such formats have no empty batch.

    Source: MemoryRecords.filterTo, IllegalStateException.
    """

    def __init__(self, offset: int, magic: int) -> None:
        """The batch begins at `offset`."""
        super().__init__(
            offset,
            f"the batch at offset {offset} would have to stay without records, which magic "
            f"{magic} cannot say",
        )


class NoSuchProducerState(PassFailed):
    """A batch that has to be rewritten and has a producer, but no sequence or no producer epoch.

    Leaders refuse such a batch, but a log may have it. A batch that keeps its header alone is not
    checked.
    Source: MemoryRecordsBuilder.validateProducerState, IllegalArgumentException.
    """

    def __init__(self, offset: int, lacks: str) -> None:
        """The batch begins at `offset`; `lacks` is what Kafka calls the number that is missing."""
        super().__init__(
            offset,
            f"the batch at offset {offset} has a producer and a negative {lacks}, so it cannot be "
            "written anew",
        )


class IndexOutOfOrder(PassFailed):
    """The index of aborted transactions of a cleaned segment would not be in order any more.

    A transaction whose ABORT marker was evicted counts as open: the next ABORT marker of its
    producer adds its entry to the index, which by then may have a later entry. Until KAFKA-14055 a
    user's key could evict markers; what is left from then stops later releases, too.
    Source: CleanedTransactionMetadata.onControlBatchRead; TransactionIndex.append, which throws
    IllegalArgumentException.
    """

    def __init__(self, offset: int, last_offset: int, newest: int) -> None:
        """The marker at `offset` adds an entry that ends at `last_offset`, below `newest`."""
        super().__init__(
            offset,
            f"the ABORT marker at offset {offset} ends a transaction whose own marker, at "
            f"{last_offset}, is gone; its entry cannot follow that of {newest} in the index of "
            "aborted transactions",
        )
