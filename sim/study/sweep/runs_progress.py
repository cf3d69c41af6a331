"""How far a sweep is, in words: runs that are done, their rate, the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol


class Teller(Protocol):
    """Output for people during a sweep."""

    def show(self, text: str) -> None:
        """Shows progress, again and again."""

    def tell(self, text: str) -> None:
        """Prints a line that stays."""


class Nobody:
    """A `Teller` without output."""

    def show(self, text: str) -> None:
        """Does nothing."""

    def tell(self, text: str) -> None:
        """Does nothing."""


def progress_of(teller: Teller, *, total: int, before: int = 0) -> Callable[[int], None]:
    """A function that takes the number of runs done by now, and shows the progress.

    Args:
        teller: Output.
        total: Number of runs.
        before: Number of runs of an earlier sweep.
    """
    started = time.monotonic()

    def report(done: int) -> None:
        rate, left = done / max(time.monotonic() - started, 1e-6), total - before - done
        ends = f", {left / rate:,.0f} s left" if left and done else ""
        teller.show(f"{before + done:,} of {total:,} runs, {rate:,.0f} runs/s{ends}")

    return report
