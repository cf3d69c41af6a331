"""Readers that stop at the end: three ways in use to tell that a reader has everything.

Each is right on a log from which nothing was ever removed. A cleaned log may hold no record, and no
batch, at its last offset, and fewer records than offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sim.log import Record
from sim.trace import ReadingEnded

WAYS = ("position", "last_offset", "count")
"""How a reader tells the end: by its position, by the offset of the last record it was given plus
one, or by the number of records. All compare with the end offset that it asked for first."""


@dataclass(slots=True)
class ReadingGoal:
    """One reader on its way to the end.

    Attributes:
        until: One of `WAYS`.
        start: Its position when it began (inclusive).
        end: The end offset it was told then (exclusive).
        last_offset: Offset of the last record it was given; -1 = none.
        count: Records it was given.
    """

    until: str
    start: int
    end: int
    last_offset: int = -1
    count: int = 0

    def note(self, records: Sequence[Record]) -> None:
        """Take in what a fetch brought."""
        if records:
            self.last_offset = records[-1].offset
            self.count += len(records)

    def reached(self, position: int) -> bool:
        """Whether the reader stops at `position`; one that began at the end does at once."""
        if self.start >= self.end:
            return True
        if self.until == "position":
            return position >= self.end
        if self.until == "last_offset":
            return self.last_offset + 1 >= self.end
        return self.count >= self.end - self.start

    def ended(self, replica: str, consumer: str, position: int) -> ReadingEnded:
        """What there is to tell when it stops, or when nothing more is to come."""
        return ReadingEnded(
            replica,
            consumer,
            self.until,
            self.start,
            self.end,
            position,
            self.last_offset,
            self.count,
        )
