"""The leader epoch cache: at which offset each epoch starts (KIP-101, KIP-279).

Source: LeaderEpochFileCache. Cleaning never edits it; truncation does.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple


class EpochEntry(NamedTuple):
    """An epoch and the first offset (inclusive) that was written in it."""

    epoch: int
    start_offset: int


class EpochEnd(NamedTuple):
    """Answer to "where does this epoch end?": the epoch found and its end offset (exclusive)."""

    epoch: int
    end_offset: int


class LeaderEpochCache:
    """Epochs of a log in ascending order, with ascending start offsets."""

    __slots__ = ("entries",)

    def __init__(self, entries: list[EpochEntry] | None = None) -> None:
        """Starts with the given entries, or empty."""
        self.entries: list[EpochEntry] = list(entries or [])

    @property
    def latest(self) -> int:
        """The newest epoch; -1 when nothing is known."""
        return self.entries[-1].epoch if self.entries else -1

    def assign(self, epoch: int, start_offset: int) -> None:
        """Notes that `epoch` starts at `start_offset`, unless that is already known.

        Entries that contradict the new one are dropped (LeaderEpochFileCache.assign).
        """
        entries = self.entries
        if entries:
            last = entries[-1]
            if last.epoch == epoch and last.start_offset <= start_offset:
                return
            while entries and (
                entries[-1].epoch >= epoch or entries[-1].start_offset >= start_offset
            ):
                entries.pop()
        entries.append(EpochEntry(epoch, start_offset))

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEnd:
        """The largest known epoch at or below `epoch`, and where it ends (exclusive).

        The newest epoch ends at the log end, also when `epoch` is above it
        (KafkaMetadataLog.endOffsetForEpoch). An `epoch` below all known ones is returned itself: it
        ends where the first known one starts, without known ones at the log end
        (LeaderEpochFileCache.endOffsetFor).
        """
        entries = self.entries
        above = bisect_right(entries, epoch, key=attrgetter("epoch"))
        return EpochEnd(
            entries[above - 1].epoch if above > 0 else epoch,
            entries[above].start_offset if above < len(entries) else log_end_offset,
        )

    def epoch_at(self, offset: int) -> int:
        """The epoch in which `offset` was written; -1 when it is below all known epochs."""
        for entry in reversed(self.entries):
            if entry.start_offset <= offset:
                return entry.epoch
        return -1

    def truncate_from(self, offset: int) -> None:
        """Drops the entries that start at or above `offset`."""
        while self.entries and self.entries[-1].start_offset >= offset:
            self.entries.pop()

    def truncate_to_start(self, offset: int) -> None:
        """Moves the start to `offset`: the last epoch that started before starts there now.

        Source: LeaderEpochFileCache.truncateFromStart.
        """
        before = [entry for entry in self.entries if entry.start_offset <= offset]
        if before:
            first = EpochEntry(before[-1].epoch, offset)
            self.entries = [first, *self.entries[len(before) :]]
