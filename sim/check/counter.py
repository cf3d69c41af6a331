"""What a counter of a run is."""

from __future__ import annotations

from typing import NamedTuple

COUNTED_HERE = "sim.check.counters"


class Counter(NamedTuple):
    """An integer that says what happened how often in a run, or what it cost.

    Attributes:
        column: Its place in the order of every table, from 0. It is published: a new counter takes
            the next number.
        unit: Such as `ms` or `bytes`.
        means: In a sentence.
        source: Who counts it, or a KIP, rule or invariant that defines it.
        of: The events that it is the number of; None = it is counted in another way.
        title: What reports call it that compare it as a cost; empty = they do not.
    """

    column: int
    unit: str
    means: str
    source: str = COUNTED_HERE
    of: type | None = None
    title: str = ""

    def compared_as(self, title: str) -> Counter:
        """The same; reports compare it as a cost, and call it `title`."""
        return self._replace(title=title)
