"""What a replica knows of idempotent producers: the last sequence number of each (KIP-98).

Every replica keeps it as it appends, leader or follower, and derives it again from its log when the
log was cut or replaced (ProducerStateManager). A producer has one batch in flight at a time, so a
sequence number at or below the last one is a repetition, and a gap is a batch it gave up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sim.log import Batch


class LastBatch(NamedTuple):
    """The newest data batch of a producer: its last sequence number and last offset (inclusive)."""

    sequence: int
    offset: int


class ProducerStates:
    """The newest batch of every idempotent producer, and who has a transaction open."""

    __slots__ = ("last", "open_since")

    def __init__(self) -> None:
        """Nothing is known of anybody."""
        self.last: dict[int, LastBatch] = {}
        self.open_since: dict[int, int] = {}

    def note(self, batch: Batch) -> None:
        """Take in a batch that was appended."""
        producer_id = batch.producer_id
        if producer_id < 0:
            return
        if batch.control is not None:
            self.open_since.pop(producer_id, None)
            return
        if batch.transactional:
            self.open_since.setdefault(producer_id, batch.base_offset)
        if batch.base_sequence >= 0:
            sequence = batch.base_sequence + batch.last_offset - batch.base_offset
            self.last[producer_id] = LastBatch(sequence, batch.last_offset)

    def rebuild(self, batches: Iterable[Batch]) -> None:
        """Forget everything and read a log again, from its start.

        What a cleaner has taken away is not seen; a batch that it kept empty still counts.
        """
        self.last.clear()
        self.open_since.clear()
        for batch in batches:
            self.note(batch)

    def repeated(self, producer_id: int, base_sequence: int) -> LastBatch | None:
        """The newest batch of a producer, if that or an older one has this sequence number."""
        last = self.last.get(producer_id)
        return last if last is not None and base_sequence <= last.sequence else None
