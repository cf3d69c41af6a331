"""What a worker of Spark does once it can import this package."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from sim.errors import BadInput
from sim.plugins import load_in_worker
from sim.sweeps.blocks import Block, BlockAnswer, Work, get_ready, simulate_block
from sim.sweeps.engines.same_code import difference, facts


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """Loads what the first block would, and compares what is there with the driver's."""

    work: Work
    here: Mapping[str, str]
    """The driver's `facts`."""

    def __call__(self, _number: int) -> tuple[str | None, str]:
        """In what they differ; a name for the executor."""
        executor = f"{socket.gethostname()} {os.getppid()}"  # which starts all of its workers
        try:
            get_ready(self.work)
        except BadInput as error:  # a plugin that cannot be imported there
            return str(error), executor
        return difference(facts(self.work.plugins), self.here), executor


@dataclass(frozen=True, slots=True)
class SimulateTask:
    """Simulates a block, unless the code is another than the driver's."""

    work: Work
    here: Mapping[str, str]

    def __call__(self, span: tuple[int, int]) -> tuple[str | None, BlockAnswer | None]:
        """In what they differ; else the answer to the block [first, end)."""
        try:
            load_in_worker(self.work.plugins)
        except BadInput as error:
            return str(error), None
        differs = difference(facts(self.work.plugins), self.here)
        if differs is not None:
            return differs, None
        return None, simulate_block(self.work, Block(*span))
