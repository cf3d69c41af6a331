"""What events say that one replica holds, offset by offset."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sim.protocol.log.record import Batch, Record

HOLE: Final = 0
"""No record and no batch at this offset."""

EMPTY: Final = -1
"""A batch without records at this offset: its offsets and epoch are kept."""


class ReplicaView:
    """The log of one replica as events tell it.

    Attributes:
        name: The replica.
        up: False while it is down; what it holds still counts.
        log_start_offset: First offset of the log (inclusive).
        high_watermark: As far as it knows what is committed (exclusive).
        first_dirty_offset: Everything below was cleaned (exclusive).
        slots: Index = offset; the uid there, EMPTY or HOLE. Its length is the log end offset.
        lineage: Index = offset; the uid last written there in this log's history, kept when
            cleaning removes the record and inherited with a copied gap; 0 = unknown.
        unexplained_offsets: Where the slot is not the committed record and no committed fact
            explains its absence for good; they are judged when somebody asks.
        log_end_offset_before: The log end offset before the latest cleaning pass or crash.
        snapshots: (end offset, epoch) -> its records.
        horizons: Base offset of a batch -> delete horizon in ms.
        losses: Rises whenever a tombstone or a marker of the committed history went from this log
            or did not come, whatever the cause; a log that was replaced counts on.
        last_batch: What was appended or copied last, as it came.
        highest_epoch: No record of this log was of a higher one.
    """

    def __init__(self, name: str, *, starts_at: int = 0) -> None:
        """An empty log that starts, and ends, at an offset; all below it is committed."""
        self.name = name
        self.up = True
        self.log_start_offset = starts_at
        self.high_watermark = starts_at
        self.first_dirty_offset = starts_at
        self.slots: list[int] = [HOLE] * starts_at
        self.lineage: list[int] = [0] * starts_at
        self.unexplained_offsets: set[int] = set()
        self.log_end_offset_before = 0
        self.snapshots: dict[tuple[int, int], tuple[Record, ...]] = {}
        self.horizons: dict[int, int] = {}
        self.losses = 0
        self.last_batch: Batch | None = None
        self.highest_epoch = -1

    @property
    def log_end_offset(self) -> int:
        """Where the next record will be written (exclusive end of the log)."""
        return len(self.slots)

    def uid_at(self, offset: int) -> int:
        """The uid at `offset`, EMPTY or HOLE."""
        return self.slots[offset] if offset < len(self.slots) else HOLE

    def known_to_be_committed(self) -> list[int]:
        """The slots from the log start up to its own high watermark."""
        return self.slots[self.log_start_offset : self.high_watermark]

    def covers(self, offset: int) -> bool:
        """Whether an offset is in the log, from its start (inclusive) to its end (exclusive)."""
        return self.log_start_offset <= offset < len(self.slots)

    def overwrite_from(self, offset: int) -> None:
        """Forget what is at or above `offset`: a core with a mistake writes there once more."""
        del self.slots[offset:]
        del self.lineage[offset:]
        self.unexplained_offsets = {each for each in self.unexplained_offsets if each < offset}

    def lose(self, offsets: Iterable[int]) -> None:
        """Leave holes where something was."""
        self.losses += 1
        for offset in offsets:
            self.slots[offset] = HOLE

    def truncate_to(self, end: int) -> None:
        """Forget everything at or above `end`."""
        if end < len(self.slots):
            self.losses += 1
            self.overwrite_from(end)
        self.horizons = {base: at for base, at in self.horizons.items() if base < end}
        self.high_watermark = min(self.high_watermark, end)
        self.first_dirty_offset = min(self.first_dirty_offset, end)
