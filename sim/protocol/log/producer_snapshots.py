"""Snapshots of what a log knew of its producers, taken where segments begin.

A truncation goes back to the newest one that is left and reads the log from there. So it remembers
batches that the cleaner has taken away since, and forgets all but the last batch of each producer.
Source: ProducerStateManager.takeSnapshot, .truncateAndReload; UnifiedLog.rebuildProducerState.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sim.protocol.log.producers import ProducerStates, SnapshotEntry


class Restored(NamedTuple):
    """What was known at an offset (exclusive end)."""

    offset: int
    producers: ProducerStates


class ProducerSnapshots:
    """The snapshots of one log, by the offset (exclusive end) that each of them covers.

    Attributes:
        newest: Offset of the one that was taken last, whether or not it is still there; no other is
            taken at or below it.
    """

    __slots__ = ("_taken", "newest")

    def __init__(self, offset: int = 0) -> None:
        """None yet, for a log that starts at `offset`."""
        self._taken: dict[int, dict[int, SnapshotEntry]] = {}
        self.newest = offset

    @property
    def offsets(self) -> list[int]:
        """The offsets of those that are left, in ascending order."""
        return sorted(self._taken)

    def take(self, offset: int, producers: ProducerStates) -> None:
        """Keep what is known now, unless there was one of that offset or a higher one."""
        if offset > self.newest:
            self._taken[offset] = producers.snapshot()
            self.newest = offset

    def forget(self, bases: Iterable[int]) -> None:
        """The segments that begin at `bases` are gone, and their snapshots with them."""
        for base in bases:
            self._taken.pop(base, None)

    def start_at(self, offset: int) -> None:
        """The log start moved up to `offset` (ProducerStateManager.onLogStartOffsetIncremented)."""
        self.newest = max(self._taken, default=offset)

    def restored(self, log_start_offset: int, end: int) -> Restored:
        """What the newest one at or below `end` and above the log start says, else nothing.

        The others are removed.
        """
        for offset in self.offsets:
            if not log_start_offset < offset <= end:
                del self._taken[offset]
        if not self._taken:
            self.newest = log_start_offset
            return Restored(log_start_offset, ProducerStates())
        self.newest = max(self._taken)
        return Restored(self.newest, ProducerStates.read(self._taken[self.newest]))
