"""What the runner of a sweep asks of an engine."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Protocol

from sim.sweeps.blocks import Block, BlockAnswer
from sim.sweeps.parts import Parts
from sim.sweeps.tally import Counts


class Engine(Protocol):
    """What simulates blocks, and counts what came out. It writes nothing."""

    @property
    def cores(self) -> int:
        """How many runs go on at a time."""

    def warm_up(self) -> None:
        """Start what is needed before the first block."""

    def answers(self, blocks: Iterable[Block]) -> Generator[BlockAnswer]:
        """Simulate blocks, taking them as there is room; each is answered once, in any order.

        Only so many are under way that memory does not grow with their number. Closing the
        generator drops what is under way. Raises BadInput when a worker dies.
        """

    def count(self, parts: Parts) -> Counts:
        """Sum up the tables of a finished sweep.

        Raises BadInput unless their runs are exactly those of the sweep.
        """
