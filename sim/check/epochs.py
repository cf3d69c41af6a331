"""Where epochs start and end in a log, by the oracle's own book-keeping (KIP-101, KIP-279).

Nothing of it is shared with the leader epoch cache of replicas, `sim.log.epochs`.
"""

from __future__ import annotations

from typing import NamedTuple


class EpochStart(NamedTuple):
    """An epoch and the first offset (inclusive) that was written in it."""

    epoch: int
    start_offset: int


class EpochAnswer(NamedTuple):
    """The largest known epoch up to the one asked for, and its end offset (exclusive)."""

    epoch: int
    end_offset: int


class EpochBook:
    """The epochs of one log.

    Attributes:
        entries: In ascending order of epochs and of start offsets.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        """Nothing was written."""
        self.entries: list[EpochStart] = []

    @property
    def latest(self) -> int:
        """The newest epoch; -1 when nothing is known."""
        return self.entries[-1].epoch if self.entries else -1

    def begin(self, epoch: int, start_offset: int) -> None:
        """Note that an epoch starts at an offset, unless it has started before.

        What contradicts that is forgotten: entries of later epochs, and those at or above.
        """
        entries = self.entries
        if entries:
            last = entries[-1]
            if last.epoch == epoch and last.start_offset <= start_offset:
                return
            if last.epoch >= epoch or last.start_offset >= start_offset:
                self.entries = entries = [
                    one for one in entries if one.epoch < epoch and one.start_offset < start_offset
                ]
        entries.append(EpochStart(epoch, start_offset))

    def cut(self, end: int) -> None:
        """The log ends at `end` (exclusive): what starts there or above has not begun."""
        self.entries = [one for one in self.entries if one.start_offset < end]

    def answer(self, epoch: int, log_end_offset: int) -> EpochAnswer:
        """The largest known epoch at or below `epoch`, and where the next one starts.

        The newest ends at the log end. Below all known ones, and where none is known, the answer
        repeats the epoch that was asked for, with the start of the first one or the log end.
        """
        found, end = epoch, log_end_offset
        for one in reversed(self.entries):
            if one.epoch <= epoch:
                found = one.epoch
                break
            end = one.start_offset
        return EpochAnswer(found, end)
