"""What the runner of a sweep asks of an engine."""

from __future__ import annotations

from typing import Protocol

from sim.sweeps.layout import Wave
from sim.sweeps.runs_progress import Reporter
from sim.sweeps.tally import Counts


class Engine(Protocol):
    """What runs waves and counts what came out."""

    @property
    def cores(self) -> int:
        """How many runs go on at a time."""

    def warm_up(self) -> None:
        """Start what is needed before the first block."""

    def run(self, waves: tuple[Wave, ...], report: Reporter) -> float:
        """Run waves and move each into place when it is whole; the ms that workers spent in runs.

        Interrupts leave whole waves.
        """

    def count(self) -> Counts:
        """Sum up the finished tables."""
