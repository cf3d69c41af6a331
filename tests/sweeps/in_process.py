"""An engine that simulates in the process that leads: no worker has to start."""

from collections.abc import Generator, Iterable

from sim.sweeps.blocks import Block, BlockAnswer, Work, simulate_block
from sim.sweeps.counting import count_files
from sim.sweeps.parts import Parts
from sim.sweeps.tally import Counts


class InProcess:
    """In the place of `ProcessEngine`."""

    cores = 2

    def __init__(self, work: Work) -> None:
        self.work = work

    def warm_up(self) -> None:
        """Nothing has to start."""

    def answers(self, blocks: Iterable[Block]) -> Generator[BlockAnswer]:
        """One after another."""
        for block in blocks:
            yield simulate_block(self.work, block)

    def count(self, parts: Parts) -> Counts:
        """As processes do."""
        return count_files(parts, self.work.sweep)

    def close(self) -> None:
        """Nothing runs."""
