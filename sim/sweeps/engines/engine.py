"""What the runner of a sweep asks of an engine."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from sim.sweeps.statistics import Facts


class Engine(Protocol):
    """What simulates blocks and writes them into the table, and counts what is in it."""

    @property
    def cores(self) -> int:
        """How many runs go on at a time."""

    def warm_up(self) -> None:
        """Start what is needed before the first block."""

    def there(self, tell: Callable[[str], None]) -> tuple[range, ...]:
        """The cases that are in the table.

        `tell` gets a line for whatever is damaged, and set aside where that can be done. Raises
        BadInput elsewhere.
        """

    def simulate(self, blocks: Sequence[range]) -> Generator[int]:
        """Simulate blocks and write each into the table; yields how many runs are done so far.

        Closing the generator ends what is under way; blocks that were finished stay. Raises
        BadInput when a worker dies.
        """

    def count(self) -> Facts:
        """Sum up the table of a finished sweep."""
